"""Whatever public name is used: an error that leaves Heald ends at the user's own line."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from fake_cuda import Fake, use_fake_gpu

import heald as wp
from heald.diagnostics.spans import outer_frame

OWN = str(Path(wp.__file__).parent)
UTILS = ("array_cast", "array_inner", "array_scan", "array_sum")
UTILS += ("radix_sort_pairs", "runlength_encode")
TYPES = ("matrix", "quaternion", "transformation", "vector")
LEFT_OUT = {"Any", "config", "clear_kernel_cache", "force_load"}
"""No function, and those that change more than a test may."""
WRONG: tuple[Any, ...] = (object(), -1, "cuda:9", 3.5)


@wp.struct
class Pair:
    x: float
    y: wp.vec3


@wp.kernel
def scale(a: wp.array(dtype=float), s: float):
    i = wp.tid()
    a[i] = a[i] * s


@wp.func
def twice(x: float) -> float:
    return x + x


def frames_inside(error: BaseException) -> list[str]:
    """The frames of Heald's own files that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{f.filename}:{f.lineno} {f.name}" for f in frames if f.filename.startswith(OWN)]


def refusals(call: Callable[..., Any], most: int) -> Iterator[wp.HealdError]:
    """What Heald says to calls with arguments that mean nothing; its bugs are none."""
    for count in range(most + 1):
        for wrong in WRONG:
            try:
                call(*[wrong] * count)
            except wp.InternalError:
                continue
            except wp.HealdError as error:
                yield error
            except Exception:  # noqa: BLE001 - what Python itself says is no matter here
                pass


def public() -> dict[str, Any]:
    """Everything with a public name that can be called."""
    names = [name for name in dir(wp) if not name.startswith("_") and name not in LEFT_OUT]
    found = {name: getattr(wp, name) for name in names}
    found |= {f"utils.{name}": getattr(wp.utils, name) for name in UTILS}
    found |= {f"types.{name}": getattr(wp.types, name) for name in TYPES}
    errors = [n for n, x in found.items() if isinstance(x, type) and issubclass(x, BaseException)]
    return {n: x for n, x in found.items() if callable(x) and n not in errors}


PUBLIC = public()


def objects() -> dict[str, Any]:
    """What users have in hand: one of each kind."""
    a = wp.zeros(4)
    grid = wp.HashGrid(2, 2, 2)
    grid.build(wp.zeros(3, dtype=wp.vec3), 1.0)
    return {
        "array": a,
        "read-only array": wp.array(np.broadcast_to(np.float32(1), 3), copy=False),
        "matrix of vectors": wp.zeros((2, 3), dtype=wp.vec3),
        "indexedarray": wp.indexedarray(a, [[0, 2]]),
        "array2d": wp.array2d,
        "vec3": wp.vec3(),
        "vec2i": wp.vec2i(),
        "mat22": wp.mat22(),
        "quat": wp.quat(),
        "transform": wp.transform(),
        "struct": Pair(),
        "table": wp.constant(np.zeros(3)),
        "new grid": wp.HashGrid(2, 2, 2),
        "grid": grid,
        "kernel": scale,
        "function": twice,
        "builtin": wp.sin,
        "launch": wp.launch(scale, 4, [a, 1.0], record_cmd=True),
        "device": wp.get_device("cpu"),
        "ScopedDevice": wp.ScopedDevice("cpu"),
        "module": wp.get_module(__name__),
    }


OBJECTS = objects()
_OF_PYTHON = {*dir(object), "__setstate__"} - {"__repr__", "__str__", "__setattr__"}


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names(name: str) -> None:
    for error in refusals(PUBLIC[name], 4):
        assert len(frames_inside(error)) == 1, error
        assert error.__cause__ is None


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("name", OBJECTS)
def test_methods_operators_and_properties(name: str) -> None:
    kind = type(OBJECTS[name])
    for member in dir(kind):
        if member in _OF_PYTHON or (member.startswith("_") and not member.endswith("__")):
            continue
        given = copy.copy(OBJECTS[name]) if hasattr(kind, "from_leaves") else OBJECTS[name]
        calls = [lambda *args, g=given, m=member: getattr(g, m)(*args)]
        if isinstance(inspect.getattr_static(kind, member), property):
            calls = [
                lambda *_, g=given, m=member: getattr(g, m),
                lambda value=None, g=given, m=member: setattr(g, m, value),
            ]
        for call in calls:
            for error in refusals(call, 3):
                assert len(frames_inside(error)) == 1, (member, error, frames_inside(error))


