"""``@wp.kernel``: kernels, their specialisations, and modules of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any

from heald.api.edge import at_edge
from heald.api.entries import keep_entry
from heald.api.settings import Settings
from heald.config import config
from heald.diagnostics import Diagnostic, LaunchError, TypingError
from heald.driver import Entry, Program, compile_program, report_changes
from heald.forks import ForkSafeLock
from heald.frontend import Options, parameter_patterns, remember
from heald.runtime import CPU, current_device
from heald.types import Pattern, Type, as_type, i32, i64, usual_type


class Module:
    """The kernels of one Python module (or of a name given to ``@wp.kernel(module=...)``)."""

    __slots__ = ("_options", "kernels", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.kernels: dict[str, Kernel] = {}
        self._options = Settings()

    @property
    def options(self) -> Settings:
        """Settings of its kernels; they win over those of ``wp.config``."""
        return self._options

    def __repr__(self) -> str:
        return f"<heald module {self.name}, {len(self.kernels)} kernels>"


_MODULES: dict[str, Module] = {}
"""Every module that defined a kernel, by name."""


def get_module(name: str) -> Module:
    """The module of a name; made when it is asked for the first time."""
    return _MODULES.setdefault(name, Module(name))


def modules() -> Iterator[Module]:
    """Every module that defined a kernel."""
    return iter(tuple(_MODULES.values()))


Key = tuple[tuple[Type, ...], str, Options, bool]
"""Of a specialisation: parameter types, safety, what the front end makes it for, and whether
contracts are checked."""
Compile = Callable[[Sequence[Type], str, Options, bool], Program]


class Kernel:
    """A kernel: launched with :func:`launch`, compiled when its argument types are first seen.

    Attributes:
        key: its name.
        entries: ways to launch it again with arguments like those of the last launches, and the
            revision of the settings that they were made for.
    """

    # What launches read are slots, which are read faster, and which ``functools.update_wrapper``
    # does not overwrite by attributes of functions.
    __slots__ = ("__dict__", "__weakref__", "entries")

    entries: tuple[object, tuple[Entry, ...]]

    def __init__(
        self,
        name: str,
        module: Module,
        parameters: Callable[[], tuple[tuple[str, Pattern], ...]],
        compile_for: Compile,
        options: Mapping[str, Any],
    ) -> None:
        self.key = name
        self.entries = (None, ())
        self._module = module
        self._options = Settings(options)
        self._read_parameters = parameters
        self._parameters: tuple[tuple[str, Pattern], ...] | None = None
        self._captured: object = None
        self._compile = compile_for
        self._programs: dict[Key, Program] = {}
        self._lock = ForkSafeLock()

    def __reduce__(self) -> str:
        """A kernel is copied and pickled by its name, as functions are."""
        return str(getattr(self, "__qualname__", self.key))

    @property
    def module(self) -> Module:
        """The module it belongs to."""
        return self._module

    @property
    def options(self) -> Settings:
        """Settings of this kernel; they win over those of its module and ``wp.config``."""
        return self._options

    @property
    def parameters(self) -> tuple[tuple[str, Pattern], ...]:
        """Names and annotated types; generic ones are patterns.

        Raises:
            CompileError: a parameter has no usable annotation.
        """
        known = self._parameters
        if known is None:
            known = self._parameters = self._read_parameters()
        return known

    @property
    def defaults(self) -> tuple[Any, ...]:
        """Values of the last parameters where a launch leaves them out, as after ``def``."""
        function = getattr(self, "__wrapped__", None)
        return getattr(function, "__defaults__", None) or ()

    @property
    def is_generic(self) -> bool:
        """Is the type of some parameter known at a launch only?"""
        return any(usual_type(pattern) is None for _, pattern in self.parameters)

    def option(self, name: str) -> Any:
        """A setting: the kernel's own, its module's, or the one of ``wp.config``."""
        for options in (self._options, self._module.options):
            if options.get(name) is not None:
                return options[name]
        return getattr(config, name)

    def program(self, types: Sequence[Type], *, wide_index: bool = False) -> Program:
        """The specialisation for concrete parameter types.

        Raises:
            CompileError: with every mistake found in the source, up to ten.
        """
        safety: str = self.option("safety")
        checked = bool(self.option("check_contracts"))
        options = Options(
            index=i64 if wide_index else i32,
            strict_fp=self.option("strict_fp"),
            fast_math=self.option("fast_math"),
            warp_reduce=self.option("warp_reduce"),
        )
        key = (tuple(types), safety, options, checked)
        found = self._programs.get(key)
        if found is None:
            with self._lock:
                found = self._programs.get(key)
                if found is None:
                    found = self._compile(types, safety, options, checked)
                    self._programs[key] = found
        function = getattr(self, "__wrapped__", None)
        if config.debug and function is not None:
            self._captured = report_changes(function, self._captured)
        return found

    def programs(self) -> list[Program]:
        """The specialisations compiled so far."""
        return list(self._programs.values())

    def stored_programs(self) -> list[tuple[Options, Program]]:
        """The specialisations compiled so far, and what they were compiled for.

        One of each, whatever safety it was compiled for.
        """
        found = {(types, o): program for (types, _, o, _), program in self._programs.items()}
        return [(options, program) for (_, options), program in found.items()]

    def concrete_types(self, types: Sequence[Any] | None = None) -> tuple[Type, ...]:
        """Parameter types: those annotated, or ``types`` where some are generic.  Indexed arrays
        have indices for every axis.

        Where it is generic and has one instance, that is meant.

        Raises:
            LaunchError: a parameter is generic and ``types`` does not say what it is.
        """
        if types is None and self.is_generic:
            instances = {known for known, *_ in list(self._programs)}
            if len(instances) == 1:
                return next(iter(instances))
            hint = "make one instance, as by wp.overload(kernel, [wp.array(dtype=float), float])"
            if instances:
                hint = "say which is meant by types=, or to wp.verify by args="
            raise LaunchError(
                Diagnostic(
                    "H0702",
                    f"kernel '{self.key}' has generic parameters and "
                    f"{len(instances) or 'no'} instances",
                    hint=hint,
                )
            )
        given = [pattern for _, pattern in self.parameters] if types is None else list(types)
        out = [usual_type(as_type(t)) for t in given]
        known = tuple(t for t in out if t is not None)
        if len(known) != len(self.parameters):
            raise LaunchError(
                Diagnostic(
                    "H0702",
                    f"kernel '{self.key}' takes {len(self.parameters)} concrete types, "
                    f"not {len(given)} of which {len(known)} are concrete",
                )
            )
        return known

    @at_edge
    def prepare(self, *types: Any) -> None:
        """Compile ahead: after it the first launch is as fast as the tenth.

        Args:
            types: one for each parameter where some are generic; nothing otherwise, or where there
                is one instance.

        Raises:
            CompileError: with every mistake found in the source.
        """
        program = self.program(self.concrete_types(types or None))
        program.prepare()
        device = current_device()
        keep_entry(self, program, device if device.is_cuda else CPU, config.revision, ahead=True)

    def invalidate(self) -> None:
        """Forget compiled code, so that changed captured values take effect at the next launch."""
        with self._lock:
            self._programs.clear()
            self._parameters = None
            self._captured = None
            self.entries = (None, ())
            config.touch()  # whoever keeps a program asks again

    @property
    def launch_condition(self) -> str:
        """What must hold of a launch for the code without bounds guards, readably.

        Raises:
            CompileError: the kernel is outside the language.
            LaunchError: it is generic, and was not launched yet (H0702).
        """
        lines = [program.describe_condition() for program in self.programs()]
        return "\n".join(lines) or self.program(self.concrete_types()).describe_condition()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: kernels are launched."""
        raise LaunchError(
            Diagnostic(
                "H0707",
                f"kernel '{self.key}' is launched, not called",
                hint=f"write wp.launch({self.key}, dim=..., inputs=[...])",
            )
        )

    def __repr__(self) -> str:
        return f"<heald kernel {self.key}>"


