"""How ``--suite gpu`` takes times, and makes figures of them and of what peers say."""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import heald as wp
from benchmarks.cores import least_disturbed
from benchmarks.figures import Figure
from benchmarks.timing import Local

DEVICE = "cuda:0"


class MissingError(RuntimeError):
    """A peer is not here; its figures are skipped."""


# -- times -----------------------------------------------------------------------------------------


def milliseconds(run: Callable[[], object], repeats: int = 10) -> float:
    """The median time of a call by events of the GPU on the current stream."""
    events = [wp.Event(DEVICE, enable_timing=True) for _ in range(2)]
    for _ in range(3):
        run()
    times = []
    for _ in range(9):
        wp.record_event(events[0])
        for _ in range(repeats):
            run()
        wp.record_event(events[1])
        wp.synchronize_event(events[1])
        times.append(wp.get_event_elapsed_time(*events) / repeats)
    return statistics.median(times)


def submission(run: Callable[[], object], library: Any = wp, count: int = 500) -> float:
    """Microseconds to give a launch to the GPU, in rounds that do not fill its queue.

    The median of the rounds that others on this machine disturb least.
    """

    def take() -> float:
        run()
        library.synchronize_device(DEVICE)
        start = time.perf_counter()
        for _ in range(count):
            run()
        return (time.perf_counter() - start) / count

    times = least_disturbed(take)
    library.synchronize_device(DEVICE)
    return statistics.median(times) * 1e6


def graph_milliseconds(
    kernel: Any, inputs: list[Any], library: Any = wp, launches: int = 1000
) -> float:
    """The time of a captured graph, from its launch to its end, as of :func:`submission`."""
    with library.ScopedCapture(DEVICE) as capture:
        for _ in range(launches):
            library.launch(kernel, dim=32, inputs=inputs, device=DEVICE)

    def take() -> float:
        library.synchronize_device(DEVICE)
        start = time.perf_counter()
        library.capture_launch(capture.graph)
        library.synchronize_stream(DEVICE)
        return time.perf_counter() - start

    return statistics.median(least_disturbed(take)) * 1e3


def checked(
    way: Local, expected: npt.ArrayLike, relative: float = 0.0, absolute: float = 0.0
) -> Callable[[], object]:
    """The call of a way whose first result is right."""
    way.run()
    np.testing.assert_allclose(way.result(), expected, rtol=relative, atol=absolute)
    return way.run


# -- figures ---------------------------------------------------------------------------------------


def most(
    case: str, name: str, value: float, unit: str, limit: float | None = None, **detail: Any
) -> Figure:
    """A figure that is good where it is small."""
    return Figure(case, name, value, unit, limit, "<=", detail)


def least(
    case: str, name: str, value: float, unit: str, limit: float | None = None, **detail: Any
) -> Figure:
    """A figure that is good where it is large."""
    return Figure(case, name, value, unit, limit, ">=", detail)


def skipped(case: str, name: str, error: Exception, limit: float | None = None) -> Figure:
    """A figure that something kept from being taken."""
    if isinstance(error, MissingError):
        why = str(error)
    else:
        traceback.print_exception(error)
        why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return Figure(case, name, None, "x", limit, ">=", {}, why)


def speed(
    case: str, name: str, own: float, peer: Callable[[], float], limit: float | None = None
) -> Figure:
    """Speed as a part of a peer's, of milliseconds; skipped where the peer does not work."""
    try:
        other = peer()
    except Exception as error:  # noqa: BLE001 - whatever a peer does, the rest goes on
        return skipped(case, name, error, limit)
    return least(case, name, other / own, "x", limit, ms=own, peer_ms=other)


def reference(
    case: str, name: str, unit: str, peer: Callable[[], float], kind: Callable[..., Figure] = most
) -> Figure:
    """A number of a peer, to compare with; skipped where it does not work."""
    try:
        return kind(case, name, peer(), unit)
    except Exception as error:  # noqa: BLE001 - as above
        return skipped(case, name, error)


def references(
    case: str, peer: str, unit: str, find: Callable[[], dict[str, float]]
) -> Iterator[Figure]:
    """Numbers of a peer, by name, that are found together."""
    try:
        found = find()
    except Exception as error:  # noqa: BLE001 - as above
        yield skipped(case, peer, error)
        return
    for name, value in found.items():
        yield most(case, f"{name}, {peer}", value, unit)
