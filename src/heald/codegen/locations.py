"""Debug metadata: from each instruction back to the user's line.

Only line tables, no variables.  A place inside an inlined WIR function keeps its chain of calls
(``inlinedAt``); its scope is named after its file, since WIR does not keep the names of inlined
functions.
"""

from __future__ import annotations

from pathlib import PurePath

from heald.diagnostics import Span
from heald.ir import Kernel

_UNKNOWN = Span("<kernel>", 1, 0, 1, 0)


class Locations:
    """The debug metadata of one module, collected while its instructions are written.

    ``first`` is the number of its first node; ``kind`` is how the target takes line tables.
    """

    def __init__(self, kernel: Kernel, *, first: int, kind: str = "LineTablesOnly") -> None:
        self.name = kernel.name
        self.home = kernel.span or _UNKNOWN
        self._first = first
        self._nodes: list[str] = []
        self._files: dict[str, int] = {}
        self._unit = self.node(
            f"distinct !DICompileUnit(language: DW_LANG_C99, file: !{self.file(self.home.file)}, "
            'producer: "heald", isOptimized: true, runtimeVersion: 0, '
            f"emissionKind: {kind})"
        )
        self._type = self.node(f"!DISubroutineType(types: !{self.node('!{null}')})")

    def lines(self) -> list[str]:
        """The module's metadata."""
        version = self.node('!{i32 2, !"Debug Info Version", i32 3}')
        format_ = self.node('!{i32 7, !"Dwarf Version", i32 4}')
        return [
            f"!llvm.dbg.cu = !{{!{self._unit}}}",
            f"!llvm.module.flags = !{{!{version}, !{format_}}}",
            *self._nodes,
        ]

    def node(self, text: str) -> int:
        """One more node; gives its number."""
        number = self._first + len(self._nodes)
        self._nodes.append(f"!{number} = {text}")
        return number

    def file(self, name: str) -> int:
        """The node of a file."""
        known = self._files.get(name)
        if known is None:
            path = PurePath(name)
            folder = _quoted(str(path.parent))
            known = self.node(f"!DIFile(filename: {_quoted(path.name)}, directory: {folder})")
            self._files[name] = known
        return known

    def subprogram(self, name: str, span: Span, symbol: str) -> int:
        """The node of a function."""
        file = self.file(span.file)
        return self.node(
            f"distinct !DISubprogram(name: {_quoted(name)}, linkageName: {_quoted(symbol)}, "
            f"scope: !{file}, file: !{file}, line: {span.line}, type: !{self._type}, "
            f"scopeLine: {span.line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{self._unit})"
        )


class Places:
    """The places of one body function and of the range function that calls it."""

    def __init__(self, module: Locations, *, range_: str, body: str) -> None:
        self._module = module
        self._scopes: dict[tuple[str, bool], int] = {}
        self._places: dict[Span, int] = {}
        self._range = module.subprogram(module.name, module.home, range_)
        self._body = module.subprogram(module.name, module.home, body)
        self._call = module.node(
            f"!DILocation(line: {module.home.line}, column: 1, scope: !{self._range})"
        )

    def of_range(self) -> str:
        """What the definition of the range function says of itself."""
        return f" !dbg !{self._range}"

    def of_body(self) -> str:
        """What the definition of the body says of itself."""
        return f" !dbg !{self._body}"

    def of_call(self) -> str:
        """What a call in the range function says."""
        return f", !dbg !{self._call}"

    def at(self, span: Span | None) -> str:
        """What an instruction of the body that comes from ``span`` says."""
        return f", !dbg !{self._place(span or self._module.home)}"

    def _place(self, span: Span) -> int:
        known = self._places.get(span)
        if known is None:
            call = span.inlined_at
            outer = "" if call is None else f", inlinedAt: !{self._place(call)}"
            known = self._module.node(
                f"!DILocation(line: {span.line}, column: {span.col + 1}, "
                f"scope: !{self._scope(span)}{outer})"
            )
            self._places[span] = known
        return known

    def _scope(self, span: Span) -> int:
        inlined = span.inlined_at is not None
        if not inlined and span.file == self._module.home.file:
            return self._body
        known = self._scopes.get((span.file, inlined))
        if known is None:
            if inlined:
                stem = PurePath(span.file).stem
                known = self._module.subprogram(stem, span, stem)
            else:
                file = self._module.file(span.file)
                known = self._module.node(
                    f"!DILexicalBlockFile(scope: !{self._body}, file: !{file}, discriminator: 0)"
                )
            self._scopes[span.file, inlined] = known
        return known


def _quoted(text: str) -> str:
    """A metadata string; LLVM takes other bytes as two hexadecimal digits."""
    raw = text.encode("utf-8", "surrogateescape")
    plain = (32 <= byte < 127 and byte not in b'"\\' for byte in raw)
    return (
        '"'
        + "".join(chr(b) if ok else f"\\{b:02X}" for b, ok in zip(raw, plain, strict=True))
        + '"'
    )
