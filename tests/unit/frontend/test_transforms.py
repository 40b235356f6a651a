"""The ways of making a transform: a kernel takes what the host takes."""

import linecache

import numpy as np
import pytest

import heald as wp


@wp.kernel
def make(out: wp.array(dtype=wp.transform), wide: wp.array(dtype=wp.transformd)):
    p = wp.vec3(1.0, 2.0, 3.0)
    q = wp.quat(4.0, 5.0, 6.0, 7.0)
    out[0] = wp.transform(p, q)
    out[1] = wp.transform(p=p, q=q)
    out[2] = wp.transform(p, q=q)
    out[3] = wp.transform(q=q)
    out[4] = wp.transform(p)
    out[5] = wp.transform(p=p)
    out[6] = wp.transform(2.0)
    out[7] = wp.transform()
    wide[0] = wp.transformd(q=q, p=p)


P, Q = (1, 2, 3), (4, 5, 6, 7)
HOST = [
    wp.transform(P, Q),
    wp.transform(p=P, q=Q),
    wp.transform(P, q=Q),
    wp.transform(q=Q),
    wp.transform(wp.vec3(P)),
    wp.transform(p=P),
    wp.transform(2.0),
    wp.transform(),
]


@pytest.mark.cpu
@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_kernels_make_them_as_the_host_does(device: str) -> None:
    out = wp.zeros(len(HOST), dtype=wp.transform, device=device)
    wide = wp.zeros(1, dtype=wp.transformd, device=device)
    wp.launch(make, dim=1, inputs=[out, wide], device=device)
    assert out.numpy().tolist() == [list(t) for t in HOST]
    assert np.array_equal(wide.numpy()[0], [*P, *Q])


def refused(expression: str) -> tuple[str, ...]:
    names = {"wp": wp, "__name__": "case"}
    text = (
        "@wp.kernel\ndef k(out: wp.array(dtype=wp.transform)):\n"
        "    p = wp.vec3(1.0, 2.0, 3.0)\n    q = wp.quat(4.0, 5.0, 6.0, 7.0)\n"
        f"    out[0] = {expression}\n"
    )
    linecache.cache["case.py"] = (len(text), None, text.splitlines(keepends=True), "case.py")
    exec(compile(text, "case.py", "exec"), names)
    with pytest.raises(wp.CompileError) as error:
        wp.launch(names["k"], dim=1, inputs=[wp.zeros(1, dtype=wp.transform)])
    return error.value.codes


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("wp.transform(p=1.0)", "H0206"),
        ("wp.transform(q=p)", "H0206"),
        ("wp.transform(p=q)", "H0206"),
        ("wp.transform(p=wp.vec2(1.0, 2.0))", "H0206"),
        ("wp.transform(p, p=p)", "H0305"),
        ("wp.transform(r=p)", "H0305"),
        ("wp.transform(p, p)", "H0206"),
        ("wp.transform(q)", "H0206"),
        ("wp.transform(1.0, 2.0)", "H0206"),
    ],
)
def test_other_parts_are_refused(expression: str, code: str) -> None:
    assert refused(expression) == (code,)
