"""Errors leave Heald at the user's own line."""

import traceback

import pytest

import heald as wp


@wp.kernel
def broken(a: wp.array(dtype=float)):
    a[0] = missing  # noqa: F821


@wp.kernel
def faulty(a: wp.array(dtype=float)):
    a[a.shape[0]] = 1.0


@wp.func
def fails(x: int) -> int:
    return x // 0


def frames_inside(error):
    """Frames of Heald's own files below the one that the user called."""
    names = [f.filename for f in traceback.extract_tb(error.__traceback__)]
    return sum("src/heald" in n or "site-packages/heald" in n for n in names)


CALLS = {
    "compile error": lambda: wp.launch(broken, dim=1, inputs=[wp.zeros(1)]),
    "wrong argument": lambda: wp.launch(faulty, dim=1, inputs=[3]),
    "fault": lambda: wp.launch(faulty, dim=1, inputs=[wp.zeros(1)]),
    "fault in sim": lambda: wp.launch(
        faulty, dim=1, inputs=[wp.zeros(1, device="sim")], device="sim"
    ),
    "recorded": lambda: wp.launch(faulty, dim=1, inputs=[wp.zeros(1)], record_cmd=True).launch(),
    "prepare": broken.prepare,
    "host call": lambda: fails(3),
    "load": lambda: wp.load_module(__name__),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_inside_of_heald_is_cut(name, monkeypatch):
    with pytest.raises(wp.HealdError) as short:
        CALLS[name]()
    assert frames_inside(short.value) == 1
    assert short.value.__cause__ is None
    monkeypatch.setattr(wp.config, "traceback", "full")
    with pytest.raises(wp.HealdError) as full:
        CALLS[name]()
    assert frames_inside(full.value) > 1
    assert str(full.value) == str(short.value)


def test_after_prepare_the_first_launch_is_the_quick_one():
    @wp.kernel
    def ready(a: wp.array(dtype=float)):
        a[wp.tid()] = 2.0

    ready.prepare()
    program = ready.program(ready.concrete_types())
    a = wp.zeros(3)
    wp.launch(ready, dim=3, inputs=[a])
    assert a.list() == [2.0, 2.0, 2.0]
    assert program.launches == 0, "the launch took the careful path"


def test_the_calling_module_is_the_users():
    wp.set_module_options({"strict_fp": True})
    try:
        assert wp.get_module(__name__).options["strict_fp"] is True
        assert wp.get_module_options()["strict_fp"] is True
        with pytest.raises(wp.CompileError, match="missing"):
            wp.load_module()
    finally:
        wp.get_module(__name__).options.clear()
