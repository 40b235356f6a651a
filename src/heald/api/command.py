"""Recorded launches: everything checked once, run as often as asked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from heald.api.adapt import adapt_argument, adapt_arguments, find_program
from heald.api.contents import run_program
from heald.api.edge import cut, unguarded
from heald.api.kernel import Kernel
from heald.api.scalars import describe, integer_of
from heald.config import config
from heald.diagnostics import Diagnostic, HealdError, LaunchError, Note
from heald.driver import (
    Argument,
    Entry,
    Program,
    fixed_replay_of,
    is_pinned,
    misaligned,
    replay_of,
)
from heald.forks import ForkSafeLock
from heald.runtime import Device, check_dims, packer_of
from heald.runtime.cuda import CHOSEN, Stream, current_stream, entry_queue, other_device


def check_stream(stream: object) -> Stream:
    """What a launch names as its stream.

    Raises:
        LaunchError: it is none (H0702).
    """
    if isinstance(stream, Stream):
        return stream
    message = f"stream= is {describe(stream)}, not a stream"
    raise LaunchError(Diagnostic("H0702", message, hint="make one with wp.Stream(device)"))


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What a recorded launch runs with, checked; good for one revision of the settings.

    Whoever runs it holds this record, and so the arrays of the arguments.  ``call`` and ``entry``
    are None where launches take the careful path; ``on_host`` is the call where it takes nothing.
    """

    dims: tuple[int, ...]
    arguments: tuple[Argument, ...]
    revision: object
    program: Program
    entry: Entry | None
    call: Callable[..., Any] | None
    on_host: Callable[[], Any] | None


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

    __slots__ = (
        "_alias",
        "_is_queued",
        "_lock",
        "_state",
        "_stream",
        "block_dim",
        "device",
        "kernel",
    )

    def __init__(
        self,
        kernel: Kernel,
        dims: tuple[int, ...],
        arguments: Sequence[Argument],
        device: Device,
        block_dim: int,
        stream: Stream | None = None,
    ) -> None:
        self.kernel = kernel
        self._stream = stream
        self._is_queued = device.is_cuda
        self._alias = device.alias
        self.device = device
        self.block_dim = block_dim
        self._lock = ForkSafeLock()
        self._state = self._bind(dims, tuple(arguments))

    @property
    def dim(self) -> tuple[int, ...]:
        """Launch extents."""
        return self._state.dims

    def recorded(self) -> tuple[Program, tuple[Argument, ...]]:
        """What it runs, and with what."""
        state = self._state
        return state.program, state.arguments

    @unguarded
    def launch(self, stream: Stream | None = None) -> None:
        """Run every thread, and wait for it but on a GPU.

        Args:
            stream: of a GPU; by default the one it was recorded with, or the current one.

        Raises:
            KernelFault: a thread left its array, divided by zero or failed an assertion; on a GPU,
                in an earlier launch.
            DeviceError: the stream is of another device (H0812).
            LaunchError: it is no stream (H0702).
        """
        state = self._state
        try:
            if stream is not None and check_stream(stream).device != self.device:
                raise other_device(f"a stream of '{stream.device}'", f"'{self.device}'")
            if state.revision is not config.revision:
                state = self._renew(state)
            if state.on_host is not None:
                outcome = state.on_host()
                if outcome is None:
                    return
                if outcome is not NotImplemented:
                    raise state.program.error_of(outcome)
            elif self._is_queued:
                if stream is None:
                    stream = (
                        self._stream
                        or CHOSEN.sole.get(self._alias)
                        or CHOSEN.of_thread.streams.get(self._alias)
                        or current_stream(self.device)
                    )
                call, address = state.call, stream.address
                if call is not None:
                    done = call(address) if address else self._capture(state, stream)
                    if done is None:
                        return
            self._launch(state, stream)
        except HealdError as error:
            raise cut(error)  # noqa: B904 - `cut` decides about the cause

    def _capture(self, state: _State, stream: Stream) -> Any:
        """Launch into the graph that a stream is captured into."""
        queue = entry_queue(stream, True)
        if queue is None or queue.capture is None or state.call is None:
            return NotImplemented
        outcome = state.call(queue.address)
        if outcome is None:
            queue.capture.launched(state)
        return outcome

    def _launch(self, state: _State, stream: Stream | None) -> None:
        """The careful path; afterwards the quick one knows what it lacked."""
        try:
            program, arguments = state.program, state.arguments
            run_program(program, self.device, state.dims, arguments, self.block_dim, stream)
        finally:
            if state.entry is not None and not state.entry.is_current:
                self._renew(state)

    def _renew(self, old: _State) -> _State:
        """The same again, for the settings and variants that there are now."""
        state = self._bind(old.dims, old.arguments)
        with self._lock:
            if self._state is old:
                self._state = state
        return state

    def _bind(self, dims: tuple[int, ...], arguments: tuple[Argument, ...]) -> _State:
        revision = config.revision
        given = arguments[: len(self.kernel.parameters)]  # the rest are tables of a program
        program, taken = find_program(self.kernel, given, dims, self.device)
        arguments = tuple(taken)
        entry = call = None
        watched = config.debug or (self.device.is_cuda and config.verify_cuda)
        plain = not (self.device.is_sim or program.has_wide_index or watched)
        if plain and not any(map(self._needs_care, arguments)):
            if self.device.is_cuda:
                entry = fixed_replay_of(program, self.device, dims, arguments)
            else:
                entry = replay_of(program, self.device)
        if entry is not None:
            words = [word for argument in arguments for word in argument.words()]
            artifact = program.artifact(self.device)
            assert artifact is not None
            block = packer_of(artifact).pack(words)
            call = partial(entry.call, dims, self.block_dim, (block,), ())
        on_host = None if self.device.is_cuda else call
        return _State(dims, arguments, revision, program, entry, call, on_host)

    def _needs_care(self, argument: Argument) -> bool:
        """Must the careful path look at an argument at every launch?"""
        if self.device.is_cuda:
            return misaligned(argument) is not None
        return is_pinned(argument)

    # ------------------------------------------------------------------------------------ changes

    def set_dim(self, dim: int | Sequence[int]) -> None:
        """Change the launch extents.

        Raises:
            LaunchError: they are no extents, or the kernel reads another number of indices (H0706).
        """
        dims = check_dims(dim)
        with self._lock:
            self._state = self._bind(dims, self._state.arguments)

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
            self._state = self._bind(self._state.dims, tuple(arguments))

    def _set(self, index: int, value: Any) -> None:
        with self._lock:
            arguments = list(self._state.arguments)
            arguments[index] = adapt_argument(
                self.kernel, index, arguments[index].type, value, self.device
            )
            self._state = self._bind(self._state.dims, tuple(arguments))

    def _names(self) -> list[str]:
        return [name for name, _ in self.kernel.parameters]

    def _position(self, index: int) -> int:
        position = integer_of(index)
        if position is None or not 0 <= position < len(self.kernel.parameters):
            raise self._unknown(index)
        return position

    def _unknown(self, what: object) -> LaunchError:
        names = self._names()
        near = difflib.get_close_matches(what, names, n=1) if isinstance(what, str) else []
        known = ", ".join(f"{k}: {name}" for k, name in enumerate(names)) or "none"
        hint = f"did you mean {near[0]!r}?" if near else ""
        if isinstance(what, str) and what in names:
            hint = f"write set_param_by_name({what!r}, value)"
        elif type(what) is int and 0 <= what < len(names):
            hint = f"write set_param_at_index({what}, value)"
        return LaunchError(
            Diagnostic(
                "H0715",
                f"kernel '{self.kernel.key}' has no parameter {what!r}",
                notes=(Note(f"its parameters are {known}"),),
                hint=hint,
            )
        )

    def __repr__(self) -> str:
        return f"<heald launch of {self.kernel.key} on {self.dim}>"
