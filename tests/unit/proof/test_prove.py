"""What the prover says of kernels that were made to mislead it, and of some that must be proved."""

from __future__ import annotations

import random

import numpy as np
import pytest
from unit.passes.indexing import a_launch, indexing_kernel

from heald.artifact import Symbol
from heald.diagnostics import HealdError
from heald.interp.faults import Journal
from heald.interp.lanes import Group, prepare
from heald.interp.serial import run_thread
from heald.ir import OBLIGATIONS, Kernel, check, op_ids, parse, walk
from heald.ops import TABLE
from heald.proof import Clause, Proof, Request, prove
from heald.proof.conditions import clause
from heald.proof.prove import CONTRADICTION

DIM = Symbol("dim")
HEADER = "kernel @k<1>(%a: array<f32,1>, %b: array<i32,1>, %n: i32, %m: i32)"


def kernel_of(body: str, header: str = HEADER) -> Kernel:
    kernel = parse(f"{header} {{\n{body}\nreturn\n}}", TABLE)
    check(kernel, TABLE)
    return kernel


def verdicts(
    body: str, header: str = HEADER, given: tuple[Clause, ...] = (), infer: bool = False
) -> dict[str, str]:
    """Which properties are proved and which are open."""
    proof = prove(Request(kernel_of(body, header), given, infer))
    return {name: p.status for name, p in proof.properties.items()}


def size(symbol: Symbol, low: int | None = None, high: int | None = None) -> tuple[Clause, ...]:
    found = []
    if low is not None:
        found.append(clause({(symbol,): 1, (): -low}))
    if high is not None:
        found.append(clause({(symbol,): -1, (): high}))
    return tuple(found)


N, M = Symbol("value", 2), Symbol("value", 3)
EXTENT = Symbol("shape", 0, 0, 0)
THREAD = """
  %t: i32 = tid [axis=0]
  %e: i32 = dim %a [axis=0]
  %zero: i32 = const [value=0]
  %one: i32 = const [value=1]
  %x: f32 = const [value=0x1p+0]
"""


# -- traps -----------------------------------------------------------------------------------------


def test_two_loads_of_one_place_are_two_numbers() -> None:
    body = f"""{THREAD}
      %i: i32 = load %b, %zero
      %low: b1 = icmp %i, %zero [pred="sge"]
      %high: b1 = icmp %i, %e [pred="slt"]
      %both: b1 = iand %low, %high
      if %both () {{
        %j: i32 = load %b, %zero
        %v: f32 = load %a, %j
        yield
      }} () {{ yield }}
    """
    assert verdicts(body, given=size(Symbol("shape", 1), 1))["bounds"] == "open"
    same = body.replace("%j: i32 = load %b, %zero", "%j: i32 = iadd %i, %zero")
    assert verdicts(same, given=size(Symbol("shape", 1), 1))["bounds"] == "proved"


def test_a_sum_that_wraps_is_no_sum() -> None:
    body = f"""{THREAD}
      %i: i32 = iadd %n, %one
      %ok: b1 = icmp %i, %e [pred="slt"]
      %positive: b1 = icmp %n, %zero [pred="sge"]
      %both: b1 = iand %ok, %positive
      if %both () {{ %v: f32 = load %a, %i
        yield }} () {{ yield }}
    """
    assert verdicts(body)["bounds"] == "open"  # n = 2^31 - 1
    assert verdicts(body, given=size(N, high=2**31 - 2))["bounds"] == "proved"


def test_a_step_that_may_wrap_is_no_stride() -> None:
    body = f"""{THREAD}
      %step: i32 = ineg %n
      %start: i32 = isub %e, %t
      for %start, %zero, %step (%k: i32) {{
        %y: f32 = sitofp %t
        store %a, %k, %y
        yield
      }}
    """
    assert verdicts(body, infer=True)["races"] == "open"


def test_launches_are_sought_where_words_of_64_bits_are_compared() -> None:
    header = "kernel @k<1>(%a: array<f32,1>, %n: i32, %m: i32, %w: u64)"
    body = f"""{THREAD}
      %i: i32 = iand %n, %m
      %v: f32 = load %a, %i
    """
    proof = prove(Request(kernel_of(body, header), infer=False))
    assert proof.properties["bounds"].findings[0].suspects


