"""Calls builtins of NVIDIA Warp as ``differences.py`` says: JSON from a file, JSON into another.

It runs in an environment with ``warp-lang`` that needs no Heald.
"""

import json
import sys

import warp as wp
from warp._src.context import builtin_functions, type_str

DTYPES = {"f32": wp.float32, "i32": wp.int32}


def make(spec, values):
    """A value of Warp from its type and components."""
    kind, shape, dtype = spec["kind"], spec["shape"], DTYPES[spec["dtype"]]
    numbers = [float(v) if spec["dtype"] == "f32" else int(v) for v in values]
    if kind == "scalar":
        return numbers[0]
    if kind == "vector":
        return wp.types.vector(length=shape[0], dtype=dtype)(*numbers)
    if kind == "matrix":
        return wp.types.matrix(shape=tuple(shape), dtype=dtype)(*numbers)
    if kind == "quaternion":
        return wp.quatf(*numbers)
    return wp.transformf(wp.vec3f(*numbers[:3]), wp.quatf(*numbers[3:]))


def leaves(value):
    """The numbers of a result, one after the other."""
    if isinstance(value, (bool, int, float)):
        return [float(value)]
    return [x for part in value for x in leaves(part)]


def rows_of(case):
    """The results of a case, or why there are none."""
    function = getattr(wp, case["name"], None)
    if function is None or case["name"] not in builtin_functions:
        return "not in Warp"
    try:
        return [
            leaves(function(*(make(t, v) for t, v in zip(case["types"], row, strict=True))))
            for row in case["rows"]
        ]
    except Exception as error:  # noqa: BLE001 - whatever it is, the asker shall hear of it
        return f"not from Python: {type(error).__name__}"


# How a type is written begins with this: what kind it is.
KINDS = {"vec": "vector", "mat": "matrix", "quat": "quaternion", "transform": "transform"}
KINDS |= {"spatial_vector": "vector", "spatial_matrix": "matrix"}
KINDS |= {"array": "array", "tile": "tile", "fabric": "fabric", "indexedfabric": "fabric"}


def kind_of(t):
    """The kind of an argument's type."""
    text = type_str(t).lower()
    found = [kind for start, kind in KINDS.items() if text.startswith(start)]
    return found[0] if found else "any" if text == "any" else "scalar"


def signatures():
    """Names and kinds of the parameters of every overload of every builtin that users see."""
    found = {}
    for name, function in builtin_functions.items():
        overloads = getattr(function, "overloads", None) or [function]
        visible = [o for o in overloads if not o.hidden]
        if visible:
            parameters = [[(p, kind_of(t)) for p, t in o.input_types.items()] for o in visible]
            found[name] = sorted({tuple(p) for p in parameters})
    return found


def main(source, target):
    """Answer every case."""
    wp.config.quiet = True
    wp.init()
    with open(source) as file:
        cases = json.load(file)
    answer = {
        "version": wp.__version__,
        "rows": [rows_of(case) for case in cases],
        "signatures": signatures(),
    }
    with open(target, "w") as file:
        json.dump(answer, file)


main(*sys.argv[1:])
