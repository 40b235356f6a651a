"""The project's own promises: commands that work as written, names, versions, clean files."""

import importlib.metadata
import importlib.resources
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import heald

ROOT = Path(__file__).resolve().parents[2]
DEMO = "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/heald demo sph"
TEST = (
    "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/python -m pytest -n auto"
)

# Written in pieces, or this file would be the first to be found.
FORBIDDEN = {
    "a folder of one machine": re.compile(
        r"(?<![\w.)\]}*~-])/(?:work|root|opt/pypi[\w-]*|opt/wheels|tmp/venv)(?![\w.-])"
    ),
    "a folder outside the repository": re.compile(r"\.\./" + r"shared(?!\w)"),
    "a package registry": re.compile(
        r"pypi" + r"\.org|python" + r"hosted\.|(?:extra-)?index-" + r"url|find-" + r"links"
    ),
}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def ci_steps() -> dict[str, list[str]]:
    """The commands of ``.ci/run`` by step name, programs of its environment by bare name."""
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    steps = [shlex.split(line)[1:] for line in lines if line.startswith("step ")]
    return {name: [word.removeprefix("$bin/") for word in words] for name, *words in steps}


def committed_files() -> list[Path]:
    """What git tracks; in an unpacked source archive, everything but hidden folders' contents."""
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=False)
    if git.returncode == 0:
        files = [ROOT / os.fsdecode(name) for name in git.stdout.split(b"\0") if name]
        return [file for file in files if file.is_file()]
    own = {".ci", "changelog.d", "docs", "src", "tests", "tools"}
    return [
        file
        for top in ROOT.iterdir()
        if top.is_file() or top.name in own
        for file in ([top] if top.is_file() else top.rglob("*"))
        if file.is_file() and file.suffix != ".pyc"
    ]


def test_readme_shows_the_two_commands() -> None:
    assert readme_commands() == [DEMO, TEST]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    steps = ci_steps()
    environment, install, tests = (
        [word.removeprefix(".venv/bin/") for word in shlex.split(part)]
        for part in TEST.split(" && ")
    )
    assert steps["virtual environment"][1:-1] == environment[1:-1] == ["-m", "venv"]
    assert [word for word in steps["install"] if not word.startswith("--")] == [
        *install[:-1],
        install[-1].replace("[test]", "[test,lint,docs]"),
    ]
    assert steps["pytest"] == tests


def test_ci_checks_everything() -> None:
    assert list(ci_steps()) == [
        "virtual environment",
        "install",
        "ruff check",
        "ruff format",
        "codespell",
        "mypy",
        "lint-imports",
        "docs",
        "pytest",
    ]
    assert os.access(ROOT / ".ci/run", os.X_OK)
    subprocess.run(["bash", "-n", ROOT / ".ci/run"], check=True)


def test_version_is_one() -> None:
    assert heald.__version__ == project()["project"]["version"]
    assert importlib.metadata.version("heald") == heald.__version__


def test_package_says_that_it_is_typed() -> None:
    assert importlib.resources.files("heald").joinpath("py.typed").is_file()


def test_heald_is_checked_in_every_test() -> None:
    assert os.environ["HEALD_CHECK"] == "1"
    assert heald.config.check
    assert heald.config.kernel_cache_dir == os.environ["HEALD_CACHE_DIR"]
    assert not Path(os.environ["HEALD_CACHE_DIR"]).is_relative_to(Path.home() / ".cache")


INNER = """
import os
import hypothesis
import pytest

def test_golden(golden):
    golden("text.txt", os.environ["TEXT"])

def test_profile():
    settings = hypothesis.settings.default
    assert f"{settings.max_examples} {settings.derandomize}" == os.environ["PROFILE"]

@pytest.mark.gpu
def test_device():
    pass
"""