CARRIED = """
  %r: i32 = for %zero, %n, %one, %one (%k: i32, %x.1: i32) {
    %y: i32 = imul %x.1, %factor
    yield %y
  }
"""
RETURNED = """
  %r: i32 = scope () {
    for %zero, %n, %one (%k: i32) {
      %last: b1 = icmp %k, %m [pred="eq"]
      if %last () {
        %y: i32 = imul %k, %factor
        return %y
      } () { yield }
      yield
    }
    return %zero
  }
"""


@pytest.mark.parametrize("way", [CARRIED, RETURNED])
@pytest.mark.parametrize(("factor", "verdict"), [(3, "open"), (1, "proved")])
def test_what_loops_hand_on_is_exact_where_no_iteration_wraps(
    way: str, factor: int, verdict: str
) -> None:
    body = f"""{THREAD}
      %factor: i32 = const [value={factor}]
      {way}
      %low: b1 = icmp %r, %zero [pred="sge"]
      %high: b1 = icmp %r, %e [pred="slt"]
      %both: b1 = iand %low, %high
      if %both () {{
        %v: f32 = load %a, %r
        yield
      }} () {{ yield }}
    """
    assert verdicts(body)["overflow"] == verdict


def test_a_bound_that_falls_is_followed() -> None:
    """``x`` is the last ``y``, which is more than the present one."""
    body = f"""{THREAD}
      %r: i32, %s: i32 = while %n, %zero (%y: i32, %x.1: i32) {{
        %go: b1 = icmp %y, %zero [pred="sgt"]
        yield %go
      }} (%y.1: i32, %x.2: i32) {{
        %d: i32 = isub %y.1, %x.2
        %bad: b1 = icmp %d, %zero [pred="slt"]
        if %bad () {{ %v: f32 = load %a, %d
          yield }} () {{ yield }}
        %next: i32 = isub %y.1, %one
        yield %next, %y.1
      }}
    """
    assert verdicts(body, given=size(N, 2, 9))["bounds"] == "open"


def test_a_step_of_zero_is_a_fault_and_runs_nothing() -> None:
    body = f"""{THREAD}
      for %zero, %e, %zero (%i: i32) {{
        %v: f32 = load %a, %n
        yield
      }}
    """
    found = verdicts(body)
    assert found["division"] == "open"
    assert found["bounds"] == "proved"


def test_a_loop_that_runs_backwards_is_bounded_by_both_ends() -> None:
    body = f"""{THREAD}
      %last: i32 = isub %e, %one
      %minus: i32 = const [value=-1]
      for %last, LOW, %minus (%i: i32) {{
        %v: f32 = load %a, %i
        yield
      }}
    """
    assert verdicts(body.replace("LOW", "%minus"))["bounds"] == "proved"
    assert verdicts(body.replace("LOW", "%n"))["bounds"] == "open"
    assert verdicts(body.replace("LOW", "%n"), given=size(N, -1))["bounds"] == "proved"


def test_numbers_after_a_loop_are_those_of_its_last_iteration() -> None:
    body = f"""{THREAD}
      %two: i32 = const [value=2]
      %s: i32 = for %zero, %n, %two, %zero (%i: i32, %c: i32) {{
        %next: i32 = iadd %c, %one
        yield %next
      }}
      %ok: b1 = icmp %e, WANTED [pred="sgt"]
      if %ok () {{ %v: f32 = load %a, %s
        yield }} () {{ yield }}
    """
    given = size(N, 7, 7)  # 0, 2, 4 and 6: four iterations
    four = "%four: i32 = const [value=4]\n"
    three = "%three: i32 = const [value=3]\n"
    assert verdicts(four + body.replace("WANTED", "%four"), given=given)["bounds"] == "proved"
    assert verdicts(three + body.replace("WANTED", "%three"), given=given)["bounds"] == "open"


def test_what_a_loop_leaves_with_may_be_of_any_way_out() -> None:
    body = f"""{THREAD}
      %s: i32 = for %zero, %e, %one, %zero (%i: i32, %c: i32) {{
        %v: f32 = load %a, %i
        %hit: b1 = fcmp %v, %x [pred="ogt"]
        if %hit () {{ break WAY }} () {{ yield }}
        yield %c
      }}
      %some: b1 = icmp %e, %zero [pred="sgt"]
      if %some () {{ store %a, %s, %x
        yield }} () {{ yield }}
    """
    assert verdicts(body.replace("WAY", "%i"))["bounds"] == "proved"
    assert verdicts(body.replace("WAY", "%n"))["bounds"] == "open"