SOME: dict[str, Callable[[], Any]] = {
    "zeros": lambda: wp.zeros(3, device="cuda:0"),
    "array": lambda: wp.array("text"),
    "element": lambda: wp.zeros(3)[10],
    "set element": lambda: wp.zeros(3).__setitem__(1, "x"),
    "copy": lambda: wp.copy(wp.zeros(3), wp.zeros(5)),
    "synchronize": lambda: wp.synchronize("cuda:0"),
    "Stream": lambda: wp.Stream("cpu"),
    "grid": lambda: wp.HashGrid(2, 2, 2).id,
    "condition": lambda: wp.kernel(lambda: 3).launch_condition,
    "scan": lambda: wp.utils.array_scan(wp.zeros(3), wp.zeros(5)),
    "vector": lambda: wp.vec3(1.0, 2.0),
    "component": lambda: setattr(wp.vec3(), "x", "one"),
    "operator": lambda: wp.vec3() + wp.vec2(),
    "struct": lambda: setattr(Pair(), "x", "one"),
    "thread": wp.tid,
}


@pytest.mark.usefixtures("no_driver")
@pytest.mark.parametrize("name", SOME)
def test_what_is_refused_ends_at_the_callers_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(wp.HealdError) as short:
        SOME[name]()
    assert len(frames_inside(short.value)) == 1
    monkeypatch.setattr(wp.config, "traceback", "full")
    with pytest.raises(wp.HealdError) as full:
        SOME[name]()
    assert str(full.value) == str(short.value)


IN_A_CAPTURE: dict[str, Callable[[wp.array], Any]] = {
    "numpy": lambda a: a.numpy(),
    "list": lambda a: a.list(),
    "element": lambda a: a[3],
    "set element": lambda a: a.__setitem__(3, 1.0),
    "make": lambda a: wp.array([1.0, 2.0], device="cuda:0"),
    "assign": lambda a: a.assign([1.0] * 10),
    "copy": lambda a: wp.copy(wp.zeros(10, device="cpu"), a),
    "synchronize": lambda a: wp.synchronize(),
    "synchronize a device": lambda a: wp.synchronize_device("cuda:0"),
    "synchronize a stream": lambda a: wp.synchronize(wp.get_stream("cuda:0")),
    "begin": lambda a: wp.capture_begin("cuda:0"),
    "condition": lambda a: wp.capture_if(wp.zeros(1, dtype=int, device="cuda:0")),
    "is_complete": lambda a: wp.get_stream("cuda:0").is_complete,
    "to": lambda a: a.to("cpu"),
    "print": lambda a: f"{a}",
    "asarray": lambda a: np.asarray(a, np.float32),
}


@pytest.mark.parametrize("name", IN_A_CAPTURE)
def test_what_a_capture_cannot_hold_is_told_with_the_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fake_gpu(monkeypatch)
    a, call = wp.zeros(10, device="cuda:0"), IN_A_CAPTURE[name]
    with wp.ScopedCapture("cuda:0"), pytest.raises(wp.DeviceError) as caught:
        call(a)
    (told,) = caught.value.diagnostics
    assert told.code == "H0811"
    assert told.span is not None
    assert (told.span.file, told.span.line) == (__file__, call.__code__.co_firstlineno)
    assert f"test_edge.py:{told.span.line}:" in str(caught.value)
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[told.span.line - 1]
    assert line[told.span.col : told.span.end_col] in line.partition("a: ")[2].rstrip(",")
    assert len(frames_inside(caught.value)) == 1


