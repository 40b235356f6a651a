"""Calls every builtin that NVIDIA Warp has too on random arguments, and writes what differs.

    PYTHONPATH=tests python -m library.warp.differences ENV/bin/python   # measure, then write
    PYTHONPATH=tests python -m library.warp.differences                  # write what was measured

``ENV`` is an environment with ``warp-lang``; Heald needs not be in it.  What was found goes to
``expected/differences.json`` and, with the reasons of ``reasons.py``, to ``docs/differences.md``.
A difference without a reason is an error, and so is a reason without a difference.
"""

import json
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from library.instances import Instance, instances, signature
from library.samples import arguments
from library.warp import reasons

import heald as wp
from heald.library.registry import load_topics
from heald.types import Matrix, Quaternion, Scalar, Transform, Type, TypeClass, Vector, f32, i32

HERE = Path(__file__).parent
MEASURED = HERE / "expected" / "differences.json"
PAGE = HERE.parents[2] / "docs" / "differences.md"
COUNT = 300
ROUNDINGS = 2e-6
"""Of the largest component: what two right float32 computations may be apart."""
ONE_OF_EACH = {"N": (3,), "R": (3,), "C": (3,), "K": (3,)}
ELSEWHERE = frozenset({"Operators", "Random", "Protocols", "Precise math"})
"""Groups without counterparts, or whose builtins change a state: ``test_warp.py`` runs those."""
FREE = {"svd2": 4, "svd3": 9, "eig3": 9}
"""Decompositions, whose vectors have free signs and orders: from where the values begin."""

Row = Sequence[Sequence[float]]


def compared() -> Iterator[Instance]:
    """One instance of each overload, of float32 or int32 only."""
    for instance in instances(ONE_OF_EACH):
        parts = {_component(t) for t in instance.types}
        fits = bool(parts) and (parts <= {f32} or parts <= {i32})
        if fits and instance.builtin.group not in ELSEWHERE:
            yield instance


def _component(t: Type) -> Type:
    return t if isinstance(t, Scalar) else t.dtype  # type: ignore[union-attr,return-value]


def rows_for(instance: Instance) -> list[list[list[float]]]:
    """Arguments, each as its components."""
    rng = np.random.default_rng(zlib.crc32(str(instance).encode()))
    columns = arguments(instance.overload, instance.types, COUNT, rng)
    if instance.builtin.name == "eig3":
        columns = [(c + c.swapaxes(1, 2)) / 2 for c in columns]
    with np.errstate(invalid="ignore"):  # NaNs that signal
        wide = [np.asarray(c).reshape(COUNT, -1).astype(float) for c in columns]
    return [[c[k].tolist() for c in wide] for k in range(COUNT)]


def _spec(t: Type) -> dict[str, Any]:
    kind = type(t).__name__.lower()
    return {"kind": kind, "shape": list(getattr(t, "shape", ())), "dtype": _component(t).name}  # type: ignore[union-attr]


def value_of(t: Type, parts: Sequence[float]) -> Any:
    """A value of Heald from its components."""
    dtype = wp.float32 if _component(t) is f32 else wp.int32
    numbers = [float(v) if dtype is wp.float32 else int(v) for v in parts]
    match t:
        case Vector():
            return wp.types.vector(length=t.shape[0], dtype=dtype)(*numbers)
        case Matrix():
            return wp.types.matrix(shape=t.shape, dtype=dtype)(*numbers)
        case Quaternion():
            return wp.quatf(*numbers)
        case Transform():
            return wp.transformf(wp.vec3f(*numbers[:3]), wp.quatf(*numbers[3:]))
    return dtype(numbers[0])


def leaves(value: Any) -> list[float]:
    """The numbers of a result, one after the other."""
    if isinstance(value, (bool, int, float, np.generic)):
        return [float(value)]
    return [x for part in value for x in leaves(part)]


def apart(name: str, rows: Sequence[Row], ours: Any, theirs: Any) -> Any:
    """Which rows differ by more than roundings."""
    if name in FREE:
        start = FREE[name]
        stop = start + (2 if name == "svd2" else 3)
        ours, theirs = (np.sort(np.abs(a[:, start:stop]), axis=1) for a in (ours, theirs))
    with np.errstate(all="ignore"):
        size = np.abs(theirs).max(axis=1, keepdims=True, initial=0)
        inputs = np.array([[abs(x) for part in row for x in part] for row in rows])
        terms = inputs.max(axis=1, keepdims=True, initial=0) if len(rows[0][0]) > 1 else 0
        close = np.abs(ours - theirs) <= ROUNDINGS * np.maximum(size, terms)
    equal = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    return ~(equal | close).all(axis=1)


