"""``heald builtins``: what it shows of the table."""

from typer.testing import CliRunner

from heald.cli.app import app
from heald.library.registry import Ulp, load_topics

runner = CliRunner()


def shown(*arguments: str) -> str:
    result = runner.invoke(app, ["builtins", *arguments])
    assert result.exit_code == 0
    return result.stdout


def test_every_builtin_is_listed_in_its_group() -> None:
    text = shown()
    for name, builtin in load_topics().items():
        group = f"\n{builtin.group}\n"
        assert (f"\n  {name} " in text) == (builtin.group != "Protocols")
        if builtin.group != "Protocols":
            assert group in f"\n{text}"
            section = f"\n{text}".partition(group)[2].partition("\n\n")[0]
            assert f"\n  {name} " in f"\n{section}"


def test_a_name_shows_signatures_accuracy_group_and_text() -> None:
    text = shown("erf")
    for record, t in zip(load_topics()["erf"].records, ("float32", "float64"), strict=False):
        assert isinstance(record.accuracy, Ulp)
        assert f"wp.erf(x: {t}) -> {t}    [{record.accuracy.units:g} ulp]" in text
    assert "erfc" not in text, "an exact name stands for itself alone"
    assert "Group: Scalar math" in text
    assert "±1 at the infinities" in text
    assert ">>> wp.erf(0.0)" in text


def test_a_part_of_a_name_or_of_the_text_finds_all() -> None:
    names = shown("quat_twist_")
    assert "wp.quat_twist_angle(" in names
    assert "wp.quat_twist_angle_signed(" in names
    assert "wp.poisson(" in shown("variance")


def test_defaults_and_patterns_are_written_as_users_do() -> None:
    text = shown("norm_huber")
    floats = "float32 or float64"
    expected = f"v: vector(length=N, dtype={floats}), delta: {floats} = 1.0) -> {floats}"
    assert expected in text


def test_what_is_not_there_is_an_error_with_a_hint() -> None:
    result = runner.invoke(app, ["builtins", "quat_slrp"])
    assert result.exit_code == 2
    assert "no builtin has 'quat_slrp' in its name or text; did you mean quat_slerp" in (
        result.stderr
    )


def test_intrinsics_are_found_and_prefix_and_case_do_not_matter() -> None:
    assert "wp.atomic_add(array, *indices_and_value)" in shown("wp.atomic_add")
    assert "wp.quat_rotate(" in shown("QUAT_rotate")
    section = shown().partition("\nIn kernels\n")[2].partition("\n\n")[0]
    for name in ("atomic_add", "block_sync", "reduce_sum", "tid"):
        assert f"\n  {name} " in f"\n{section}"
    assert "wp.reduce_sum(x: Scalar, scope: Any = 'block')\n" in shown("reduce_sum")


def test_what_arguments_must_be_is_shown() -> None:
    assert "[8 roundings of the largest term where quat of length one]" in shown("quat_rotate")
    assert "not 0" in shown("floordiv")


def test_a_summary_does_not_end_inside_parentheses() -> None:
    line = next(line for line in shown().splitlines() if line.startswith("  where "))
    assert line.endswith("is true (an integer: not zero), else `value_if_false`")


def test_several_words() -> None:
    both = shown("sin", "wp.cos")
    assert both == shown("sin cos")
    assert "wp.sin(x: float32)" in both
    assert "wp.cos(x: float32)" in both
    assert "wp.sinh(" not in both
    assert "wp.closest_point_edge_edge(" in shown("edge", "closest")
    found = shown("parallel", "edges")
    assert "wp.closest_point_edge_edge(" in found
    assert "wp.sin(" not in found
    result = runner.invoke(app, ["builtins", "sine", "tomato"])
    assert result.exit_code == 2
    assert "no builtin has 'sine tomato' in its name or text" in result.stderr
