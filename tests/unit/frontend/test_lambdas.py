"""Lambdas are found in their files, whatever stands around them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heald as wp
from heald.diagnostics import CompileError
from heald.driver.cache_captures import describe_overloads
from heald.frontend.sources import read_source

TEXT = """
K = 3
def make(k):
    return [lambda x: x + 1, lambda x: (x * 2), lambda: 1.0, lambda x, y=2: x if y else -x,
            lambda x: lambda y: x + y, lambda x: k, lambda é, x: é + x, lambda x: K, lambda x: None,
            lambda x: (lambda z: z * z)(x), lambda x: x, lambda: 1, lambda: True, lambda: -0.0,
            lambda x: x and k or 3, lambda *, x: (x,
                # in the middle
                k), lambda x: (x
                               + x), lambda x=lambda: 3: x, lambda x, /: [x], lambda: 1+2]
"""


def load(tmp_path: Path, text: str, name: str = "made") -> dict:
    path = tmp_path / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    names: dict = {"__name__": name}
    exec(compile(text, str(path), "exec"), names)
    return names


def test_each_lambda_of_a_line_is_found(tmp_path: Path) -> None:
    nodes = ast.parse(TEXT).body[1].body[0].value.elts  # type: ignore[attr-defined]
    made = load(tmp_path, TEXT)["make"](2)
    assert len(made) == len(nodes)
    for function, node in zip(made, nodes, strict=True):
        source = read_source(function)
        (result,) = source.tree.body
        assert ast.dump(result.value) == ast.dump(node.body)  # type: ignore[attr-defined]
        assert ast.dump(source.tree.args) == ast.dump(node.args)
        assert (source.tree.lineno, source.tree.col_offset) == (node.lineno, node.col_offset)
        assert result.lineno == node.body.lineno
        span = source.name_span(None)
        line = TEXT.splitlines()[span.line - 1]
        assert line[span.col : span.end_col] == "lambda"


def test_a_lambda_in_a_lambda(tmp_path: Path) -> None:
    inner = load(tmp_path, TEXT)["make"](2)[4](5)
    assert ast.unparse(read_source(inner).tree.body[0]) == "return x + y"
    assert read_source(inner).lookup("x") == (5,)


def test_lambdas_of_one_line_have_descriptions_of_their_own(tmp_path: Path) -> None:
    made = load(tmp_path, "pair = [lambda x: x + 1, lambda x: x + 2, lambda x: x + 1]\n")["pair"]
    described = [repr(describe_overloads("f", [f])) for f in made]
    assert "None" not in described
    assert len(set(described)) == 3


def test_a_file_that_changed_is_noticed(tmp_path: Path) -> None:
    for k, (old, new) in enumerate(
        [
            ("lambda x: x + 1", "lambda x: x + 2"),
            ("lambda x: x + 1", "lambda x: y + 1"),
            ("lambda x: x + 1", "lambda y: x + 1"),
            ("lambda x: x + 1", "pow"),
            ("lambda x: x + 1", "lambda x: (x + 1"),
        ]
    ):
        made = load(tmp_path, f"f = {old}\n", f"changed{k}")["f"]
        (tmp_path / f"changed{k}.py").write_text(f"f = {new}\n")
        with pytest.raises(CompileError, match=r"has changed since|no longer parses"):
            read_source(made)


def test_lambdas_are_functions_of_kernels() -> None:
    double, plus = wp.func(lambda x: 2.0 * x), wp.func(lambda x, y: x + y)
    assert double is not plus
    assert double(4.0) == 8.0
    assert plus(1.0, 2.0) == 3.0

    @wp.kernel
    def k(a: wp.array(dtype=float)):
        i = wp.tid()
        a[i] = plus(double(a[i]), 1.0)

    a = wp.array([1.0, 2.0])
    wp.launch(k, dim=2, inputs=[a])
    assert a.list() == [3, 5]


def test_without_columns_the_error_says_so(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text(
        "import heald as wp\n"
        "try:\n"
        "    wp.map(lambda x: x + 1.0, wp.zeros(3))\n"
        "except wp.CompileError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "H0106" in done.stdout
    assert "no_debug_ranges" in done.stdout
