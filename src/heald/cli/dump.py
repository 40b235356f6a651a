"""``heald dump``: find a kernel in a file or module and show it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from heald.api.kernel import Kernel
from heald.driver import dump


def find_kernel(target: str) -> Kernel:
    """The kernel that ``file.py::kernel`` or ``module::kernel`` names.

    Raises:
        ValueError: the target is malformed, or there is no such file or kernel.
    """
    place, separator, name = target.partition("::")
    if not separator or not name:
        raise ValueError(f"'{target}' is not file.py::kernel or module::kernel")
    kernels = {k: v for k, v in vars(load_target(place)).items() if isinstance(v, Kernel)}
    if name not in kernels:
        known = ", ".join(kernels) or "none"
        raise ValueError(f"'{place}' has no kernel '{name}'; its kernels: {known}")
    return kernels[name]


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
    """A module by file path or dotted name.

    Raises:
        ValueError: it cannot be found, or fails while it is imported.
    """
    path = Path(place)
    try:
        if path.suffix != ".py":
            return importlib.import_module(place)
        if not path.is_file():
            raise ValueError(f"no file '{place}'")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        sys.path.insert(0, str(path.parent.resolve()))
        spec.loader.exec_module(module)
    except ValueError:
        raise
    except Exception as error:  # noqa: BLE001 - user modules may raise anything
        raise ValueError(f"cannot import '{place}': {type(error).__name__}: {error}") from None
    return module