def test_a_view_that_steps_back_is_judged_at_both_ends() -> None:
    body = f"""{THREAD}
      %minus: i32 = const [value=-1]
      %s: array<f32,1> = subview %a, %n, %m, %minus [axes="s"]
    """
    assert verdicts(body)["bounds"] == "open"
    inside = (
        *size(N, 4, 4),
        *size(M, 0, 5),
        *size(EXTENT, 5),
    )
    assert verdicts(body, given=inside)["bounds"] == "proved"
    assert (
        verdicts(body, given=(*size(N, 4, 4), *size(M, 0, 6), *size(EXTENT, 5)))["bounds"] == "open"
    )


def test_indices_of_views_count_from_where_they_start() -> None:
    body = f"""{THREAD}
      %two: i32 = const [value=2]
      %left: array<f32,1> = subview %a, %zero, %n, %one [axes="s"]
      %right: array<f32,1> = subview %a, START, %n, %one [axes="s"]
      %ok: b1 = icmp %t, %n [pred="slt"]
      if %ok () {{
        %v: f32 = load %right, %zero
        store %left, %t, %v
        yield
      }} () {{ yield }}
    """
    facts = (*size(N, 1, 1000), *size(EXTENT, 3000))
    assert verdicts(body.replace("START", "%n"), given=facts)["races"] == "proved"
    assert verdicts(body.replace("START", "%zero"), given=facts)["races"] == "open"


def test_names_that_look_like_copies_are_no_copies() -> None:
    header = 'kernel @k<1>(%"x.1": array<f32,1>, %x: i32, %"x.2": i32)'
    body = """
      %t: i32 = tid [axis=0]
      %zero: i32 = const [value=0]
      %e: i32 = dim %"x.1" [axis=0]
      %low: b1 = icmp %x, %zero [pred="sge"]
      %high: b1 = icmp %x, %e [pred="slt"]
      %both: b1 = iand %low, %high
      if %both () { %v: f32 = load %"x.1", %"x.2"
        yield } () { yield }
    """
    assert verdicts(body, header)["bounds"] == "open"


def test_a_failed_division_is_one_fault_and_what_follows_is_not_judged() -> None:
    body = f"""{THREAD}
      %q: i32 = idiv %n, %m
      %v: f32 = load %a, %t
    """
    found = verdicts(body, given=(clause({(EXTENT,): 1, (DIM,): -1}),))
    assert found["division"] == "open"
    assert found["bounds"] == "proved"


def test_an_assertion_is_known_after_it_and_owed_before() -> None:
    body = f"""{THREAD}
      %ok: b1 = icmp %t, %e [pred="slt"]
      assert %ok [message="inside"]
      %v: f32 = load %a, %t
    """
    found = verdicts(body)
    assert found["assertions"] == "open"
    assert found["bounds"] == "proved"


def test_assume_proves_under_a_contract_only() -> None:
    body = f"""{THREAD}
      %ok: b1 = icmp %t, %e [pred="slt"]
      assume %ok
      %v: f32 = load %a, %t
    """
    assert verdicts(body)["bounds"] == "stated"


def test_an_index_that_wrapped_is_no_index_though_it_is_inside() -> None:
    body = f"""{THREAD}
      %p: i32 = imul %n, %m
      %ten: i32 = const [value=10]
      %l: local<f32,10> = alloc
      %i: i32 = irem %p, %ten
      %positive: b1 = icmp %i, %zero [pred="sge"]
      if %positive () {{ store %l, %i, %x
        yield }} () {{ yield }}
    """
    found = verdicts(body)
    assert found["bounds"] == "proved"
    assert found["overflow"] == "open"
    assert verdicts(body, given=(*size(N, 0, 1000), *size(M, 0, 1000)))["overflow"] == "proved"


# -- races -----------------------------------------------------------------------------------------

INSIDE = """
      %low: b1 = icmp %i, %zero [pred="sge"]
      %high: b1 = icmp %i, %e [pred="slt"]
      %both: b1 = iand %low, %high
      if %both () { store %a, %i, VALUE
        yield } () { yield }
"""


