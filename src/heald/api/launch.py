"""``wp.launch``: arguments checked on the host, the specialisation found, the threads run."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Literal, overload

from heald.api.adapt import adapt_arguments, find_program
from heald.api.command import Launch, check_stream
from heald.api.contents import run_program
from heald.api.edge import cut, unguarded
from heald.api.entries import keep_entry
from heald.api.kernel import Kernel
from heald.api.scalars import describe
from heald.config import config
from heald.diagnostics import DeviceError, Diagnostic, HealdError, LaunchError
from heald.driver import Entry, hint_at_dim, launch_hints
from heald.runtime import (
    CURRENT,
    Device,
    DeviceLike,
    check_block_dim,
    check_dims,
    get_device,
)
from heald.runtime.cuda import CHOSEN, Stream, current_stream, entry_queue, use_stream

_NOWHERE = object()
_OPTIONS = ("kernel", "dim", "inputs", "outputs", "device", "block_dim", "stream", "record_cmd")


@overload
def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: DeviceLike = None,
    block_dim: int = 256,
    *,
    stream: Stream | None = None,
    record_cmd: Literal[False] = False,
) -> None: ...


@overload
def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: DeviceLike = None,
    block_dim: int = 256,
    *,
    stream: Stream | None = None,
    record_cmd: bool,
) -> Launch | None: ...


@unguarded
def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: DeviceLike = None,
    block_dim: int = 256,
    *,
    stream: Stream | None = None,
    record_cmd: bool = False,
    **unknown: object,
) -> Launch | None:
    """Run ``kernel`` on every index of ``dim``, and wait for it but on a GPU.

    A GPU gets the launch into its stream.  What fails there is raised where the host waits for it
    (``wp.synchronize``, ``a.numpy()``), or by a later launch, and at the latest told at exit.

    Args:
        kernel: made by ``@wp.kernel``.
        dim: threads, or one to four extents.  An extent of 0 runs nothing.
        inputs: arguments in the order of the parameters.
        outputs: the rest of the arguments; the split is for readers only.
        device: where to run; the current device by default.  ``"sim"`` is the reference
            interpreter.
        block_dim: threads of a block, 1 to 1024.
        stream: of a GPU, which is then the device; the current one of the device by default.
        record_cmd: do not run it, but return a :class:`Launch` that runs it as often as asked.

    Raises:
        LaunchError: arguments, dims or device do not fit; nothing has run.
        CompileError: the kernel is outside the language; nothing has run.
        KernelFault: a thread left its array, divided by zero or failed an assertion; on a GPU,
            in an earlier launch, and this one was not started.
        DeviceError: the stream is of another device (H0812), or the device cannot be used.
    """
    if unknown:
        raise _unknown_option(next(iter(unknown)))
    # It has to wait for what other libraries do with arrays of theirs that are arguments.
    before = use_stream(stream) if type(stream) is Stream else None
    try:
        if type(kernel) is Kernel and not record_cmd:
            revision, entries = kernel.entries
            if revision is config.revision:
                place = device if stream is None else _device_of(stream, device)
                place = CURRENT.device if place is None else place
                for entry in entries:
                    if place is entry.device or (type(place) is str and place == entry.alias):
                        last, call = outputs, entry.call
                        if entry.tables:
                            tables = [table.on(entry.device) for table in entry.tables]
                            last = (*outputs, *tables)
                        if entry.is_queued:
                            queued = (
                                stream
                                or CHOSEN.sole.get(entry.alias)
                                or CHOSEN.of_thread.streams.get(entry.alias)
                                or current_stream(entry.device)
                            )
                            if queued.address:
                                outcome = call(dim, block_dim, inputs, last, queued.address)
                            else:
                                outcome = _capture(entry, queued, dim, block_dim, inputs, last)
                        else:
                            outcome = call(dim, block_dim, inputs, last)
                        if outcome is None:
                            return None
                        if outcome is not NotImplemented:
                            raise entry.program.error_of(outcome)
        return _launch(kernel, dim, inputs, outputs, device, block_dim, record_cmd, stream)
    except HealdError as error:
        raise cut(error)  # noqa: B904 - `cut` decides about the cause
    finally:
        if before is not None:
            use_stream(before)


def _unknown_option(name: str) -> LaunchError:
    near = difflib.get_close_matches(name, _OPTIONS, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(_OPTIONS)}"
    return LaunchError(Diagnostic("H0707", f"wp.launch has no option '{name}'", hint=hint))


def _device_of(stream: object, device: DeviceLike) -> object:
    """The device of a stream where no other is named; else what no entry is for."""
    return stream.device if type(stream) is Stream and device is None else _NOWHERE


def _capture(
    entry: Entry,
    stream: Stream,
    dim: object,
    block_dim: object,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
) -> Any:
    """Launch through an entry into the graph that a stream is captured into."""
    queue = entry_queue(stream, entry.is_direct)
    if queue is None or queue.capture is None:
        return NotImplemented
    outcome = entry.call(dim, block_dim, inputs, outputs, queue.address)
    if outcome is None:
        queue.capture.launched((entry, tuple(inputs), tuple(outputs)))
    return outcome


def _place(device: DeviceLike, stream: Stream | None) -> Device:
    """Where a launch runs.

    Raises:
        LaunchError: ``stream`` is no stream (H0702).
        DeviceError: it is of another device (H0812), or no such device (H0801).
    """
    if stream is None:
        return get_device(device)
    check_stream(stream)
    if device is not None and get_device(device) != stream.device:
        raise DeviceError(
            Diagnostic(
                "H0812",
                f"the launch is on '{get_device(device)}', its stream is of '{stream.device}'",
                hint="leave device= out: a stream names its device",
            )
        )
    return stream.device


def _launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    device: DeviceLike,
    block_dim: int,
    record_cmd: bool,
    stream: Stream | None = None,
) -> Launch | None:
    """The careful path: it understands every argument, and says what is wrong with others."""
    if not isinstance(kernel, Kernel):
        raise LaunchError(
            Diagnostic(
                "H0707",
                f"wp.launch takes a kernel, not {describe(kernel)}",
                hint="decorate the function with @wp.kernel",
            )
        )
    revision = config.revision
    dims, where = check_dims(dim), _place(device, stream)
    threads = check_block_dim(block_dim)
    given = [*_listed(inputs, "inputs"), *_listed(outputs, "outputs")]
    arguments = adapt_arguments(kernel, given, where)
    if record_cmd:
        command = Launch(kernel, dims, arguments, where, threads, stream)
        if config.hints:
            program, taken = command.recorded()
            hint_at_dim(program, dims, taken, threads)
        return command
    with launch_hints(dims, where, threads) if config.hints else nullcontext() as noted:
        program, arguments = find_program(kernel, arguments, dims, where)
        try:
            run_program(program, where, dims, arguments, threads, stream)
        finally:
            if not where.is_sim:
                keep_entry(kernel, program, where, revision)
        if noted is not None:
            noted.append((program, arguments))
    return None


def _listed(given: object, name: str) -> Sequence[Any]:
    """``given``, unless it is one argument instead of a list of them."""
    if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        return given
    message = f"{name} is a list of arguments, not {describe(given)}"
    raise LaunchError(Diagnostic("H0701", message, hint=f"write {name}=[...]"))
