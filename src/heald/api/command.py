"""Recorded launches: everything checked once, run as often as asked."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any

from heald.api.adapt import adapt_argument, adapt_arguments, find_program
from heald.api.kernel import Kernel
from heald.config import config
from heald.diagnostics import Diagnostic, LaunchError, Note
from heald.driver import Argument, Entry, Program, replay_of
from heald.runtime import CPU, Device, check_dims, packer_of


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What a recorded launch runs with.  The arguments keep their arrays alive."""

    dims: tuple[int, ...]
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Ready:
    """A state as a compiled call, good for one revision of the settings.

    Whoever runs the call holds this record, and so the arrays of the state.
    """

    revision: object
    call: Callable[[], Any]
    entry: Entry
    state: _State


class Launch:
    """A launch recorded by ``wp.launch(..., record_cmd=True)``.

    Arguments are converted when they are set: later changes of a vector or struct do not count,
    while arrays are shared and kept alive.  Any thread may launch or change it; a launch that has
    begun keeps what it began with.  Settings changed since it was recorded count, as they do for
    ``wp.launch``.

    Attributes:
        kernel: what it runs.
        device: where.
        block_dim: threads of a block.
    """

    __slots__ = ("_lock", "_ready", "_state", "block_dim", "device", "kernel")

    def __init__(
        self,
        kernel: Kernel,
        dims: tuple[int, ...],
        arguments: Sequence[Argument],
        device: Device,
        block_dim: int,
    ) -> None:
        self.kernel = kernel
        self.device = device
        self.block_dim = block_dim
        self._lock = Lock()
        self._ready: _Ready | None = None
        self._state = _State(dims, tuple(arguments))
        find_program(kernel, arguments, dims)

    @property
    def dim(self) -> tuple[int, ...]:
        """Launch extents."""
        return self._state.dims

    def launch(self) -> None:
        """Run every thread, and wait for it.

        Raises:
            KernelFault: a thread left its array, divided by zero or failed an assertion.
        """
        ready = self._ready
        if ready is not None and ready.revision is config.revision:
            outcome = ready.call()
            if outcome is None:
                return
            if outcome is not NotImplemented:
                raise ready.entry.program.error_of(outcome)
        self._launch()

    def _launch(self) -> None:
        """The careful path; afterwards the quick one is ready."""
        revision, state, ready = config.revision, self._state, self._ready
        program = find_program(self.kernel, state.arguments, state.dims)
        try:
            program.run(self.device, state.dims, state.arguments, self.block_dim)
        finally:
            if ready is None or ready.revision is not revision or not ready.entry.is_current:
                self._make_ready(revision, state, program)

    def _make_ready(self, revision: object, state: _State, program: Program) -> None:
        if self.device is not CPU or program.has_wide_index or config.debug:
            return
        entry = replay_of(program)
        if entry is None:
            return
        artifact = program.choose(state.dims, state.arguments).artifact
        words = [word for argument in state.arguments for word in argument.words()]
        block = packer_of(artifact).pack(words)
        call = partial(entry.call, state.dims, self.block_dim, (block,), ())
        with self._lock:
            if self._state is state:
                self._ready = _Ready(revision, call, entry, state)

    # ------------------------------------------------------------------------------------ changes

    def set_dim(self, dim: int | Sequence[int]) -> None:
        """Change the launch extents.

        Raises:
            LaunchError: they are no extents, or the kernel reads another number of indices (H0706).
        """
        dims = check_dims(dim)
        with self._lock:
            self._change(replace(self._state, dims=dims))

    def set_param_at_index(self, index: int, value: Any) -> None:
        """Change one argument; its type stays what it is.

        Raises:
            LaunchError: the kernel has no such parameter (H0715), or the value does not fit it.
        """
        self._set(self._position(index), value)

    def set_param_by_name(self, name: str, value: Any) -> None:
        """Change the argument of the parameter of that name; its type stays what it is.

        Raises:
            LaunchError: the kernel has no such parameter (H0715), or the value does not fit it.
        """
        names = self._names()
        if name not in names:
            raise self._unknown(name)
        self._set(names.index(name), value)

    def set_params(self, values: Sequence[Any]) -> None:
        """Change all arguments, in the order of the parameters.

        Raises:
            LaunchError: wrong count, or a value that does not fit its parameter.
        """
        arguments = adapt_arguments(self.kernel, values, self.device)
        with self._lock:
            self._change(replace(self._state, arguments=tuple(arguments)))

    def _set(self, index: int, value: Any) -> None:
        with self._lock:
            arguments = list(self._state.arguments)
            arguments[index] = adapt_argument(
                self.kernel, index, arguments[index].type, value, self.device
            )
            self._change(replace(self._state, arguments=tuple(arguments)))

    def _change(self, state: _State) -> None:
        find_program(self.kernel, state.arguments, state.dims)
        self._ready = None
        self._state = state

    def _names(self) -> list[str]:
        return [name for name, _ in self.kernel.parameters]

    def _position(self, index: int) -> int:
        try:
            position = operator.index(index)
        except TypeError:
            raise self._unknown(index) from None
        if not 0 <= position < len(self.kernel.parameters):
            raise self._unknown(position)
        return position

    def _unknown(self, what: object) -> LaunchError:
        names = self._names()
        near = difflib.get_close_matches(what, names, n=1) if isinstance(what, str) else []
        known = ", ".join(f"{k}: {name}" for k, name in enumerate(names)) or "none"
        return LaunchError(
            Diagnostic(
                "H0715",
                f"kernel '{self.kernel.key}' has no parameter {what!r}",
                notes=(Note(f"its parameters are {known}"),),
                hint=f"did you mean {near[0]!r}?" if near else "",
            )
        )

    def __repr__(self) -> str:
        return f"<heald launch of {self.kernel.key} on {self.dim}>"
