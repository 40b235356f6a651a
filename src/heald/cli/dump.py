"""``heald dump``: find a kernel in a file or module and show it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from heald.api.kernel import Kernel
from heald.driver import dump


def find_kernel(target: str) -> Kernel:
    """The kernel that ``file.py::kernel`` or ``module::kernel`` names; without a name, the only
    kernel there.

    Raises:
        ValueError: there is no such file or kernel, or several to choose from.
    """
    place, _, name = target.partition("::")
    module = load_target(place)
    kernels = {k: v for k, v in vars(module).items() if isinstance(v, Kernel)}
    if name:
        if name not in kernels:
            known = ", ".join(kernels) or "none"
            raise ValueError(f"'{place}' has no kernel '{name}'; its kernels: {known}")
        return kernels[name]
    own = {k: v for k, v in kernels.items() if v.module.name == module.__name__} or kernels
    if len(own) == 1:
        return next(iter(own.values()))
    if not own:
        raise ValueError(f"'{place}' has no kernel")
    raise ValueError(
        f"'{place}' has several kernels: {', '.join(own)}; write {place}::{next(iter(own))}"
    )


def dump_kernel(target: str, stage: str, *, bounds: bool, spans: bool) -> str:
    """The text of ``file.py::kernel`` after a stage; of every specialisation that it has.

    Raises:
        ValueError: the target is malformed, or there is no such file, kernel or stage.
        CompileError: the kernel does not compile.
    """
    kernel = find_kernel(target)
    if not kernel.is_generic:
        kernel.program(kernel.concrete_types())
    programs = kernel.programs()
    if not programs:
        raise ValueError(
            f"kernel '{kernel.key}' is generic; instantiate it with wp.overload where it is defined"
        )
    return "\n".join(dump(program, stage, bounds=bounds, spans=spans) for program in programs)


def load_target(place: str) -> ModuleType:
    """A module by file path or dotted name, which may lie in the folder where we run.

    Raises:
        ValueError: it cannot be found, or fails while it is imported.
    """
    path = Path(place)
    folder = str(path.parent.resolve())
    if path.suffix == ".py" and not path.is_file():
        raise ValueError(f"no file '{place}'")
    try:
        if path.suffix != ".py":
            here = str(Path.cwd())
            if here not in sys.path:
                sys.path.append(here)
            return importlib.import_module(place)
        spec = importlib.util.spec_from_file_location(_module_name(path), path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        sys.path.insert(0, folder)
        try:
            spec.loader.exec_module(module)
        finally:
            # Files beside it stay in reach, but behind modules of ours that load on first use.
            if folder in sys.path:
                sys.path.remove(folder)
            if folder not in sys.path:
                sys.path.append(folder)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - user modules may raise anything
        raise ValueError(f"cannot import '{place}': {type(error).__name__}: {error}") from None
    return module


def _module_name(path: Path) -> str:
    """The name of a file, unless another module has it, such as one of Python's own."""
    known = sys.modules.get(path.stem)
    file = getattr(known, "__file__", None)
    if known is None or (file is not None and Path(file).resolve() == path.resolve()):
        return path.stem
    return f"{path.stem} of {path.parent.resolve()}"


def kernels_of(module: ModuleType) -> list[Kernel]:
    """The kernels that a module defines, each once: by name, in lists and the like, in classes."""
    found = dict.fromkeys(_reachable(vars(module).values(), module.__name__, set()))
    own = [k for k in found if getattr(k, "__module__", module.__name__) == module.__name__]
    return own or list(found)


def _reachable(values: Iterable[object], module: str, seen: set[int]) -> Iterator[Kernel]:
    for value in values:
        inner: Iterable[object] = ()
        match value:
            case Kernel():
                yield value
            case list() | tuple() | set() | frozenset():
                inner = value
            case dict():
                inner = value.values()
            case type() if value.__module__ == module:
                inner = vars(value).values()
        if inner and id(value) not in seen:
            seen.add(id(value))
            yield from _reachable(list(inner), module, seen)
