"""Composites to leaves."""

import pytest
from unit.passes.launches import assert_same, kernel_of, launches_of

from heald.ir import Kernel, walk
from heald.passes import guard, normalise_exits, scalarise
from heald.types import Array, Scalar, f32

STRUCTS = "struct @S {n: i32, v: vec<f32,3>}\n"


def scalarised(text: str) -> Kernel:
    kernel = guard(kernel_of(text))
    after = scalarise(kernel)
    assert_same(kernel, after, launches_of(kernel, 6), same_faults=True)
    for op in walk(after.body):
        for value in (*op.results, *(a for region in op.regions for a in region.args)):
            assert isinstance(value.type, Scalar | Array)
        for value in op.operands:
            assert isinstance(value.type, Scalar | Array) or op.name == "extract"
    return after


def of_name(kernel: Kernel, name: str) -> list:
    return [op for op in walk(kernel.body) if op.name == name]


VECTORS = """
kernel @k<1>(%a: array<vec<f32,2>,1>, %b: array<vec<f32,2>,1>, %p: b1, %u: vec<f32,2>) {
  %i: i32 = tid [axis=0]
"""


def test_accesses_are_split_and_keep_guard_and_id():
    after = scalarised(f"{VECTORS}%v: vec<f32,2> = load %a, %i\nstore %b, %i, %v\nreturn\n}}")
    loads, stores = of_name(after, "load"), of_name(after, "store")
    assert [op.attrs["leaf"] for op in loads] == [op.attrs["leaf"] for op in stores] == [0, 1]
    assert {(op.attrs["guard"], op.attrs["id"]) for op in loads} == {(True, 1)}
    assert {(op.attrs["guard"], op.attrs["id"]) for op in stores} == {(True, 2)}
    assert [after.name_of(op.result) for op in loads] == ["v_0", "v_1"]
    assert [op.operands[-1] for op in stores] == [op.result for op in loads]


def test_accesses_to_a_leaf_stay():
    after = scalarised(
        f"{VECTORS}%v: f32 = load %a, %i [leaf=1]\nstore %b, %i, %v [leaf=0]\nreturn\n}}"
    )
    assert len(of_name(after, "load")) == 1
    assert of_name(after, "store")[0].attrs["leaf"] == 0


def test_parameters_keep_their_types_and_are_read_at_the_entry():
    kernel = kernel_of(f"{VECTORS}store %b, %i, %u\nreturn\n}}")
    after = scalarise(kernel)
    assert [v.type for v in after.params] == [v.type for v in kernel.params]
    first, second = after.body.ops[:2]
    assert (first.name, first.attrs["leaf"]) == ("extract", 0)
    assert (second.name, second.attrs["leaf"]) == ("extract", 1)
    assert [op.operands[-1] for op in of_name(after, "store")] == [first.result, second.result]


def test_compose_extract_and_insert_vanish():
    after = scalarised(
        f"""{VECTORS}
        %x: f32 = extract %u [leaf=1]
        %v: vec<f32,2> = compose %x, %x
        %y: f32 = extract %u [leaf=0]
        %w: vec<f32,2> = insert %v, %y [leaf=1]
        store %b, %i, %w
        return
        }}"""
    )
    u0, u1 = (op.result for op in after.body.ops[:2])
    assert [op.operands[-1] for op in of_name(after, "store")] == [u1, u0]


