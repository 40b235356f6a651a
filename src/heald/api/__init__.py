"""What users hold in their hands: arrays, host values, kernels, launches; ``heald`` names it."""

from __future__ import annotations

import importlib
from typing import Any

from heald import types
from heald.api import values
from heald.api.edge import guard

guard(values.__name__, ("matrix", "quaternion", "transformation", "vector"))
types.publish(
    matrix=values.matrix,
    quaternion=values.quaternion,
    transformation=values.transformation,
    vector=values.vector,
)


def _evaluate(op: str, lhs: object, rhs: object) -> Any:
    """Operators of host values, whose module brings the compiler along, on first use."""
    return importlib.import_module("heald.api.operators").evaluate(op, lhs, rhs)


values.set_operators(_evaluate)
