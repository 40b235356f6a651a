"""Recorded launches: checked when recorded or changed, then as ``wp.launch`` would run them."""

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import heald as wp
from heald.codegen import has_entries
from heald.driver import entries

pytestmark = pytest.mark.cpu


@pytest.fixture(autouse=True)
def _settings() -> Iterator[None]:
    yield
    wp.config.reset()
    wp.config.check = True
    wp.set_device("cpu")


@pytest.fixture(params=["entry", "careful"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "careful":
        monkeypatch.setattr(entries, "has_entries", lambda: False)
        monkeypatch.setattr(entries, "make_entry", lambda *_: None)
        wp.config.touch()
    elif not has_entries():
        pytest.skip("this interpreter has no launch entries")
    return str(request.param)


def record(kernel: Any, dim: Any, inputs: Any, **options: Any) -> wp.Launch:
    command = wp.launch(kernel, dim, inputs, record_cmd=True, **options)
    assert isinstance(command, wp.Launch)
    return command


def is_quick(command: wp.Launch) -> bool:
    """Does the next launch go through an entry?"""
    careful = []
    original = wp.Launch._launch

    def spy(self: wp.Launch, *state: Any) -> None:
        careful.append(self)
        original(self, *state)

    wp.Launch._launch = spy  # type: ignore[method-assign]
    try:
        command.launch()
    finally:
        wp.Launch._launch = original  # type: ignore[method-assign]
    return not careful


@wp.struct
class Pair:
    a: wp.array(dtype=float)
    factor: wp.float16


@wp.kernel
def add(out: wp.array(dtype=float), pair: Pair, v: wp.vec3, x: float, flag: wp.bool):
    i = wp.tid()
    out[i] = pair.a[i] * wp.float32(pair.factor) + v.y + x
    if flag:
        out[i] = 0.0


def pair(value: float, factor: float = 2.0) -> Pair:
    made = Pair()
    made.a = wp.full(4, value)
    made.factor = factor
    return made


def test_nothing_runs_until_asked(path: str) -> None:
    out = wp.full(4, -1.0)
    command = record(add, 4, [out, pair(3.0), wp.vec3(0.0, 10.0, 0.0), 0.5, False])
    assert out.list() == [-1.0] * 4
    for _ in range(4):
        out.fill_(-1.0)
        command.launch()
        assert out.list() == [16.5] * 4
    assert is_quick(command) is (path == "entry")
    assert (command.dim, command.kernel, str(command.device)) == ((4,), add, "cpu")
    assert repr(command) == "<heald launch of add on (4,)>"


def test_arguments_can_be_changed(path: str) -> None:
    out = wp.zeros(4)
    command = record(add, 4, [out, pair(3.0), wp.vec3(), 0.5, False], block_dim=64)
    command.launch()
    for change, expected in (
        (lambda: command.set_param_at_index(3, 1.5), 7.5),
        (lambda: command.set_param_by_name("v", wp.vec3(0.0, 1.0, 0.0)), 8.5),
        (lambda: command.set_param_by_name("pair", pair(5.0, 0.5)), 5.0),
        (lambda: command.set_param_at_index(np.int64(4), True), 0.0),
        (lambda: command.set_params([out, pair(1.0), (0.0, 7.0, 0.0), 0, False]), 9.0),
        (lambda: command.set_param_by_name("x", np.float64(0.25)), 9.25),
    ):
        change()
        for _ in range(2):
            command.launch()
            assert out.list() == [expected] * 4
    other = wp.zeros(4)
    command.set_param_by_name("out", other)
    command.set_param_by_name("x", 1.0)
    command.launch()
    assert (other.list(), out.list()) == ([10.0] * 4, [9.25] * 4)


def test_dims_can_be_changed(path: str) -> None:
    out = wp.zeros(4)
    command = record(add, 4, [out, pair(3.0), wp.vec3(), 0.0, False])
    for dim in (2, (1,), [3], 0, np.int64(4), 1):
        out.zero_()
        command.set_dim(dim)
        for _ in range(2):
            command.launch()
        count = int(np.prod(dim))
        assert out.list() == [6.0] * count + [0.0] * (4 - count)
    command.set_dim(5)
    for _ in range(2):
        with pytest.raises(wp.OutOfBoundsError, match="index 4 outside"):
            command.launch()


def test_values_are_taken_when_they_are_set(path: str) -> None:
    out, v, p = wp.zeros(4), wp.vec3(0.0, 1.0, 0.0), pair(3.0)
    command = record(add, 4, [out, p, v, 0.0, False])
    v.y = 100.0
    p.factor = 50.0
    p.a[0] = 7.0  # arrays are shared
    for _ in range(2):
        command.launch()
        assert out.list() == [15.0, 7.0, 7.0, 7.0]


@wp.kernel
def put(a: wp.array(dtype=float), x: float):
    a[wp.tid()] = x


def test_arrays_are_kept_alive(path: str) -> None:
    a = wp.zeros(1 << 16)
    memory = weakref.ref(a.owner.buffer)
    command = record(put, 1 << 16, [a, 1.0])
    command.launch()
    del a
    gc.collect()
    assert memory() is not None
    command.launch()
    assert (memory().view(np.float32) == 1.0).all()
    command.set_param_at_index(0, wp.zeros(1 << 16))
    gc.collect()
    assert memory() is None
    command.launch()


def test_numpy_arrays_are_shared(path: str) -> None:
    data = np.zeros(3, np.float32)
    command = record(put, 3, [data, 1.0])
    del_me = data
    for x in (1.0, 2.0, 3.0):
        command.set_param_at_index(1, x)
        command.launch()
        assert data.tolist() == [x] * 3
    command.set_param_at_index(0, np.ones(3, np.float32))
    command.launch()
    assert del_me.tolist() == [3.0] * 3


REFUSED: dict[str, tuple[str, Any]] = {
    "index": ("H0715", lambda c: c.set_param_at_index(5, 1.0)),
    "negative index": ("H0715", lambda c: c.set_param_at_index(-1, 1.0)),
    "no index": ("H0715", lambda c: c.set_param_at_index("out", 1.0)),
    "a bool": ("H0715", lambda c: c.set_param_at_index(True, 1.0)),
    "name": ("H0715", lambda c: c.set_param_by_name("flags", 1.0)),
    "no name": ("H0715", lambda c: c.set_param_by_name(3, 1.0)),
    "type": ("H0702", lambda c: c.set_param_by_name("x", "1")),
    "bool": ("H0702", lambda c: c.set_param_by_name("x", True)),
    "dtype": ("H0702", lambda c: c.set_param_by_name("out", wp.zeros(4, dtype=int))),
    "rank": ("H0703", lambda c: c.set_param_by_name("out", wp.zeros((4, 4)))),
    "device": ("H0704", lambda c: c.set_param_by_name("out", wp.zeros(4, device="sim"))),
    "read-only": ("H0705", lambda c: c.set_param_by_name("out", frozen())),
    "struct": ("H0702", lambda c: c.set_param_by_name("pair", wp.vec3())),
    "count": ("H0701", lambda c: c.set_params([1.0])),
    "one of all": ("H0702", lambda c: c.set_params([wp.zeros(4), pair(1.0), wp.vec3(), "x", True])),
    "dims": ("H0706", lambda c: c.set_dim((2, 2))),
    "negative": ("H0706", lambda c: c.set_dim(-1)),
    "no dims": ("H0706", lambda c: c.set_dim("4")),
}


def frozen() -> np.ndarray[Any, Any]:
    data = np.zeros(4, np.float32)
    data.flags.writeable = False
    return data


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_changes_are_refused_and_change_nothing(path: str, what: str) -> None:
    out = wp.zeros(4)
    command = record(add, 4, [out, pair(3.0), wp.vec3(), 0.5, False])
    command.launch()
    code, change = REFUSED[what]
    with pytest.raises(wp.LaunchError) as refused:
        change(command)
    assert refused.value.codes == (code,)
    if code == "H0715":
        assert "0: out, 1: pair, 2: v, 3: x, 4: flag" in str(refused.value)
    hints = {
        "name": "did you mean 'flag'?",
        "no index": "write set_param_by_name('out', value)",
        "no name": "write set_param_at_index(3, value)",
    }
    assert hints.get(what, "") in str(refused.value)
    out.zero_()
    command.launch()
    assert out.list() == [6.5] * 4


def test_mistakes_show_when_recorded(path: str) -> None:
    with pytest.raises(wp.LaunchError, match="H0701"):
        record(put, 3, [wp.zeros(3)])
    with pytest.raises(wp.LaunchError, match="H0706"):
        record(put, (3, 3), [wp.zeros(3), 1.0])

    @wp.kernel
    def broken(a: wp.array(dtype=float)):
        a[0] = undefined_name  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(wp.CompileError, match="H0301"):
        record(broken, 3, [wp.zeros(3)])


@wp.kernel
def twice(a: wp.array(dtype=wp.Any), x: wp.Any):
    a[wp.tid()] = x + x


def test_types_of_generic_parameters_stay(path: str) -> None:
    a = wp.zeros(2, dtype=wp.float64)
    command = record(twice, 2, [a, np.float64(0.25)])
    command.launch()
    command.set_param_at_index(1, 3)  # fits a float64, whatever it would mean by itself
    for _ in range(2):
        command.launch()
        assert a.list() == [6.0] * 2
    with pytest.raises(wp.LaunchError, match="H0702"):
        command.set_param_at_index(0, wp.zeros(2))


def test_settings_count_from_the_next_launch_on(path: str) -> None:
    memory = wp.zeros(8)
    command = record(put, 4, [memory[:2], 1.0])
    for _ in range(3):
        with pytest.raises(wp.OutOfBoundsError):
            command.launch()
    put.options["safety"] = "unchecked"
    try:
        for _ in range(3):
            command.launch()
        assert memory.list() == [1.0] * 4 + [0.0] * 4
    finally:
        del put.options["safety"]
    for _ in range(3):
        with pytest.raises(wp.OutOfBoundsError):
            command.launch()


def test_the_simulator(path: str) -> None:
    a = wp.zeros(3, device="sim")
    command = record(put, 3, [a, 1.0], device="sim")
    for x in (1.0, 2.0, 3.0):
        command.set_param_by_name("x", x)
        command.launch()
        assert a.list() == [x] * 3
    with wp.ScopedDevice("sim"):
        cpu = record(put, 3, [wp.zeros(3, device="cpu"), 1.0], device="cpu")
    cpu.launch()
    assert not is_quick(command)


def test_a_printing_kernel(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    @wp.kernel
    def tell(x: float):
        print(x)  # noqa: T201

    command = record(tell, 2, [1.5])
    for _ in range(3):
        command.launch()
        assert capsys.readouterr().out == "1.5\n1.5\n"


def test_no_reference_is_lost_or_kept(path: str) -> None:
    a = wp.zeros(3)
    command = record(put, 3, [a, 1.0])
    for _ in range(3):
        command.launch()
    gc.collect()
    watched = [a, a.owner, put, command]
    before, blocks = [sys.getrefcount(o) for o in watched], sys.getallocatedblocks()
    for _ in range(10_000 if path == "entry" else 300):
        command.launch()
    gc.collect()
    assert [sys.getrefcount(o) for o in watched] == before
    assert abs(sys.getallocatedblocks() - blocks) < 200
