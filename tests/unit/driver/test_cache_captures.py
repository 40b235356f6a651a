"""Descriptions of kernels: equal where lowering would read the same, else different or none."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from unit.driver.fresh import Writer

import heald as wp
from heald.driver.cache_captures import describe_kernel


def description(writer: Writer, text: str, **edits: object) -> str | None:
    module = writer.module(text)
    for name, value in edits.items():
        setattr(module, name, value)
    return described(module.k)


def described(kernel: Any) -> str | None:
    assert isinstance(kernel.__wrapped__, FunctionType)
    found = describe_kernel(kernel.__wrapped__)
    return None if found is None else repr(found)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path)
    yield made
    made.forget()


KERNEL = """
{above}
@wp.kernel
def k(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    {body}
"""


def text(above: str, body: str) -> str:
    return KERNEL.format(above=textwrap.dedent(above), body=body)


# -------------------------------------------------------------------------- described by value

VALUES = [
    ("A = []; C = [A, A]", "C = [[], []]"),
    ("A = {}; C = (A, A)", "C = ({}, {})"),
    ("A = np.zeros(1); C = (A, A)", "C = (np.zeros(1), np.zeros(1))"),
    ("C = float('nan')", "C = -float('nan')"),
    ("C = complex(1.0, float('nan'))", "C = complex(1.0, -float('nan'))"),
    ("C = complex(0.0, 1.0)", "C = complex(-0.0, 1.0)"),
    ("C = []; C.append(C)", "C = []; C.append([])"),
    (
        "class E(enum.Flag):\n    A = 1\n    B = 2\nC = E.A",
        "class E(enum.Flag):\n    A = 1\n    B = 4\nC = E.A",
    ),
    ("C = 2", "C = 3"),
    ("C = 2", "C = 2.0"),
    ("C = 1", "C = True"),
    ("C = 0.0", "C = -0.0"),
    ("C = 2.0", "C = np.float32(2.0)"),
    ("C = np.float32(2.0)", "C = np.float64(2.0)"),
    ("C = np.float32(2.0)", "C = np.float32(2.5)"),
    ("C = (1, 2)", "C = (1, 3)"),
    ("C = (1, 2)", "C = [1, 2]"),
    ("C = (1, (2, 3))", "C = ((1, 2), 3)"),
    ("C = {1: 2}", "C = {1: 3}"),
    ("C = None", "C = 0"),
    ("C = 'a'", "C = 'b'"),
    ("C = wp.vec3(1.0, 2.0, 3.0)", "C = wp.vec3(1.0, 2.0, 4.0)"),
    ("C = wp.vec3(1.0, 2.0, 3.0)", "C = wp.vec3d(1.0, 2.0, 3.0)"),
    ("C = wp.mat22(1.0, 2.0, 3.0, 4.0)", "C = wp.mat22(1.0, 2.0, 4.0, 4.0)"),
    ("C = wp.quat(0.0, 0.0, 0.0, 1.0)", "C = wp.vec4(0.0, 0.0, 0.0, 1.0)"),
    ("C = wp.float32", "C = wp.float64"),
    ("C = wp.vec3", "C = wp.vec4"),
    ("C = int", "C = float"),
    ("C = np.float32", "C = np.float64"),
    ("C = np.array([1, 2])", "C = np.array([1, 3])"),
    ("C = np.array([1, 2])", "C = np.array([[1, 2]])"),
    ("C = np.array([1, 2])", "C = np.array([1, 2], np.int8)"),
    ("C = range(3)", "C = range(4)"),
    ("C = math.sin", "C = math.cos"),
    ("C = wp.sin", "C = wp.cos"),
    ("C = wp.tid", "C = wp.block_dim"),
    ("C = min", "C = max"),
    ("C = wp.array(dtype=float)", "C = wp.array(dtype=int)"),
    ("C = typing.Any", "C = wp.Float"),
    (
        "C = collections.namedtuple('P', 'x y')(1, 2)",
        "C = collections.namedtuple('P', 'x y')(1, 3)",
    ),
    (
        "C = collections.namedtuple('P', 'x y')(1, 2)",
        "C = collections.namedtuple('P', 'y x')(1, 2)",
    ),
]


@pytest.mark.parametrize(("one", "other"), VALUES)
def test_values(writer: Writer, one: str, other: str) -> None:
    first = description(writer, text(one, "a[i] = C"))
    again = description(writer, text(one, "a[i] = C"))
    second = description(writer, text(other, "a[i] = C"))
    assert first is not None
    assert second is not None
    assert first == again
    # Not only because the line above the kernel differs:
    padded = len(one) - len(other)
    assert first != description(writer, text(other + " " * padded, "a[i] = C"))


STRUCT = """
@wp.struct
class S:
    x: {x}
    v: wp.vec3
C = S()
C.x = {value}
"""


def test_structs(writer: Writer) -> None:
    def found(x: str, value: object, body: str = "a[i] = C.x") -> str | None:
        return description(writer, text(STRUCT.format(x=x, value=value), body))

    assert found("float", 1.5) == found("float", 1.5) is not None
    assert found("float", 1.5) != found("float", 2.5)
    assert found("float", 1.0) != found("wp.float64", 1.0)
    assert found("float", 1.0, "s = S(); a[i] = s.x") != found(
        "wp.float64", 1.0, "s = S(); a[i] = s.x"
    )


def test_enums(writer: Writer) -> None:
    above = "class E(enum.{kind}):\n    ONE = {value}\nC = E.ONE"
    seen = {
        description(writer, text(above.format(kind=kind, value=value), body))
        for kind in ("Enum", "IntEnum")
        for value in (1, 2)
        for body in ("a[i] = C", "a[i] = E.ONE", "a[i] = E.ONE.value")
    }
    assert None not in seen
    assert len(seen) == 12


def test_a_property_is_read_not_guessed(writer: Writer) -> None:
    above = """
    class E(enum.Enum):
        ONE = 1
        @property
        def area(self): return {area}
    """
    one, two = (
        description(writer, text(textwrap.dedent(above).format(area=area), "a[i] = E.ONE.area"))
        for area in (3, 4)
    )
    assert one != two
    assert one is not None


# ------------------------------------------------------------------------------- no description

OPAQUE = [
    "C = object()",
    "C = lambda x: x",
    "def C(x): return x",
    "class C: pass",
    "C = {1, 2}",
    "C = np",
    "C = wp",
    "C = functools.partial(min, 1)",
    "C = np.array([object()])",
    "C = np.ma.masked_array([1])",
    "C = wp.zeros(3)",
    "class N(float): pass\nC = N(1)",
    "class P(tuple): pass\nC = P()",
    "class P(collections.namedtuple('P', 'x')):\n    y = 1\nC = P(1)",
    "class P(typing.NamedTuple):\n    x: int\n    def area(self): return 1\nC = P(1)",
    "class E(enum.Enum):\n    A = 1\n    def __abs__(self): return 5\nC = E.A",
    "class E(enum.IntEnum):\n    A = 1\n    def __add__(self, x): return 5\nC = E.A",
    "class P(typing.NamedTuple):\n    x: int\n    def __len__(self): return 5\nC = P(1)",
    "@wp.struct\nclass S:\n    x: int\n    def __len__(self): return 5\nC = S()",
    "class V(wp.vec3):\n    def __len__(self): return 5\nC = V(1.0, 2.0, 3.0)",
    "C = np.sin",
    "C = open",
    "C = np.zeros(1 << 20)",
    "C = iter(())",
    "C = list(range(200_000))",
]


@pytest.mark.parametrize("above", OPAQUE)
def test_what_is_not_its_value(writer: Writer, above: str) -> None:
    assert description(writer, text(above, "a[i] = C")) is None
    assert description(writer, text(above, "a[i] = 1.0")) is not None


def test_attributes_of_what_has_no_value(writer: Writer) -> None:
    """The object cannot be described, but the number that is read from it can."""
    above = "class Settings:\n    gain = {0}\n    inner = types.SimpleNamespace(x={1})\n"
    body = "a[i] = Settings.gain + Settings.inner.x"
    one, two, three, again = (
        description(writer, text(above.format(*values), body))
        for values in ((1, 2), (3, 2), (1, 4), (1, 2))
    )
    assert one is not None
    assert one == again
    assert len({one, two, three}) == 3


def test_module_constants(writer: Writer) -> None:
    above = "import constants"
    seen = []
    for value in (1, 2, 1):
        writer.module(f"X = {value}", "constants.py")
        seen.append(description(writer, text(above, "a[i] = constants.X")))
    assert seen[0] == seen[2] != seen[1]
    assert None not in seen


def test_monkeypatched_builtin(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "a[i] = wp.sin(a[i])"
    before = description(writer, text("", body))
    mine = writer.module("@wp.func\ndef sin(x: float): return x\n", "mine.py").sin
    with monkeypatch.context() as patch:
        patch.setattr(wp, "sin", mine)
        assert description(writer, text("", body)) not in (None, before)
        patch.setattr(wp, "sin", wp.cos)
        assert description(writer, text("", body)) not in (None, before)
    assert description(writer, text("", body)) == before


@pytest.mark.parametrize("value", [None, 2.0, wp.cos])
def test_a_builtin_counts_by_name_until_it_is_replaced(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, value: object
) -> None:
    kernel = writer.module(text("", "a[i] = wp.cbrt(a[i])")).k
    names = vars(wp)
    was_loaded = "cbrt" in names
    before = described(kernel)
    assert before is not None
    assert ("cbrt" in names) == was_loaded
    assert wp.cbrt is not None
    assert described(kernel) == before
    monkeypatch.setitem(names, "cbrt", value)
    assert described(kernel) != before
    monkeypatch.undo()
    assert described(kernel) == before
    assert described(writer.module(text("", "a[i] = wp.log10(a[i])")).k) != before


def test_names_that_are_not_there_yet(writer: Writer) -> None:
    kernel = text("", "a[i] = LATER")
    without = description(writer, kernel)
    assert without is not None
    assert description(writer, kernel, LATER=1) != without
    assert description(writer, kernel, LATER=1) == description(writer, kernel, LATER=1)
    assert description(writer, kernel, LATER=1) != description(writer, kernel, LATER=2)
    hidden = text("", "a[i] = len(a)")
    assert description(writer, hidden) != description(writer, hidden, len=min)


# ------------------------------------------------------------------------------------ functions

FUNCTIONS = """
GAIN = {gain}

@wp.func
def inner(x: {annotation}, y: float = {default}):
    return {inner}

@wp.func
def outer(x: float):
    return inner(x) {outer}

@wp.kernel
def k(a: wp.array(dtype=float), n: int):
    i = wp.tid()
    a[i] = outer(a[i])
"""
PLAIN = {"gain": 2.0, "annotation": "float", "default": 1.0, "inner": "x * GAIN + y", "outer": "*1"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gain", 3.0),
        ("default", 2.0),
        ("annotation", "Any_"),
        ("inner", "x + GAIN * y"),
        ("outer", "*2"),
    ],
)
def test_functions_count_with_all_they_read(writer: Writer, name: str, value: object) -> None:
    above = "Any_ = typing.Any\n"
    one = description(writer, above + FUNCTIONS.format(**PLAIN))
    other = description(writer, above + FUNCTIONS.format(**{**PLAIN, name: value}))
    assert one is not None
    assert other is not None
    assert one == description(writer, above + FUNCTIONS.format(**PLAIN))
    assert one != other


def test_functions_two_modules_away(writer: Writer) -> None:
    seen = []
    for gain in (1.0, 2.0, 1.0):
        writer.module(f"@wp.func\ndef deep(x: float): return x * {gain}\n", "deep.py")
        writer.module(
            "from deep import deep\n@wp.func\ndef middle(x: float): return deep(x)\n", "middle.py"
        )
        seen.append(description(writer, text("from middle import middle", "a[i] = middle(a[i])")))
    assert seen[0] == seen[2] != seen[1]
    assert None not in seen


def test_defaults_and_annotations_as_objects(writer: Writer) -> None:
    """Equal texts; what the names in them mean differs."""
    above = """
    {future}
    Y = {y}
    T = {t}
    @wp.func
    def f(x: T, y: float = Y): return x * y
    """

    def found(future: str, y: float, t: str) -> str | None:
        source = text(above, "a[i] = f(a[i])").format(future=future, y=y, t=t)
        return description(writer, source)

    plain = [found("pass", y, t) for y, t in [(1.0, "float"), (2.0, "float"), (1.0, "wp.Float")]]
    assert None not in plain
    assert len(set(plain)) == 3


def test_what_functions_say_that_they_give(writer: Writer) -> None:
    source = "T = {t}\n@wp.func\ndef f(x: float) -> T: return x\n"
    types = ("float", "wp.float64", "tuple[float, int]", "str", "None")
    found = [description(writer, text(source.format(t=t), "a[i] = f(a[i])")) for t in types]
    assert None not in found[:3]
    assert len({*found} - {None}) == len(found) - found.count(None)


def test_default_changed_afterwards(writer: Writer) -> None:
    source = "@wp.func\ndef f(x: float, y: float = 1.0): return x * y\n"
    kernel = text(source, "a[i] = f(a[i])")
    module = writer.module(kernel)
    before = described(module.k)
    module = writer.module(kernel)
    module.f.func.__defaults__ = (2.0,)
    assert described(module.k) not in (None, before)


def test_overloads_count(writer: Writer) -> None:
    one = "@wp.func\ndef f(x: float): return x\n"
    two = one + "@wp.func\ndef f(x: int): return float(x)\n"
    first = description(writer, text(one, "a[i] = f(a[i])"))
    assert first is not None
    assert description(writer, text(two, "a[i] = f(a[i])")) != first


def test_recursion_ends(writer: Writer) -> None:
    above = "@wp.func\ndef f(x: float): return g(x)\n@wp.func\ndef g(x: float): return f(x)\n"
    assert description(writer, text(above, "a[i] = f(a[i])")) is not None


FACTORY = """
def make(gain, function):
    @wp.kernel
    def k(a: wp.array(dtype=float), n: int):
        i = wp.tid()
        a[i] = function(a[i]) * gain
    return k
"""


def test_closure_cells(writer: Writer) -> None:
    module = writer.module(FACTORY)
    found = [
        described(module.make(gain, function))
        for gain in (1.0, 2.0)
        for function in (wp.sin, wp.cos)
    ]
    assert None not in found
    assert len(set(found)) == 4
    assert described(module.make(1.0, wp.sin)) == found[0]


def test_empty_closure_cell(writer: Writer) -> None:
    module = writer.module(
        """
        def make():
            @wp.kernel
            def k(a: wp.array(dtype=float), n: int):
                a[0] = later
            before = k
            yield k
            later = 3.0
            yield k
        """
    )
    steps = module.make()
    first = described(next(steps))
    assert described(next(steps)) != first


# ---------------------------------------------------------------------------- texts and places


def test_place_counts(writer: Writer) -> None:
    one = description(writer, text("", "a[i] = 1.0"))
    assert one != description(writer, text("# a line more\n", "a[i] = 1.0"))
    assert one == description(writer, text("", "a[i] = 1.0") + "\n# a line below\nX = 1\n")


def test_files_of_one_text_are_told_apart(writer: Writer) -> None:
    kernel = text("", "a[i] = 1.0")
    one, two = (described(writer.module(kernel, file).k) for file in ("one.py", "two.py"))
    assert one is not None
    assert two == one.replace("one.py", "two.py") != one


BODIES = [
    "a[i] = a[i] * 2.0 + 1.0",
    "a[i] = (a[i] * 2.0) + 1.0",
    "x = a[i] * 2.0; a[i] = x + 1.0",
    "x: wp.float32 = 1.0; a[i] = x",
    "x: wp.float64 = 1.0; a[i] = float(x)",
    "a[i] = 0x10",
    "a[i] = 16",
    "a[i] = wp.static(n_ if True else 0)",
]


def test_texts_count(writer: Writer) -> None:
    found = [description(writer, text("n_ = 1", body)) for body in BODIES]
    assert None not in found
    assert len(set(found)) == len(BODIES)


def test_static_expressions_depend_on_what_they_read(writer: Writer) -> None:
    body = "a[i] = wp.static(max([x * 2 for x in VALUES]) + math.floor(GAIN))"
    seen = [
        description(writer, text(f"VALUES = [1, {x}]; GAIN = {gain}", body))
        for x, gain in [(2, 1.5), (3, 1.5), (2, 2.5)]
    ]
    assert None not in seen
    assert len(set(seen)) == 3
    above = "import time\ndef f(): return 1\n"
    assert description(writer, text(above, "a[i] = wp.static(time.time())")) is None
    assert description(writer, text(above, "a[i] = wp.static(f())")) is None


def test_source_that_cannot_be_had() -> None:
    names: dict[str, Any] = {"wp": wp}
    exec("@wp.kernel\ndef k(a: wp.array(dtype=float)):\n    a[0] = 1.0\n", names)
    assert described(names["k"]) is None


def test_equal_in_every_process(writer: Writer) -> None:
    """Nothing salted, no addresses: no description holds what differs between two processes."""
    above = FUNCTIONS.split("@wp.kernel", maxsplit=1)[0].format(**PLAIN)
    source = text(above, "a[i] = outer(a[i]) + wp.sin(a[i]) + float(wp.vec3(1.0)[0])")
    found = description(writer, source)
    assert found is not None
    assert " at 0x" not in found
