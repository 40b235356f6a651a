"""Passes: each a function ``Kernel -> Kernel`` in a file of its own; ``pipelines`` lists them in
order.
"""

from heald.passes.drop_dead import drop_dead
from heald.passes.eliminate_common_subexpressions import eliminate_common_subexpressions
from heald.passes.fold_constants import fold_constants
from heald.passes.forward_copies import forward_copies
from heald.passes.guard import Verdict, guard
from heald.passes.hoist_loop_invariants import hoist_loop_invariants
from heald.passes.intervals import Intervals, analyse_intervals
from heald.passes.normalise_exits import normalise_exits
from heald.passes.pipelines import FRONT, NORMAL, SCALAR_CPU, Pass, pass_name, run_pipeline
from heald.passes.prune_carried import prune_carried
from heald.passes.scalarise import scalarise
from heald.passes.unroll_loops import unroll_loops

__all__ = [
    "FRONT",
    "NORMAL",
    "SCALAR_CPU",
    "Intervals",
    "Pass",
    "Verdict",
    "analyse_intervals",
    "drop_dead",
    "eliminate_common_subexpressions",
    "fold_constants",
    "forward_copies",
    "guard",
    "hoist_loop_invariants",
    "normalise_exits",
    "pass_name",
    "prune_carried",
    "run_pipeline",
    "scalarise",
    "unroll_loops",
]