def test_a_number_read_from_an_array_that_no_thread_writes_is_the_same_for_all() -> None:
    body = f"""{THREAD}
      %i0: i32 = load %b, %zero
      %i: i32 = iadd %i0, %t
      {INSIDE.replace("VALUE", "%f")}
    """.replace("%x: f32", "%f: f32 = sitofp %t\n  %x: f32")
    header = HEADER.replace("%b: array<i32,1>", "%b: array<i32,1>")
    small = (*size(DIM, 1, 1000), *size(Symbol("shape", 1), 1))
    small_offset = body.replace(
        "%i: i32 = iadd %i0, %t",
        """
      %m16: i32 = const [value=1023]
      %i1: i32 = iand %i0, %m16
      %i: i32 = iadd %i1, %t""",
    )
    assert verdicts(small_offset, header, small)["races"] == "proved"
    written = small_offset.replace(
        "%i1: i32", "%wide: i32 = const [value=7]\n store %b, %zero, %wide\n%i1: i32"
    )
    assert verdicts(written, header, small)["races"] == "open"


def counter(result_type: str, header: str) -> str:
    return f"""{THREAD}
      %i: i32 = atomic_add %b, %zero, INCREMENT
      %f: f32 = sitofp %t
      {INSIDE.replace("VALUE", "%f")}
    """


def test_tickets_of_a_counter_differ_while_it_cannot_wrap() -> None:
    body = counter("i32", HEADER)
    assert verdicts(body.replace("INCREMENT", "%one"))["races"] == "proved"
    assert verdicts(body.replace("INCREMENT", "%zero"))["races"] == "open"
    assert verdicts(body.replace("INCREMENT", "%n"))["races"] == "open"
    two_axes = HEADER.replace("<1>", "<2>")
    wraps = verdicts(body.replace("INCREMENT", "%one"), two_axes)
    assert wraps["races"] == "open"  # 2^31 times 2^31 threads pass 2^32
    few = (*size(DIM, 1, 1000), *size(Symbol("dim", axis=1), 1, 1000))
    assert verdicts(body.replace("INCREMENT", "%one"), two_axes, few)["races"] == "proved"


def test_tickets_count_in_one_direction() -> None:
    down = counter("i32", HEADER).replace("atomic_add", "atomic_sub").replace("INCREMENT", "%one")
    assert verdicts(down)["races"] == "proved"
    again = "%j: i32 = atomic_OP %b, %zero, %one\n %f: f32"
    assert verdicts(down.replace("%f: f32", again.replace("OP", "sub")))["races"] == "proved"
    assert verdicts(down.replace("%f: f32", again.replace("OP", "add")))["races"] == "open"


@pytest.mark.parametrize(("step", "status"), [(3, "proved"), (2, "open")])
def test_tickets_are_a_step_apart(step: int, status: str) -> None:
    other = INSIDE.replace("VALUE", "%f").replace("%i,", "%j,")
    for name in ("low", "high", "both"):
        other = other.replace(f"%{name}", f"%{name}_j")
    body = f"""{THREAD}
      %step: i32 = const [value={step}]
      %two: i32 = const [value=2]
      %i: i32 = atomic_add %b, %zero, %step
      %j: i32 = iadd %i, %two
      %wraps: b1 = icmp %j, %i [pred="slt"]
      %f: f32 = sitofp %t
      if %wraps () {{ yield }} () {{
        {INSIDE.replace("VALUE", "%f")}
        {other}
        yield
      }}
    """
    assert verdicts(body, given=size(DIM, 1, 1000))["races"] == status


def test_tickets_in_a_loop_or_beside_a_store_prove_nothing() -> None:
    body = counter("i32", HEADER).replace("INCREMENT", "%one")
    stored = body.replace("%f: f32", "store %b, %zero, %t\n %f: f32")
    assert verdicts(stored)["races"] == "open"
    before, _, after = body.partition("%i: i32 = atomic_add")
    looped = f"{before} for %zero, %n, %one (%k: i32) {{ %i: i32 = atomic_add{after} yield }}"
    assert verdicts(looped)["races"] == "open"


def test_tickets_of_two_leaves_are_two_counters() -> None:
    header = HEADER.replace("array<i32,1>", "array<vec<i32,2>,1>")
    body = f"""{THREAD}
      %p: i32 = atomic_add %b, %zero, %one [leaf=0]
      %q: i32 = atomic_add %b, %zero, %one [leaf=1]
      %odd: i32 = iand %t, %one
      %first: b1 = icmp %odd, %zero [pred="eq"]
      %i: i32 = select %first, %p, %q
      %f: f32 = sitofp %t
      {INSIDE.replace("VALUE", "%f")}
    """
    assert verdicts(body, header)["races"] == "open"


