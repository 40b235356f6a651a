"""What LLVM is told of arrays that do not overlap: alias scopes.

Every array that the kernel writes is a scope.  An access to one array says that it touches none of
the other scopes, so loads may move past stores to other arrays, out of loops too.  It holds in the
variant of launches with arrays that lie apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from heald.codegen.writer import METADATA
from heald.ir import Kernel, Value
from heald.passes.array_roots import Root, array_roots, written_roots


class Aliases:
    """The scopes of a module: numbered nodes behind those that every module has.

    Attributes:
        lines: the nodes.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._scopes: dict[Root, int] = {}
        self._lists: dict[frozenset[int], int] = {}
        self.lines: list[str] = []
        if kernel.attrs.get("apart") is not True:
            return
        domain = self._node("distinct !{{!{number}}}")
        for root in sorted(written_roots(kernel, array_roots(kernel))):
            self._scopes[root] = self._node(f"distinct !{{{{!{{number}}, !{domain}}}}}")
        scopes = frozenset(self._scopes.values())
        for chosen in (scopes, *({s} for s in scopes), *(scopes - {s} for s in scopes)):
            if chosen and frozenset(chosen) not in self._lists:
                names = ", ".join(f"!{number}" for number in sorted(chosen))
                self._lists[frozenset(chosen)] = self._node(f"!{{{{{names}}}}}")

    def _node(self, text: str) -> int:
        number = len(METADATA) + len(self.lines)
        self.lines.append(f"!{number} = {text.format(number=number)}")
        return number

    def of(self, roots: Mapping[Value, frozenset[Root]], array: Value) -> str:
        """What an access to an array says; nothing where it is not known which one it is."""
        found = roots.get(array, frozenset())
        if not self._scopes or len(found) != 1:
            return ""
        (root,) = found
        own = self._scopes.get(root)
        others = frozenset(self._scopes.values()) - {own}
        text = "" if own is None else f", !alias.scope !{self._lists[frozenset({own})]}"
        return text + (f", !noalias !{self._lists[others]}" if others else "")