def measure(python: str) -> dict[str, Any]:
    """Run both and say what differs."""
    chosen = list(compared())
    rows = [rows_for(instance) for instance in chosen]
    cases = [
        {"name": i.builtin.name, "types": [_spec(t) for t in i.types], "rows": r}
        for i, r in zip(chosen, rows, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder) / "cases.json", Path(folder) / "answer.json"
        asked.write_text(json.dumps(cases))
        command = [python, str(HERE / "peer.py"), str(asked), str(answered)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        answer = json.loads(answered.read_text())
    found: dict[str, Any] = {"warp": answer["version"], "equal": [], "left": {}, "differ": {}}
    for instance, given, theirs in zip(chosen, rows, answer["rows"], strict=True):
        if isinstance(theirs, str):
            found["left"][str(instance)] = theirs
            continue
        function = getattr(wp, instance.builtin.name)
        ours = [
            leaves(function(*(value_of(t, v) for t, v in zip(instance.types, row, strict=True))))
            for row in given
        ]
        away = np.flatnonzero(apart(instance.builtin.name, given, np.array(ours), np.array(theirs)))
        if len(away) == 0:
            found["equal"].append(str(instance))
            continue
        k = int(away[0])
        found["differ"][str(instance)] = {
            "name": instance.builtin.name,
            "part": len(away) / COUNT,
            "arguments": [_spelled(part) for part in given[k]],
            "warp": _spelled(theirs[k]),
            "heald": _spelled(ours[k]),
        }
    found["signatures"] = lacking(answer["signatures"])
    return found


def _spelled(numbers: Sequence[float]) -> str:
    if len(numbers) > 9:
        return f"{len(numbers)} numbers"
    texts = [f"{x:.9g}" for x in numbers]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


Parameters = Sequence[tuple[str, str]]
"""Name and kind (``vector``) of each."""
_FOREIGN = {"tile", "fabric"}


def lacking(theirs: dict[str, list[Parameters]]) -> dict[str, list[list[str]]]:
    """Names of the parameters of those signatures of Warp that no overload of the builtin has.

    Raises:
        ValueError: a reason is missing, or one is for nothing.
    """
    found = {}
    for name, builtin in sorted(load_topics().items()):
        own = [_parameters(function) for function in builtin.overloads]
        missing = [
            [parameter for parameter, _ in given]
            for given in theirs.get(name, [])
            if not any(_is_taken(given, p) for p in own)
            and not any(kind in _FOREIGN for _, kind in given)
        ]
        if missing:
            found[name] = missing
    if found.keys() != reasons.LACKING.keys():
        raise ValueError(f"signatures and reasons differ in {found.keys() ^ reasons.LACKING}")
    return found


def _parameters(function: FunctionType) -> Parameters:
    names = function.__code__.co_varnames
    return list(zip(names, map(_kind, signature(function)[0]), strict=False))


def _kind(pattern: Any) -> str:
    if isinstance(pattern, (Scalar, TypeClass)):
        return "scalar"
    known = type(pattern).__name__.lower().removesuffix("pattern")
    return known if known in ("vector", "matrix", "quaternion", "transform", "array") else "any"


def _is_taken(given: Parameters, own: Parameters) -> bool:
    """Are they the same, ``any`` standing for every kind?"""
    return len(given) == len(own) and all(
        name == other and (kind == taken or "any" in (kind, taken))
        for (name, kind), (other, taken) in zip(given, own, strict=True)
    )


def page(found: dict[str, Any]) -> str:
    """The text of ``docs/differences.md``.

    Raises:
        ValueError: a difference has no reason, or a reason no difference.
    """
    names = {d["name"] for d in found["differ"].values()}
    if names != reasons.MEASURED.keys():
        raise ValueError(f"differences and reasons differ in {names ^ reasons.MEASURED.keys()}")
    differing = [
        f"| `{name}` | `{d['name']}({', '.join(d['arguments'])})` | {d['warp']} | {d['heald']} "
        f"| {100 * d['part']:.2g} % | {reasons.MEASURED[d['name']]} |"
        for name, d in found["differ"].items()
    ]
    known = [f"| {k.builtins} | {k.warp} | {k.heald} | {k.reason} |" for k in reasons.BY_KERNELS]
    absent = [
        f"* `{name}({', '.join(p)})`: {reasons.LACKING[name]}."
        for name, missing in found["signatures"].items()
        for p in missing
    ]
    unreached = sorted({name.partition("(")[0] for name in found["left"]})
    return TEXT.format(
        version=found["warp"],
        count=COUNT,
        equal=len(found["equal"]),
        total=len(found["equal"]) + len(found["differ"]),
        differing="\n".join(differing),
        known="\n".join(known),
        lacking="\n".join(absent),
        signatures=reasons.SIGNATURES,
        unreached=", ".join(f"`{name}`" for name in unreached),
    )


TEXT = """\
# Builtins: where Heald and Warp differ

Builtins have the names, argument order and meaning of NVIDIA Warp. This page is built from a run of
both: `PYTHONPATH=tests python -m library.warp.differences ENV/bin/python`, where `ENV` is an
environment with `warp-lang` (last done with {version}, on a CPU). Each builtin that both have is
called on {count} arguments from Python, specials and random bits among them. {equal} of {total}
signatures agree to a few roundings of float32. Where Warp's behaviour contradicts its
documentation, Heald follows the documentation.

## Other results

The first arguments for which results differ, and for how many they do.

| builtin | called | Warp | Heald | of all | reason |
|---|---|---|---|---|---|
{differing}

`tests/library/test_warp.py` runs the same kernels under both; what these show besides:

| builtin | Warp | Heald | reason |
|---|---|---|---|
{known}

Transcendental functions differ in the last bits: Warp calls the C library of the device, Heald's
are written in the language and give the same bits everywhere.

## Other signatures

Signatures of Warp that do not exist:

{lacking}

And besides:

{signatures}
## What the run does not reach

Signatures that Warp does not have, or cannot call from Python: of {unreached}.
"""


def main(peer: Sequence[str], write: Callable[[Path, str], object] = Path.write_text) -> None:
    """Measure if there is a peer; write the page."""
    if peer:
        text = json.dumps(measure(peer[0]), indent=1, allow_nan=False)
        MEASURED.parent.mkdir(exist_ok=True)
        write(MEASURED, text + "\n")
    write(PAGE, page(json.loads(MEASURED.read_text())))


if __name__ == "__main__":
    main(sys.argv[1:])