def test_equal_values_are_benign_and_others_a_race() -> None:
    body = f"""{THREAD}
      %some: b1 = icmp %e, %zero [pred="sgt"]
      if %some () {{ store %a, %zero, VALUE
        yield }} () {{ yield }}
    """
    proof = prove(Request(kernel_of(body.replace("VALUE", "%x")), infer=False))
    assert proof.properties["races"].status == "proved"
    assert len(proof.properties["races"].benign) == 1
    other = body.replace("VALUE", "%f").replace("%some: b1", "%f: f32 = sitofp %t\n%some: b1")
    assert verdicts(other)["races"] == "open"


def test_atomics_race_with_plain_accesses_only() -> None:
    header = HEADER.replace("array<f32,1>", "array<i32,1>")
    body = """
      %zero: i32 = const [value=0]
      %one: i32 = const [value=1]
      %old: i32 = atomic_add %a, %zero, %one
      %other: i32 = atomic_max %a, %zero, %n
    """
    facts = size(EXTENT, 1)
    assert verdicts(body, header, facts)["races"] == "proved"
    plain = f"{body} %v: i32 = load %a, %zero\n store %b, %zero, %v"
    assert verdicts(plain, header, (*facts, *size(Symbol("shape", 1), 1)))["races"] == "open"


def test_loops_may_have_more_trips_than_a_word_counts() -> None:
    body = """
  %low: i64 = const [value=-9000000000000000000]
  %high: i64 = const [value=9000000000000000000]
  %step: i64 = const [value=1]
  for %low, %high, %step (%i: i64) {
    store %a, %i, %x
    yield
  }"""
    found = verdicts(THREAD + body, infer=True)
    assert (found["bounds"], found["races"]) == ("open", "proved"), "all write 1.0"


def test_a_kernel_without_launch_index_races_unless_it_is_one_thread() -> None:
    header = HEADER.replace("<1>", "<0>")
    body = """
      %zero: i32 = const [value=0]
      %v: f32 = load %a, %zero
      %w: f32 = fadd %v, %v
      store %a, %zero, %w
    """
    one = tuple(c for axis in range(4) for c in size(Symbol("dim", axis=axis), 1, 1))
    assert verdicts(body, header)["races"] == "open"
    assert verdicts(body, header, one[:6])["races"] == "open"  # the fourth extent may be 2
    assert verdicts(body, header, one)["races"] == "proved"
    assert verdicts(body, header, infer=True)["races"] == "proved"


def test_arrays_may_be_one_array_where_that_is_no_race() -> None:
    def merged(body: str) -> frozenset[tuple[int, int]]:
        header = HEADER.replace("array<i32,1>", "array<f32,1>")
        apart = prove(Request(kernel_of(body, header))).properties["aliasing"].apart
        assert apart is not None
        return apart.merged

    own = f"{THREAD} %v: f32 = load %b, %t\n store %a, %t, %v"
    next_ = f"{THREAD} %i: i32 = iadd %t, %one\n %v: f32 = load %b, %i\n store %a, %t, %v"
    assert merged(own) == {(0, 1)}
    assert merged(next_) == frozenset()


def test_a_proof_that_needs_stable_contents_allows_no_merging() -> None:
    """The offset is read from an array that must not be the one that is written."""
    header = HEADER.replace("array<f32,1>", "array<i32,1>")
    body = """
      %t: i32 = tid [axis=0]
      %e: i32 = dim %a [axis=0]
      %zero: i32 = const [value=0]
      %mask: i32 = const [value=7]
      %o: i32 = load %b, %zero
      %small: i32 = iand %o, %mask
      %i: i32 = iadd %small, %t
      %ok: b1 = icmp %i, %e [pred="slt"]
      if %ok () { store %a, %i, %t
        yield } () { yield }
    """
    given = (*size(DIM, 1, 1000), *size(Symbol("shape", 1), 1))
    properties = prove(Request(kernel_of(body, header), given, False)).properties
    assert properties["races"].status == "proved"
    assert properties["aliasing"].apart is not None
    assert properties["aliasing"].apart.merged == frozenset()


# -- conditions ------------------------------------------------------------------------------------


def shown(proof: Proof, name: str) -> set[str]:
    names = {DIM: "dim[0]", N: "n", M: "m", EXTENT: "a.shape[0]", Symbol("shape", 1): "b.shape[0]"}
    return {c.describe(names.__getitem__) for c in proof.properties[name].clauses}