def test_regions_yields_exits_and_results_flatten():
    after = scalarised(
        f"""{VECTORS}
        %0: i32 = const [value=0]
        %3: i32 = const [value=3]
        %1: i32 = const [value=1]
        %r: vec<f32,2>, %e: i32 = for %0, %3, %1, %u, %0 (%j: i32, %s: vec<f32,2>, %c: i32) {{
          %q: vec<f32,2> = if %p () {{
            break %u, %j
          }} () {{
            %x: f32 = extract %s [leaf=0]
            %y: f32 = fadd %x, %x
            %t: vec<f32,2> = insert %s, %y [leaf=1]
            yield %t
          }}
          yield %q, %j
        }}
        %z: vec<f32,2> = scope () {{
          if %p () {{
            return %u
          }} () {{
            yield
          }}
          return %r
        }}
        store %b, %i, %z
        return
        }}"""
    )
    (loop,) = of_name(after, "for")
    assert [str(v.type) for v in loop.results] == ["f32", "f32", "i32"]
    assert [after.name_of(v) for v in loop.regions[0].args] == ["j", "s_0", "s_1", "c"]
    (scope,) = of_name(after, "scope")
    assert len(scope.results) == 2


def test_atomics_go_leaf_by_leaf():
    after = scalarised(
        """kernel @k<1>(%a: array<vec<i32,2>,1>, %u: vec<i32,2>) {
          %i: i32 = tid [axis=0]
          %o: vec<i32,2> = atomic_add %a, %i, %u
          %q: vec<i32,2> = atomic_cas %a, %i, %o, %u
          store %a, %i, %q
          return
        }"""
    )
    assert [op.attrs["leaf"] for op in of_name(after, "atomic_add")] == [0, 1]
    assert [len(op.operands) for op in of_name(after, "atomic_cas")] == [4, 4]


def test_structs_flatten_in_declaration_order():
    after = scalarised(
        f"""{STRUCTS}kernel @k<1>(%a: array<struct<S>,1>, %s: struct<S>) {{
          %i: i32 = tid [axis=0]
          %t: struct<S> = load %a, %i
          %n: i32 = extract %t [leaf=0]
          %v: f32 = extract %s [leaf=3]
          %u: struct<S> = insert %t, %v [leaf=1]
          store %a, %n, %u
          return
        }}"""
    )
    assert [str(op.result.type) for op in of_name(after, "load")] == ["i32", "f32", "f32", "f32"]
    parts = [op.operands[-1] for op in of_name(after, "store")]
    entry = [op.result for op in after.body.ops[:4]]
    assert parts[1] is entry[3]


def test_arrays_in_structs_are_leaves():
    kernel = kernel_of(
        """struct @T {a: array<f32,1>, n: i32}
        kernel @k<1>(%t: struct<T>) {
          %i: i32 = tid [axis=0]
          %a: array<f32,1> = extract %t [leaf=0]
          %v: f32 = load %a, %i
          store %a, %i, %v
          return
        }"""
    )
    after = scalarise(kernel)
    assert_same(kernel, after, launches_of(kernel, 1))
    assert isinstance(after.body.ops[0].result.type, Array)
    assert of_name(after, "load")[0].operands[0] is after.body.ops[0].result


def test_returned_composites_flatten():
    kernel = kernel_of(
        """kernel @k<0>(%u: vec<f32,2>, %x: f32) -> (vec<f32,2>, f32) {
          %v: vec<f32,2> = insert %u, %x [leaf=0]
          return %v, %x
        }"""
    )
    after = scalarise(kernel)
    assert after.results == (f32, f32, f32)
    assert after.body.terminator.operands[0] is kernel.params[1]


@pytest.mark.parametrize("passes", [(scalarise, normalise_exits), (normalise_exits, scalarise)])
def test_composites_and_exits_may_go_in_either_order(passes):
    kernel = kernel_of(
        f"""{VECTORS}
        %v: vec<f32,2> = scope () {{
          if %p () {{
            return %u
          }} () {{
            yield
          }}
          %w: vec<f32,2> = load %a, %i
          return %w
        }}
        store %b, %i, %v
        return
        }}"""
    )
    after = kernel
    for function in passes:
        after = function(after)
    assert_same(kernel, after, launches_of(kernel, 8))


def test_a_kernel_without_composites_is_given_back():
    kernel = kernel_of("%i: i32 = tid [axis=0]\nstore %a, %i, %x")
    assert scalarise(kernel) is kernel
