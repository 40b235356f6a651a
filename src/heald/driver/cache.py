"""The kernel cache on disk: what a process compiled, the next one loads.

Three kinds of entries, each under a key that covers everything it depends on:

* ``program``: WIR after the front pipeline and its launch condition, by the *source key*: texts and
  places of the kernel and of every function it calls, captured values, parameter types, options.
  With it the front end is skipped.
* ``link``: which code a variant of a program has, and its source map, by source key and variant.
* ``code``: machine code and the rest of the artifact, by the *code key*: the guarded WIR without
  spans and names.  A kernel that moved, or that captures what has no description, is lowered again
  and finds its code here.

Every key covers this Heald, this Python and numpy; those of links and code also the processor and
LLVM.  A cache can only ever miss: see ``cache_store`` for what happens to a bad folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING

import heald.codegen as codegen
import heald.driver.compiler as compiler
from heald.artifact import Artifact, LaunchCondition
from heald.artifact.serialise import (
    SourceMap,
    Unreadable,
    decode_code,
    decode_source_map,
    encode_code,
    encode_source_map,
    to_plain,
    with_source_map,
)
from heald.codegen import Target
from heald.codegen.compile import compile_object, set_object_cache
from heald.config import config
from heald.driver.analysed import Analysed
from heald.driver.cache_captures import describe_kernel
from heald.driver.cache_keys import code_identity, make_key
from heald.driver.cache_store import Store, note, open_store
from heald.frontend import reading
from heald.types import Type

if TYPE_CHECKING:
    from heald.ir import Kernel

_KEY_SIZE = 64


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a variant is made, step by step, where it is not found.

    Attributes:
        name: tells it from the other variants of its program, options of codegen included.
        condition: what must hold at its launches.
        guarded: gives the WIR with guards decided.
        lower: makes of that what the code generator takes.
        build: compiles that.
        wider: name of a variant for more launches, these too, where there may be one: of both
            there is one code where ``build`` leaves nothing out (``Artifact.few``).
    """

    name: str
    condition: LaunchCondition
    guarded: Callable[[], Kernel]
    lower: Callable[[Kernel], Kernel]
    build: Callable[[Kernel], Artifact]
    wider: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Under which code that will do is found, the best first."""
        return (self.wider, self.name) if self.wider else (self.name,)

    def name_of(self, artifact: Artifact) -> str:
        """Under which code is kept that was made."""
        return self.name if artifact.few else self.names[0]


class ProgramCache:
    """What the disk keeps of one program.  Without a store or a source key it keeps less."""

    def __init__(self, store: Store | None = None, source_key: str = "") -> None:
        self._store = store
        self._key = source_key

    def load(self) -> Analysed | None:
        """The program as it was stored, or None."""
        data = self._store.get("program", self._key) if self._store and self._key else None
        if data is None:
            return None
        try:
            return Analysed.from_bytes(data)
        except ValueError as error:
            note(f"program {self._key}: {error}")
            return None

    def keep(self, analysed: Analysed) -> None:
        """Store a program."""
        if self._store and self._key:
            self._store.put("program", self._key, analysed.to_bytes())

    def artifact(self, recipe: Recipe) -> Artifact:
        """The code of a variant: found, or made and kept.

        Raises:
            CompileError: the kernel uses what the target does not have.
            DeviceError: this processor is not supported.
        """
        if self._store is None:
            return recipe.build(recipe.lower(recipe.guarded()))
        for name in recipe.names if self._key else ():
            found = self._linked(self._store, self._link(name))
            if found is not None:
                return found
        code_key, found = _find_or_make(self._store, recipe)
        if self._key:
            content = code_key.encode() + encode_source_map(found)
            self._store.put("link", self._link(recipe.name_of(found)), content)
        return found

    def _link(self, name: str) -> str:
        return make_key("link", self._key, name, code_identity())

    def _linked(self, store: Store, link: str) -> Artifact | None:
        data = store.get("link", link)
        if data is None:
            return None
        try:
            key = data[:_KEY_SIZE].decode("ascii")
            code = store.get("code", key)
            if code is None:
                return None
            return with_source_map(decode_code(code), decode_source_map(data[_KEY_SIZE:]))
        except ValueError as error:
            note(f"link {link}: {error}")
            return None


def _find_or_make(store: Store, recipe: Recipe) -> tuple[str, Artifact]:
    """The key of a variant's code, and its artifact."""
    guarded = recipe.guarded()
    condition = json.dumps(to_plain(recipe.condition))
    content = compiler.content_of(guarded)

    def key_of(name: str) -> str:
        return make_key("code", content, name, condition, code_identity())

    kernel = recipe.lower(guarded)
    for key in map(key_of, recipe.names):
        data = store.get("code", key)
        if data is not None:
            try:
                places = SourceMap(codegen.parameter_names(kernel), codegen.sites_of(kernel))
                return key, with_source_map(decode_code(data), places)
            except Unreadable as error:
                note(f"code {key}: {error}")
    artifact = recipe.build(kernel)
    key = key_of(recipe.name_of(artifact))
    store.put("code", key, encode_code(artifact))
    return key, artifact


def analyse(
    function: FunctionType, types: Sequence[Type], options: str, lower: Callable[[], Kernel]
) -> tuple[Analysed, ProgramCache]:
    """A kernel for concrete parameter types, from the disk where it is there.

    Args:
        function: the Python function.
        types: of the parameters.
        options: everything else that ``lower`` depends on.
        lower: the front end.

    Raises:
        CompileError: what ``lower`` raises.
    """
    store = None if config.debug else open_store()  # debugging shows every stage, so each must run
    key = _source_key(function, types, options) if store else ""
    cache = ProgramCache(store, key)
    stored = cache.load()
    if stored is not None:
        return stored, cache
    made = Analysed.of(lower())
    with reading(None):  # attributes and contents may have changed
        is_same = not key or _source_key(function, types, options) == key
    if not is_same:
        return made, ProgramCache(store)  # captured values changed meanwhile, so whose WIR is it?
    cache.keep(made)
    return made, cache


def _source_key(function: FunctionType, types: Sequence[Type], options: str) -> str:
    described = describe_kernel(function)
    if described is None:
        return ""
    plain = json.dumps([to_plain(t) for t in types])
    # For calls in wp.static(...), which the host evaluates:
    host = f"{config.strict_fp=} {config.fast_math=}"
    return make_key("source", repr(described), plain, options, host)


def cached_object(text: str, target: Target, level: int) -> bytes:
    """Machine code of LLVM text, by its text.

    Raises:
        InternalError: LLVM refuses the text.
    """
    store = open_store()
    key = make_key("object", text, str(level), repr(target), code_identity()) if store else ""
    found = store.get("object", key) if store else None
    if found is None:
        found = compile_object(text, target, level=level)
        if store:
            store.put("object", key, found)
    return found


set_object_cache(cached_object)


def clear_cache() -> None:
    """Remove what ``config.kernel_cache_dir`` keeps for this user."""
    store = open_store()
    if store is not None:
        store.clear()