@pytest.mark.parametrize(
    ("index", "wanted"),
    [
        ("%i: i32 = iadd %t, %one", {"dim[0] + 1 <= a.shape[0]"}),
        ("%i: i32 = iadd %t, %n", {"0 <= n", "dim[0] + n <= a.shape[0]"}),
        ("%i: i32 = irem %t, %n", {"1 <= n", "n <= a.shape[0]"}),
        ("%i: i32 = imul %t, %n", {"0 <= n", "dim[0] * n + 1 <= a.shape[0] + n"}),
    ],
)
def test_launches_are_asked_for_what_a_proof_needs(index: str, wanted: set[str]) -> None:
    body = f"{THREAD} {index}\n %v: f32 = load %a, %i"
    proof = prove(Request(kernel_of(body), intervals=False))
    assert proof.properties["bounds"].status == "proved"
    assert wanted <= shown(proof, "bounds")


def test_a_contradiction_proves_nothing() -> None:
    body = f"{THREAD} %v: f32 = load %a, %n"
    proof = prove(Request(kernel_of(body), (*size(N, 3), *size(N, high=2)), False))
    assert proof.beyond == (CONTRADICTION, 0)
    assert all(p.status == "open" for p in proof.properties.values())


def test_answers_do_not_change_from_run_to_run() -> None:
    kernel = indexing_kernel(12, 60)
    first, second = (prove(Request(kernel, intervals=False)) for _ in range(2))
    assert first.properties == second.properties


# -- brute force -----------------------------------------------------------------------------------

PROPERTY_OF = {"subview": "bounds", "for": "division", "assert": "assertions"} | dict.fromkeys(
    ("idiv", "irem", "udiv", "urem"), "division"
)


def first_faults(kernel: Kernel, dims: tuple[int, ...], args: list[object]) -> set[int]:
    """Ids of the ops at which some thread faults first."""
    launch = prepare(kernel, dims, args, 256, None, 2000)
    found = set()
    with np.errstate(all="ignore"):
        for thread in range(launch.threads):
            journal = Journal(unchecked=False, stop_on_fault=False)
            try:
                run_thread(Group(launch, journal, np.array([thread], np.int64)))
            except HealdError as error:
                if error.codes != ("H0708",):
                    raise
            if journal.fault is not None:
                found.add(journal.fault.op)
    return found


def look_up(symbol: Symbol, dims: tuple[int, ...], args: list[object]) -> int:
    if symbol.kind == "dim":
        return dims[symbol.axis]
    argument = args[symbol.parameter]
    return argument.shape[symbol.axis] if symbol.kind == "shape" else int(argument)


@pytest.mark.parametrize("seed", range(24))
def test_what_is_proved_of_random_kernels_never_happens(seed: int) -> None:
    kernel = indexing_kernel(seed, 30)
    ids = {i: op for op, i in op_ids(kernel).items() if op.name in OBLIGATIONS}
    for infer in (False, True):
        proof = prove(Request(kernel, infer=infer, intervals=False))
        left = {f.op for p in proof.properties.values() for f in p.findings}
        rng = random.Random(seed)
        for _ in range(4):
            dims, args = a_launch(rng)
            for op in first_faults(kernel, dims, args) - left:
                name = PROPERTY_OF.get(ids[op].name, "bounds")
                clauses = proof.properties[name].clauses
                holds = all(c.holds(lambda s, d=dims, a=args: look_up(s, d, a)) for c in clauses)
                assert not holds, (op, dims)


def test_most_of_random_kernels_is_proved() -> None:
    total = left = 0
    for seed in range(30, 36):
        kernel = indexing_kernel(seed, 30)
        proof = prove(Request(kernel, infer=False, intervals=False))
        total += sum(op.name in OBLIGATIONS for op in walk(kernel.body))
        left += len({f.op for p in proof.properties.values() for f in p.findings})
    assert left < total / 2


def test_conditions_may_be_asked_where_sizes_are_given() -> None:
    body = f"""{THREAD}
      %i: i32 = imul %t, %n
      %v: f32 = load %a, %i
    """
    for number in (0, 1, 3, -1):
        given = (clause({(N,): 1, (): -number}, equal=True),)
        proof = prove(Request(kernel_of(body), given, True))
        assert proof.properties["bounds"].status == ("open" if number < 0 else "proved")