def test_conftest_keeps_golden_files_profiles_and_markers(tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text(
        f"[pytest]\npythonpath = {ROOT / 'tests'}\nmarkers =\n    gpu: as in pyproject.toml\n"
    )
    (tmp_path / "test_inner.py").write_text(INNER)
    expected = tmp_path / "expected/text.txt"
    basis = {k: v for k, v in os.environ.items() if k not in ("CI", "HEALD_HYPOTHESIS_PROFILE")}

    def run(text: str, *args: str, profile: str = "50 False", **environment: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *args]
        env = {**basis, "TEXT": text, "PROFILE": profile, **environment}
        ran = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        return ran.stdout

    assert "does not exist; `pytest --bless` writes it" in run("one\ntwo")
    assert "failed" not in run("one\ntwo", "--bless", profile="200 True", CI="true")
    assert expected.read_text() == "one\ntwo\n"
    shown = run("one\n2\n", profile="20000 False", CI="true", HEALD_HYPOTHESIS_PROFILE="nightly")
    assert "\n-two\n+2\n" in shown
    assert "1 failed" in shown
    assert "would hold a path" in run(f"file {tmp_path}/x", "--bless")
    assert expected.read_text() == "one\ntwo\n"
    assert ("no CUDA device" in shown) != ("2 passed" in shown)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_committed_file_names(what: str) -> None:
    found = []
    for path in committed_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        for number, line in enumerate(text.splitlines(), 1):
            if FORBIDDEN[what].search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("cd /{}/main", "a folder of one machine"),
        ("see `/{}`", "a folder of one machine"),
        ("see ../{}/x.md", "a folder outside the repository"),
    ],
)
def test_forbidden_names_are_recognised(line: str, what: str) -> None:
    names = {"a folder of one machine": "work", "a folder outside the repository": "shared"}
    assert FORBIDDEN[what].search(line.format(names[what]))
    assert not FORBIDDEN[what].search("frame/work, ../shared_memory.md, src/work/x.py, /workers")


def test_every_changelog_fragment_is_well_named() -> None:
    tool = project()["tool"]["towncrier"]
    kinds = "|".join(kind["directory"] for kind in tool["type"])
    assert kinds == "added|changed|fixed|removed"
    name = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({kinds})\.md")
    for path in (ROOT / tool["directory"]).iterdir():
        if path.name in tool["ignore"]:
            continue
        assert name.fullmatch(path.name), f"{path.name}: see changelog.d/README.md"
        text = path.read_text(encoding="utf-8")
        assert text.rstrip("\n").endswith("."), f"{path.name} is not made of whole sentences"


@pytest.mark.parametrize(
    ("contract", "sources", "forbidden"),
    [
        (
            "the runtime knows artifacts, not the compiler",
            {"runtime"},
            {"ir", "ops", "passes"},
        ),
        (
            "libraries use the public surface",
            {"geometry", "optim"},
            {"codegen", "driver", "frontend", "ir", "ops", "passes", "runtime"},
        ),
    ],
)
def test_import_contracts_grow_with_the_tree(
    contract: str, sources: set[str], forbidden: set[str]
) -> None:
    """import-linter accepts only modules that exist, so each new package is added by hand."""
    contracts = {c["name"]: c for c in project()["tool"]["importlinter"]["contracts"]}
    here = {path.parent.name for path in (ROOT / "src/heald").glob("*/__init__.py")}
    wanted = [{f"heald.{name}" for name in names & here} for names in (sources, forbidden)]
    if not all(wanted):
        wanted = [set(), set()]  # no such contract yet
    listed = contracts.get(contract, {"source_modules": [], "forbidden_modules": []})
    found = [set(listed["source_modules"]), set(listed["forbidden_modules"])]
    assert found == wanted, f"in pyproject.toml, let the contract {contract!r} list {wanted}"


def test_readme_lists_the_packages_that_there_are() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| (.*?) \|", text, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    source = ROOT / "src" / "heald"
    there = {p.name for p in source.iterdir() if (p / "__init__.py").is_file()}
    assert named == there | {p.stem for p in source.glob("*.py")}


def test_files_that_the_design_names_exist() -> None:
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|docs|tools|benchmarks|changelog\.d)/[\w./-]*)`", text)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
