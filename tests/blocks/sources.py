"""Random kernels whose threads work together, free of races and of parted barriers by what they are
made of."""

from __future__ import annotations

import random

SHARED = 64
"""Elements of the shared arrays: blocks are no larger."""

_HEAD = """\
import heald as wp


@wp.func
def turned(s: wp.array(dtype=int), x: int, n: int):
    t = wp.thread_index()
    for k in range(n):
        s[t] = x
        wp.block_sync()
        x = s[(t + 1) % wp.block_threads()] + k
        wp.block_sync()
        if k == 2:
            return x
    return x ^ 5


@wp.kernel
def kernel(v: wp.array(dtype=int), w: wp.array(dtype=float)):
"""


class Source:
    """One kernel as text: ``kernel(v, w)`` with int32 and float32 arrays of an element a thread.

    With ``automatic`` it leaves the barriers of its shared arrays to the compiler.
    """

    def __init__(self, seed: int, *, automatic: bool = False) -> None:
        self._random = random.Random(seed)
        self._automatic = automatic
        sync = ", sync='auto'" if automatic else ""
        self._lines: list[str] = []
        self._depth = 1
        self._loops = 0
        self._parted = 0
        self._budget = self._random.randint(6, 16)
        self._pick = self._random.choice
        for line in (
            "i = wp.tid()",
            "t = wp.thread_index()",
            "here = wp.block_threads()",
            f"s = wp.shared_array({SHARED}, int{sync})",
            f"f = wp.shared_array({SHARED}, float{sync})",
            f"bins = wp.shared_array(4, int{sync})",
            "a = v[i]",
            "b = i % 7",
            "c = t",
            "x = w[i]",
            "y = x * 0.5",
            "u = wp.vec3(x, y, 1.0)",
            "own = wp.zeros(shape=4, dtype=int)",
        ):
            self._say(line)
        if automatic:  # statements of some threads only read elements of others
            self._say("s[t] = c")
        self._block(whole=True)
        self._say("v[i] = a + 3 * b - c + own[0] + 5 * own[1] - 7 * own[2] + 9 * own[3]")
        self._say("w[i] = x - y + u[0] + 2.0 * u[1] - u[2]")

    def text(self) -> str:
        """The module."""
        return _HEAD + "\n".join(self._lines) + "\n"

    def _say(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    # -- expressions -------------------------------------------------------------------------------

    def _integer(self, depth: int = 0) -> str:
        kind = self._random.randrange(9)
        if kind < 3 or depth > 2:
            return self._pick("abct")
        if kind == 3:
            return str(self._random.randint(-3, 9))
        if kind == 4:
            return f"own[{self._integer(depth + 1)} & 3]"
        left, right = self._integer(depth + 1), self._integer(depth + 1)
        return f"({left} {self._pick(['+', '-', '&', '^', '*'])} {right})"

    def _float(self) -> str:
        left, right = (
            self._pick(["x", "y", "u[0]", f"u[{self._pick('abct')} & 1]"]),
            self._pick(["x", "y", "u[2]", "0.75", f"float({self._pick('abc')} % 16)"]),
        )
        return f"({left} {self._pick('+-*')} {right})"

    def _condition(self) -> str:
        if self._random.random() < 0.2:
            return f"{self._float()} > 0.25"
        test = self._pick([" % 3 == 0", " % 2 == 1", " > 4", " < 20"])
        return f"{self._integer()}{test}"

    def _uniform(self) -> str:
        """A condition that is the same for a block, by its form where barriers are automatic."""
        conditions = [
            f"wp.any({self._condition()}, scope='block')",
            f"wp.all({self._condition()}, 'block')",
            "wp.block_index() % 2 == 0",
            "here > 20",
        ]
        if not self._automatic:
            conditions.append(f"wp.reduce_sum({self._pick('abc')} % 5) % 2 == 0")
        return self._pick(conditions)

    # -- statements --------------------------------------------------------------------------------

    def _block(self, *, whole: bool, loop: bool = False) -> None:
        """Statements; ``whole`` says that all threads of the block run them."""
        count = self._random.randint(1, 4)
        for _ in range(count):
            self._budget -= 1
            self._statement(whole=whole)
        if loop and self._random.random() < 0.4:
            condition = self._uniform() if whole else self._condition()
            self._inside(f"if {condition}:", [self._pick(["break", "continue"])])

    def _inside(self, head: str, lines: list[str]) -> None:
        self._say(head)
        self._depth += 1
        for line in lines:
            self._say(line)
        self._depth -= 1

    def _statement(self, *, whole: bool) -> None:
        plain = [self._assign, self._shuffle, self._warp_vote, self._warp_reduce]
        plain += [self._swap, self._component, self._element]
        nested = [self._branch, self._varying_loop] if self._budget > 0 and self._depth < 5 else []
        if whole:
            plain += [self._exchange, self._exchange, self._histogram, self._block_reduce]
            plain += [self._turn]
            if nested:
                nested += [self._agreed_branch, self._agreed_loop, self._waiting_loop]
        elif self._automatic and self._depth == 2 and self._parted:
            plain.append(self._own)
        self._pick(plain + nested)()

    def _assign(self) -> None:
        if self._random.random() < 0.7:
            self._say(f"{self._pick('abc')} = {self._integer()}")
        else:
            self._say(f"{self._pick('xy')} = {self._float()}")

    def _swap(self) -> None:
        self._say(self._pick(["a, b, c = b, c, a", "x, y = y, x", "a, c = c, a + b"]))

    def _component(self) -> None:
        change = [f"u[{self._pick('abct')} & 1] = {self._float()}", f"u[2] += {self._float()}"]
        self._say(self._pick([*change, "u = wp.shuffle_xor(u, 1) * 0.5"]))

    def _element(self) -> None:
        self._say(f"own[{self._integer()} & 3] {self._pick(['=', '+=', '^='])} {self._integer()}")

    def _turn(self) -> None:
        times = self._pick(["1", "2", "4", "wp.block_index() % 4"])
        self._say(f"{self._pick('abc')} = turned(s, {self._integer()}, {times})")

    def _shuffle(self) -> None:
        mode = self._pick(["up", "down", "xor", "idx"])
        name = self._pick("abcxy")
        value = self._integer() if name in "abc" else self._float()
        self._say(
            f"{name} = wp.shuffle_{mode}({value}, {self._pick(['1', '2', '5', 'b % 8', '31'])})"
        )

    def _warp_vote(self) -> None:
        vote = self._pick(["any", "all"])
        if self._random.random() < 0.5:
            self._say(f"a = a + int(wp.bit_count(wp.ballot({self._condition()})))")
        else:
            self._inside(f"if wp.{vote}({self._condition()}):", [f"b = {self._integer()}"])

    def _warp_reduce(self) -> None:
        how = self._pick(["sum", "min", "max"])
        self._say(f"x = wp.reduce_{how}({self._float()}, scope='warp') * 0.125")

    def _block_reduce(self) -> None:
        how = self._pick(["sum", "min", "max"])
        if self._random.random() < 0.5:
            self._say(f"y = wp.reduce_{how}({self._float()}) * 0.125")
        else:
            self._say(f"c = wp.reduce_{how}({self._integer()})")

    def _exchange(self) -> None:
        index = f"wp.abs({self._integer()} % here) % here"
        if self._random.random() < 0.5:
            self._say(f"s[t] = {self._integer()}")
            self._barrier()
            self._say(f"{self._pick('abc')} = s[{index}]")
        else:
            self._say(f"f[here - 1 - t] = {self._float()}")
            self._barrier()
            self._say(f"{self._pick('xy')} = f[{index}]")
        self._barrier()

    def _histogram(self) -> None:
        self._inside("if t < 4:", ["bins[t] = 0"])
        if self._random.random() < 0.3:
            self._inside("if here < 4:", ["bins[3] = 0", "bins[2] = 0", "bins[1] = 0"])
        else:
            self._inside("for k9 in range(here, 4):", ["bins[k9] = 0"])
        self._barrier()
        self._inside(f"if {self._condition()}:", [f"bins[{self._integer()} & 3] += 1"])
        self._barrier()
        self._say("c = bins[a & 3]")
        self._barrier()

    def _barrier(self) -> None:
        if not self._automatic:
            self._say("wp.block_sync()")

    def _own(self) -> None:
        """In a branch that only some threads take: each writes its own element."""
        self._say(f"s[t] = {self._integer()}")
        self._say(f"{self._pick('abc')} = s[wp.abs({self._integer()} % here) % here]")
        self._say(f"s[t] = {self._integer()}")

    # -- control -----------------------------------------------------------------------------------

    def _nest(self, head: str, *, whole: bool, loop: bool = False) -> None:
        self._say(head)
        self._depth += 1
        self._block(whole=whole, loop=loop)
        self._depth -= 1

    def _branch(self) -> None:
        before, self._parted = self._parted, self._parted + 1
        self._nest(f"if {self._condition()}:", whole=False)
        if self._random.random() < 0.5:
            self._nest("else:", whole=False)
        self._parted = before

    def _agreed_branch(self) -> None:
        self._nest(f"if {self._uniform()}:", whole=True)
        if self._random.random() < 0.5:
            self._nest("else:", whole=True)

    def _varying_loop(self) -> None:
        self._loops += 1
        self._nest(f"for k{self._loops} in range(({self._integer()}) & 3):", whole=False, loop=True)

    def _agreed_loop(self) -> None:
        self._loops += 1
        end = self._pick(["2", "3", "wp.block_index() % 3", "here // 16"])
        self._nest(f"for k{self._loops} in range({end}):", whole=True, loop=True)

    def _waiting_loop(self) -> None:
        self._loops += 1
        name = f"n{self._loops}"
        self._say(f"{name} = 0")
        self._say(f"while {name} < 4 and wp.any({name} + (t + b) % 3 < 3, scope='block'):")
        self._depth += 1
        self._block(whole=True)
        self._say(f"{name} += 1")
        self._depth -= 1
