"""What variants take for granted of how arrays lie in memory."""

from unit.passes.launches import kernel_of

from heald.passes.layout import array_places, unit_condition

STRUCT = "struct @S {n: i32, a: array<f32,1>, b: array<f64,2>}\n"


def places(text: str) -> list[tuple[int, int, int, int]]:
    kernel = kernel_of(text)
    return [(p.parameter, p.leaf, p.ndim, p.itemsize) for p in array_places(kernel)]


def test_arrays_that_are_used_count():
    text = """
    kernel @k<1>(%a: array<f32,1>, %unused: array<f32,1>, %b: array<f64,2>) {
      %i: i32 = tid [axis=0]
      %x: f32 = load %a, %i
      %y: f64 = fpext %x
      store %b, %i, %i, %y
      return
    }
    """
    assert places(text) == [(0, 0, 1, 4), (2, 0, 2, 8)]


def test_leaves_that_are_extracted_count():
    text = f"""{STRUCT}
    kernel @k<1>(%s: struct<S>) {{
      %i: i32 = tid [axis=0]
      %b: array<f64,2> = extract %s [leaf=2]
      %x: f64 = load %b, %i, %i
      store %b, %i, %i, %x
      return
    }}
    """
    assert places(text) == [(0, 2, 2, 8)]


def test_a_parameter_that_goes_elsewhere_as_a_whole_counts_with_every_array():
    text = f"""{STRUCT}
    kernel @k<1>(%s: struct<S>, %c: b1, %x: f32) {{
      %i: i32 = tid [axis=0]
      %t: struct<S> = if %c () {{
        %u: struct<S> = insert %s, %i [leaf=0]
        yield %u
      }} () {{
        yield %s
      }}
      %a: array<f32,1> = extract %t [leaf=1]
      store %a, %i, %x
      return
    }}
    """
    assert places(text) == [(0, 1, 1, 4), (0, 2, 2, 8)]


def test_a_kernel_without_arrays_has_no_such_variant():
    kernel = kernel_of("kernel @k<1>(%x: f32) {\n  return\n}")
    assert unit_condition(kernel).clauses == ()