def test_a_capture_that_nobody_began_is_told_with_the_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_fake_gpu(monkeypatch)
    with pytest.raises(wp.DeviceError, match=r"H0811[\s\S]*test_edge.py:\d+:9"):
        wp.capture_end("cuda:0")


def test_errors_of_a_gpu_that_comes_later_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of objects whose classes have been there before."""

    def gone(*_: object) -> None:
        raise wp.DeviceError("the GPU is gone")

    use_fake_gpu(monkeypatch)
    a = wp.zeros(10, device="cuda:0")
    monkeypatch.setattr(Fake, "cuMemcpyDtoHAsync_v2", gone)
    with pytest.raises(wp.DeviceError) as caught:
        a.numpy()
    assert len(frames_inside(caught.value)) == 1


# -- what stays as it was --------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_functions_are_pickled_and_say_what_they_said(name: str) -> None:
    value = PUBLIC[name]
    if isinstance(value, FunctionType):
        assert pickle.loads(pickle.dumps(value)) is value
        assert value.__doc__


def test_a_function_starts_processes() -> None:
    with multiprocessing.get_context("spawn").Pool(
        1, initializer=wp.set_device, initargs=("cpu",)
    ) as pool:
        assert pool.apply(len, ("two",)) == 3


def test_the_quick_ways_are_left_alone() -> None:
    """Launches cut by themselves; lengths and shapes cannot fail."""
    assert not hasattr(wp.launch, "__wrapped__")
    assert not hasattr(wp.Launch.launch, "__wrapped__")
    assert not hasattr(type(OBJECTS["table"]).on, "__wrapped__")
    for kind in (wp.array, wp.vec3):
        assert not hasattr(kind.__len__, "__wrapped__")
    for name in ("shape", "dtype", "device", "size", "ndim", "strides"):
        member = inspect.getattr_static(wp.array, name)
        assert not hasattr(member.fget, "__wrapped__")


def test_nothing_is_put_behind_the_edge_twice() -> None:
    for value in (wp.zeros, wp.array.numpy, wp.array.__getitem__, wp.synchronize):
        assert not hasattr(value.__wrapped__, "__wrapped__")


def test_functions_that_are_taken_from_their_package_are_cut() -> None:
    code = (
        "import traceback\n"
        "from heald.utils import array_scan\n"
        "try:\n"
        "    array_scan(1, 2)\n"
        "except TypeError as error:\n"
        "    print(len(traceback.extract_tb(error.__traceback__)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2"], "the line, and the edge"


def test_a_struct_reads_the_names_around_it() -> None:
    width = 3

    @wp.struct
    class Local:
        x: wp.types.vector(length=width, dtype=float)

    assert len(Local().x) == 3

    assert outer_frame() is inspect.currentframe()


def test_hints_and_modules_are_those_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    @wp.kernel
    def fresh(a: wp.array(dtype=float)):
        a[wp.tid()] = 1.0

    monkeypatch.setattr(wp.config, "hints", True)
    with pytest.warns(wp.Hint, match="H1002") as caught:
        wp.launch(fresh, 4, [wp.zeros(4)])
    assert caught[0].filename == __file__
    try:
        wp.set_module_options({"strict_fp": True})
        assert wp.get_module(__name__).options["strict_fp"] is True
    finally:
        wp.get_module(__name__).options.clear()


def test_the_span_of_a_call_counts_characters(tmp_path: Path) -> None:
    """Without columns, which Python can be told not to keep, it is the whole line."""
    text = "from heald.diagnostics.spans import calling_span\n    \nif True:\n"
    text += (
        "    a = ['größe', calling_span()][1]\n    print(a.line, a.col, a.end_line, a.end_col)\n"
    )
    file = tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    told = [
        subprocess.run(
            [sys.executable, *options, str(file)], capture_output=True, text=True, check=True
        ).stdout.split()
        for options in ([], ["-X", "no_debug_ranges"])
    ]
    assert told == [["4", "18", "4", "32"], ["4", "4", "4", "36"]]
