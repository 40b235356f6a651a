"""Mistakes of the front end that were found once, each by its smallest kernel."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest
from meaning.language import lower_text

from heald.artifact import FaultKind
from heald.diagnostics import CompileError
from heald.interp import ArrayView, Outcome, run
from heald.types import Array


def launch(source: str, *arguments: Any, threads: int = 1) -> Outcome:
    """Lower kernel ``k`` and run it; numpy arrays are updated in place."""
    kernel = lower_text(textwrap.dedent(source), "regression")
    given = []
    for parameter, argument in zip(kernel.params, arguments, strict=True):
        t = parameter.type
        given.append(ArrayView.from_numpy(argument, t.dtype) if isinstance(t, Array) else argument)
    return run(kernel, (threads,), given)


def refusal(source: str) -> str:
    """The message with which kernel ``k`` is refused."""
    with pytest.raises(CompileError) as caught:
        lower_text(textwrap.dedent(source), "regression")
    return str(caught.value)


def test_a_tuple_is_not_carried_into_a_loop_unchanged() -> None:
    """The second iteration read the tuple of the first."""
    text = refusal(
        """
        @wp.func
        def f(x: float):
            return x, x + 1.0

        def k(a: wp.array(float), n: int):
            t = f(a[0])
            for j in range(n):
                u, v = t
                t = f(v)
                a[j] = u
        """
    )
    assert "'t' changes in this loop" in text


def test_a_view_is_not_carried_into_a_loop_unchanged() -> None:
    text = refusal(
        """
        def k(a: wp.array(float, ndim=2), b: wp.array(float), n: int):
            v = a[0]
            for j in range(n):
                b[j] = v[1]
                v = a[j]
        """
    )
    assert "'v' changes in this loop" in text


def test_a_view_that_changes_in_a_loop_is_unknown_behind_it() -> None:
    text = refusal(
        """
        def k(a: wp.array(float, ndim=2), b: wp.array(float), n: int):
            v = a[0]
            for j in range(n):
                v = a[j]
                b[j] = v[1]
            b[0] = v[2]
        """
    )
    assert "b[0] = v[2]" in text


def test_a_view_made_anew_in_each_iteration_is_fine() -> None:
    a = np.arange(6, dtype=np.float32).reshape(3, 2)
    b = np.zeros(3, np.float32)
    launch(
        """
        def k(a: wp.array(float, ndim=2), b: wp.array(float), n: int):
            v = a[0]
            for j in range(n):
                v = a[j]
                v[0] = v[0] + 1.0
                b[j] = v[1]
        """,
        a,
        b,
        3,
    )
    assert b.tolist() == [1.0, 3.0, 5.0]
    assert a[:, 0].tolist() == [1.0, 3.0, 5.0]


def test_a_struct_with_an_array_cannot_change_in_a_loop() -> None:
    text = refusal(
        """
        @wp.struct
        class S:
            n: int
            a: wp.array(float)

        def k(s: S, m: int):
            for j in range(m):
                s.n = s.n + 1
                s.a[j] = float(s.n)
        """
    )
    assert "'s' changes in this loop" in text


def test_storing_into_the_array_of_a_struct_rebinds_nothing() -> None:
    a = np.zeros(3, np.float32)
    view = ArrayView.from_numpy(a)
    launch(
        """
        @wp.struct
        class S:
            n: int
            a: wp.array(float)

        def k(s: S, m: int):
            for j in range(m):
                s.a[j] = float(s.n + j)
            s.a[0] = 9.0
        """,
        (5, view),
        3,
    )
    assert a.tolist() == [9.0, 6.0, 7.0]


def test_a_compile_time_object_is_not_carried_into_a_loop_unchanged() -> None:
    text = refusal(
        """
        def k(b: wp.array(int)):
            T = wp.int32
            for j in range(3):
                b[j] = int(T(j))
                T = wp.int64
        """
    )
    assert "'T' changes in this loop" in text


def test_a_number_known_at_compile_time_is_carried() -> None:
    b = np.zeros(2, np.int32)
    launch(
        """
        def k(b: wp.array(int), n: int):
            for i in wp.static(range(2)):
                for j in range(n):
                    i = i + 10
                b[i % 10] = i
        """,
        b,
        3,
    )
    assert b.tolist() == [30, 31]


def test_a_loop_condition_advances_a_random_state() -> None:
    """The state that the condition advanced was forgotten: an endless loop."""
    b = np.zeros(2, np.float32)
    launch(
        """
        def k(b: wp.array(float)):
            s = wp.rand_init(5)
            n = 0
            while wp.randf(s) < 0.9:
                n += 1
            b[0] = float(n)
            b[1] = wp.randf(s)
            s = wp.rand_init(5)
            for j in range(n + 1):
                wp.randf(s)
            b[1] -= wp.randf(s)
        """,
        b,
    )
    assert b[0] > 0
    assert b[1] == 0


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize(
    "line",
    [
        "x = wp.randf(s) if n > 3 else 0.5",
        "x = 0.5 if n > 3 and wp.randf(s) < 2.0 else 0.25",
        "x = 0.5 if n < 4 or wp.randf(s) < 2.0 else 0.25",
        "x = 0.5 if 3 < n < wp.randi(s, 10, 20) else 0.25",
    ],
)
def test_a_random_state_advances_on_the_side_that_runs(line: str, n: int) -> None:
    """A value defined on one side was used behind both."""
    b = np.zeros(2, np.float32)
    launch(
        f"""
        def k(b: wp.array(float), n: int):
            s = wp.rand_init(3)
            {line}
            b[0] = wp.randf(s)
            t = wp.rand_init(3)
            if n > 3:
                wp.randf(t)
            b[1] = wp.randf(t)
        """,
        b,
        n,
    )
    assert b[0] == b[1] > 0


def test_an_index_of_a_vector_is_evaluated_once() -> None:
    b = np.zeros(3, np.float32)
    launch(
        """
        def k(b: wp.array(float)):
            s = wp.rand_init(3)
            v = wp.vec3(1.0, 2.0, 3.0)
            b[0] = v[wp.randi(s, 0, 3)]
            v[wp.randi(s, 0, 3)] = 7.0
            t = wp.rand_init(3)
            w = wp.vec3(1.0, 2.0, 3.0)
            i = wp.randi(t, 0, 3)
            b[0] -= w[i]
            i = wp.randi(t, 0, 3)
            w[i] = 7.0
            b[1] = float(v == w)
            b[2] = float(s == t)
        """,
        b,
    )
    assert b.tolist() == [0.0, 1.0, 1.0]


def test_an_assigned_name_is_local_everywhere() -> None:
    """The captured value was read in the first iteration, and in all that followed."""
    text = refusal(
        """
        N = 5

        def k(b: wp.array(int)):
            for j in range(3):
                b[j] = N
                N = j
        """
    )
    assert "'N' is read before it is set" in text


def test_a_power_of_a_bool_is_refused() -> None:
    """It was an internal error."""
    assert "** does not work on bool" in refusal(
        """
        def k(b: wp.array(int)):
            c = wp.tid() > 3
            b[0] = int(c ** 2)
        """
    )


def test_and_of_numbers_gives_no_bool() -> None:
    """Python gives one of the operands; a bool in its place is another number."""
    assert "'and' and 'or' give one of their operands" in refusal(
        """
        def k(b: wp.array(int), n: int):
            b[0] = n and 5
        """
    )


def test_and_of_numbers_is_a_condition() -> None:
    b = np.zeros(1, np.int32)
    launch(
        """
        def k(b: wp.array(int), n: int):
            flag = n > 1 and n < 7
            if n and not (n - 5 or n - 6) or flag:
                b[0] = 1
        """,
        b,
        5,
    )
    assert b.tolist() == [1]


SLICES = [
    "3:-10:-1",
    "-10::-1",
    ":-10:-1",
    "-10:3",
    "-2:-9",
    "7:2:-1",
    "2:9",
    "::-2",
    "7:",
    ":7:-1",
]


@pytest.mark.parametrize("text", SLICES)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_literal_slices_are_those_of_python(text: str, count: int) -> None:
    """Literal bounds far below the start were cut off at 0, also where the step is negative."""
    a = np.arange(count, dtype=np.float32) + 1
    b = np.zeros(7, np.float32)
    outcome = launch(
        f"""
        def k(a: wp.array(float), b: wp.array(float)):
            v = a[{text}]
            b[0] = float(v.shape[0])
            for i in range(v.shape[0]):
                b[i + 1] = v[i]
        """,
        a,
        b,
    )
    expected = eval(f"a[{text}]", {"a": a})
    assert outcome.faults == ()
    assert b[0] == len(expected)
    assert b[1 : len(expected) + 1].tolist() == expected.tolist()


@pytest.mark.parametrize("text", ["n:", ":n", "n::-1", ":n:-1"])
def test_a_negative_runtime_bound_of_a_slice_is_out_of_bounds(text: str) -> None:
    """It counted as 0, or as -1 of a falling slice; in Python it counts from the end."""
    outcome = launch(
        f"""
        def k(a: wp.array(float), b: wp.array(float), n: int):
            b[0] = float(a[{text}].shape[0])
        """,
        np.ones(5, np.float32),
        np.ones(1, np.float32),
        -1,
    )
    assert [f.kind for f in outcome.faults] == [FaultKind.BOUNDS]


@pytest.mark.parametrize("n", [1, 5])
def test_a_name_set_beside_an_arm_that_leaves_is_seen_behind_the_branch(n: int) -> None:
    """A value that was defined inside the arm was used behind it."""
    b = np.zeros(3, np.float32)
    launch(
        """
        def k(b: wp.array(float), n: int):
            x = 1.0
            for j in range(2):
                if n > 3:
                    b[1] = x
                    continue
                else:
                    x = x + 0.5
                b[0] = x
            if n < 3:
                y = x
                v = b[1:]
            else:
                return
            v[1] = y
        """,
        b,
        n,
    )
    assert b.tolist() == ([2.0, 0.0, 2.0] if n == 1 else [0.0, 1.0, 0.0])


def test_inverting_a_literal_bool_is_inverting_a_bool() -> None:
    """``~True`` was -2, which is true; ``~flag`` is its negation."""
    b = np.zeros(2, np.int32)
    launch(
        """
        def k(b: wp.array(int), flag: bool):
            if ~(True and flag):
                b[0] = 1
            if ~True:
                b[1] = 1
        """,
        b,
        True,
    )
    assert b.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("start", "update", "code"),
    [
        ("0.0", "x + nowhere", "H0301"),
        ("1", "x / 2", "H0108"),
        ("1.0", "wp.sin(x, 2.0)", "H0203"),
        ("1.0", "x + wp.vec3()", "H0201"),
        ("False", "x + (n > 0)", "H0201"),
    ],
)
@pytest.mark.parametrize(
    "loop",
    [
        "for i in range(n):",
        "while n > i:",
        "for i in wp.static(range(3)):",
        "for j in range(n):\n                for i in range(n):",
    ],
)
def test_a_mistake_in_what_a_loop_carries_is_reported(
    loop: str, start: str, update: str, code: str
) -> None:
    """The loop was lowered again without the name, and its mistake and all its readers were left
    out."""
    text = refusal(
        f"""
        def k(a: wp.array(float), n: int):
            i = 0
            x = {start}
            {loop}
                    x = {update}
            a[0] = float(x)
        """
    )
    assert f"error[{code}]" in text
    assert f"x = {update}" in text


def test_a_mistake_before_continue_is_reported() -> None:
    text = refusal(
        """
        def k(a: wp.array(float), n: int):
            x = 0.0
            for i in range(n):
                if i == 1:
                    x = x + nowhere
                    continue
                x = x + 1.0
            a[0] = x
        """
    )
    assert "error[H0301]" in text


@pytest.mark.parametrize("returns", ["return y", "return y, y"])
def test_a_wider_type_mends_what_a_loop_carries(returns: str) -> None:
    """``x / 2`` is a mistake of int32, and none once ``x`` is found to be a float32: the name that
    it sets is carried all the same, and the call of the function stays."""
    kernel = """
        @wp.func
        def f(n: int):
            x = 0
            y = 1.0
            for i in range(n):
                y = y + x / 2
                x = x + 0.5
            if n > 100:
                RETURNS
            RETURNS

        def k(a: wp.array(float), n: int):
            a[0] = FIRST
        """
    first = "f(n)" if returns == "return y" else "f(n)[0]"
    a = np.zeros(1, dtype=np.float32)
    launch(kernel.replace("RETURNS", returns).replace("FIRST", first), a, 3)
    assert a.tolist() == [1.75]


@pytest.mark.parametrize("update", ["x = 1.0", "x = x + 1.0", "y = x"])
def test_a_mistake_before_a_loop_is_reported_alone(update: str) -> None:
    text = refusal(
        f"""
        def k(a: wp.array(float), n: int):
            x = nowhere
            for i in range(n):
                {update}
            a[0] = x
        """
    )
    assert text.count("error[") == 1
    assert "error[H0301]" in text


def test_many_statements_may_wait_for_a_wider_type() -> None:
    """Ten mistakes of int32 ended the lowering before the loop found out that it carries floats."""
    rows = "\n".join(f"                a[{j}] = x / {j + 1}" for j in range(15))
    kernel = f"""
        def k(a: wp.array(float), n: int):
            x = 0
            for i in range(n):
                x = x + 0.5
{rows}
                x = x + 0.5
        """
    a = np.zeros(15, dtype=np.float32)
    launch(kernel, a, 2)
    assert np.array_equal(a, np.float32(1.5) / np.arange(1, 16, dtype=np.float32))


def test_ten_mistakes_of_a_loop_are_told() -> None:
    rows = "\n".join(f"                a[{j}] = nowhere{j}" for j in range(300))
    text = refusal(f"""
        def k(a: wp.array(float), n: int):
            for i in range(n):
{rows}
        """)
    assert text.count("error[H0301]") == 10
    assert "nowhere9" in text
    assert "nowhere10" not in text


def test_a_range_of_more_numbers_than_a_signed_integer_counts() -> None:
    """`len` of such a range raises."""
    a = np.zeros(2, dtype=np.int64)
    launch(
        """
        def k(a: wp.array(wp.int64)):
            for i in range(wp.int64(-5000000000000000000), wp.int64(5000000000000000000)):
                a[1] = i
                a[0] += wp.int64(1)
                if a[0] == wp.int64(3):
                    break
        """,
        a,
    )
    assert a.tolist() == [3, -5000000000000000000 + 2]