def kernel(
    f: Callable[..., Any] | None = None,
    *,
    enable_backward: bool | None = None,
    module: Module | str | None = None,
    name: str | None = None,
    module_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Decorator: a kernel, run by every thread of a launch.

    Args:
        f: the Python function; its parameters are annotated.
        enable_backward: whether gradients will be asked of it.
        module: the module it belongs to; that of the function by default.
        name: what it is called; the function's name by default.
        module_options: ``safety``, ``strict_fp``, ``check_contracts``, ``fast_math``,
            ``warp_reduce``, ``mode`` for
            this kernel only.
        options: the same as keyword arguments, which win.

    Raises:
        TypingError: what is decorated is no plain Python function, or an option does not exist or
            does not take the value given (H0707).
    """
    if f is None:
        return lambda g: kernel(
            g,
            enable_backward=enable_backward,
            module=module,
            name=name,
            module_options=module_options,
            **options,
        )
    if not isinstance(f, FunctionType):
        raise TypingError(
            Diagnostic("H0102", f"@wp.kernel decorates a Python function, not {type(f).__name__}")
        )
    settings = {**(module_options or {}), **options}
    if enable_backward is not None:
        settings["enable_backward"] = enable_backward
    remember(f)
    home = module if isinstance(module, Module) else get_module(module or f.__module__)
    called = name or f.__name__

    def compiled(types: Sequence[Type], safety: str, options: Options, checked: bool) -> Program:
        return compile_program(
            f, types, name=called, safety=safety, options=options, check_contracts=checked
        )

    made = Kernel(called, home, partial(parameter_patterns, f), compiled, settings)
    update_wrapper(made, f)
    home.kernels[called] = made
    return made


def get_kernel(name: str) -> Kernel:
    """The kernel of a name (``kernel`` or ``module.kernel``).

    Raises:
        LaunchError: there is none, or several modules have one.
    """
    home, _, short = name.rpartition(".")
    found = [
        m.kernels[short] for m in modules() if short in m.kernels and (not home or m.name == home)
    ]
    if len(found) == 1:
        return found[0]
    where = ", ".join(f"{k.module.name}.{k.key}" for k in found)
    message = f"several kernels are called '{name}': {where}" if found else f"no kernel '{name}'"
    raise LaunchError(Diagnostic("H0707", message, hint="write module.kernel" if found else ""))


@at_edge
def overload(kernel_or_function: Any, types: Sequence[Any] | None = None) -> Any:
    """Instantiate a generic kernel for concrete types, ahead of launches.

    Used as a decorator on a function of the same name it reads the types from the annotations.

    Raises:
        CompileError: the kernel does not compile for these types.
        LaunchError: the types are not concrete, or not one for each parameter.
    """
    if isinstance(kernel_or_function, FunctionType):
        original = get_kernel(f"{kernel_or_function.__module__}.{kernel_or_function.__name__}")
        types = [pattern for _, pattern in parameter_patterns(kernel_or_function)]
        return overload(original, types)
    if not isinstance(kernel_or_function, Kernel):
        raise TypingError(Diagnostic("H0207", "wp.overload takes a kernel and a list of types"))
    concrete = kernel_or_function.concrete_types(() if types is None else types)
    kernel_or_function.program(concrete)
    return kernel_or_function
