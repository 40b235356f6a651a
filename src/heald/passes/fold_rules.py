"""Identities that preserve every bit, one a line.  Tests try each one on every value of 8-bit
types.

Constants stand second in ops that commute; ``fold_constants`` brings them there.  The first rule
that the types allow is taken.  What is *not* here matters as much: ``x + 0.0`` turns -0.0 into 0.0,
``x - x`` and ``x * 0.0`` are NaN for infinities, ``x == x`` is false for NaN, ``0 / x`` hides a
division by zero, and no rule makes or splits an fma.
"""

from __future__ import annotations

from heald.passes.patterns import Rule, RuleSet, rule

_SUMS = (
    rule("iadd x 0", "x"),  # nothing is added
    rule("isub x 0", "x"),  # nothing is taken away
    rule("isub x x", "0"),  # all is taken away
    rule("isub 0 x", "ineg x"),  # by definition
    rule("ineg (ineg x)", "x"),  # also for the lowest number, which is its own negative
    rule("ineg (isub x y)", "isub y x"),  # arithmetic modulo 2^n, as in all sums here
    rule("iadd x (ineg y)", "isub x y"),
    rule("iadd (ineg x) y", "isub y x"),
    rule("isub x (ineg y)", "iadd x y"),
    rule("isub (iadd x y) y", "x"),
    rule("isub (iadd x y) x", "y"),
    rule("iadd (isub x y) y", "x"),
    rule("iadd y (isub x y)", "x"),
    rule("isub x (isub x y)", "y"),
    rule("iadd (iadd x c) d", "iadd x (iadd c d)"),  # two constants become one
    rule("isub (iadd x c) d", "iadd x (isub c d)"),
    rule("iadd (isub x c) d", "iadd x (isub d c)"),
    rule("isub (isub x c) d", "isub x (iadd c d)"),
)

_PRODUCTS = (
    rule("imul x 0", "0"),  # integers have no NaN
    rule("imul x 1", "x"),  # one times
    rule("imul x ONES", "ineg x"),  # minus one times; for unsigned ones modulo 2^n
    rule("imul (ineg x) (ineg y)", "imul x y"),  # signs cancel modulo 2^n
    rule("imul (imul x c) d", "imul x (imul c d)"),  # associative modulo 2^n
    rule("idiv x 1", "x"),  # the divisor is not zero
    rule("idiv x -1", "ineg x"),  # wraps for the lowest number, as the division does
    rule("udiv x 1", "x"),
    rule("irem x 1", "0"),  # nothing remains
    rule("irem x -1", "0"),  # also of the lowest number
    rule("urem x 1", "0"),
)

_BITS = (
    rule("iand x 0", "0"),  # no bit stays
    rule("iand x ONES", "x"),  # every bit stays
    rule("iand x x", "x"),
    rule("iand x (inot x)", "0"),  # no bit is set in both
    rule("iand (inot x) x", "0"),
    rule("ior x 0", "x"),  # no bit is added
    rule("ior x ONES", "ONES"),  # every bit is set
    rule("ior x x", "x"),
    rule("ior x (inot x)", "ONES"),  # each bit is set in one of them
    rule("ior (inot x) x", "ONES"),
    rule("ixor x 0", "x"),  # no bit flips
    rule("ixor x ONES", "inot x"),  # every bit flips
    rule("ixor x x", "0"),
    rule("inot (inot x)", "x"),
    rule("iand (iand x c) d", "iand x (iand c d)"),  # two masks become one
    rule("ior (ior x c) d", "ior x (ior c d)"),
    rule("ixor (ixor x c) d", "ixor x (ixor c d)"),
    rule("iand x (ior x y)", "x"),  # absorption
    rule("ior x (iand x y)", "x"),
    rule("ixor (ixor x y) y", "x"),  # flipped twice
)

_SHIFTS = (
    rule("shl x 0", "x"),  # by nothing
    rule("lshr x 0", "x"),
    rule("ashr x 0", "x"),
    rule("shl 0 x", "0"),  # of nothing, whatever the count
    rule("lshr 0 x", "0"),
    rule("ashr 0 x", "0"),
    rule("ashr ONES x", "ONES"),  # copies of the sign
)

_EXTREMES = (
    rule("smin x x", "x"),
    rule("smax x x", "x"),
    rule("umin x x", "x"),
    rule("umax x x", "x"),
    rule("smin x LOWEST", "LOWEST"),  # nothing is smaller
    rule("smin x HIGHEST", "x"),  # nothing is larger
    rule("smax x LOWEST", "x"),
    rule("smax x HIGHEST", "HIGHEST"),
    rule("umin x LOWEST", "LOWEST"),
    rule("umin x HIGHEST", "x"),
    rule("umax x LOWEST", "x"),
    rule("umax x HIGHEST", "HIGHEST"),
    rule("smin (smin x c) d", "smin x (smin c d)"),  # two bounds become one
    rule("smax (smax x c) d", "smax x (smax c d)"),
    rule("umin (umin x c) d", "umin x (umin c d)"),
    rule("umax (umax x c) d", "umax x (umax c d)"),
    rule("fmin x x", "x"),  # `b if b < a else a` is a for equal operands, NaN included
    rule("fmax x x", "x"),
)

_COMPARISONS = (
    rule("icmp.eq x x", "ONES"),  # integers equal themselves
    rule("icmp.sle x x", "ONES"),
    rule("icmp.sge x x", "ONES"),
    rule("icmp.ule x x", "ONES"),
    rule("icmp.uge x x", "ONES"),
    rule("icmp.ne x x", "0"),
    rule("icmp.slt x x", "0"),
    rule("icmp.sgt x x", "0"),
    rule("icmp.ult x x", "0"),
    rule("icmp.ugt x x", "0"),
    rule("icmp.ult x 0", "0"),  # nothing lies below zero
    rule("icmp.uge x 0", "ONES"),
    rule("icmp.eq x ONES", "x"),  # the types allow it for truth values only
    rule("icmp.ne x 0", "x"),
    rule("icmp.eq x 0", "inot x"),
    rule("icmp.ne x ONES", "inot x"),
    rule("icmp.ne (zext x) 0", "icmp.ne x 0"),  # zeros that come in change nothing
    rule("icmp.eq (zext x) 0", "icmp.eq x 0"),
    rule("icmp.slt (ixor x p) 0", "icmp.slt x 0"),  # the sign is that of x, as p has none
    rule("icmp.sge (ixor x p) 0", "icmp.sge x 0"),
    rule("iand (icmp.ne x 0) (icmp.slt x 0)", "icmp.slt x 0"),  # negative is not zero
    rule("iand (icmp.slt x 0) (icmp.ne x 0)", "icmp.slt x 0"),
    rule("inot (icmp.eq x y)", "icmp.ne x y"),  # each order is total on integers
    rule("inot (icmp.ne x y)", "icmp.eq x y"),
    rule("inot (icmp.slt x y)", "icmp.sge x y"),
    rule("inot (icmp.sge x y)", "icmp.slt x y"),
    rule("inot (icmp.sgt x y)", "icmp.sle x y"),
    rule("inot (icmp.sle x y)", "icmp.sgt x y"),
    rule("inot (icmp.ult x y)", "icmp.uge x y"),
    rule("inot (icmp.uge x y)", "icmp.ult x y"),
    rule("inot (icmp.ugt x y)", "icmp.ule x y"),
    rule("inot (icmp.ule x y)", "icmp.ugt x y"),
    rule("inot (fcmp.oeq x y)", "fcmp.une x y"),  # une is true exactly where oeq is not
    rule("inot (fcmp.une x y)", "fcmp.oeq x y"),
)

_CHOICES = (
    rule("select ONES x y", "x"),
    rule("select 0 x y", "y"),
    rule("select z x x", "x"),  # both arms are the same
    rule("select x ONES 0", "x"),  # the types allow it for truth values only
    rule("select x 0 ONES", "inot x"),
    rule("select x ONES y", "ior x y"),
    rule("select x y 0", "iand x y"),
    rule("select (inot z) x y", "select z y x"),
    rule("select z (select z x w) y", "select z x y"),  # the inner choice is made already
    rule("select z x (select z w y)", "select z x y"),
)

_FLOATS = (
    rule("fadd x -0.0", "x"),  # also for -0.0; +0.0 would not do
    rule("fadd -0.0 x", "x"),
    rule("fsub x 0.0", "x"),  # -0.0 minus 0.0 is -0.0
    rule("fsub -0.0 x", "fneg x"),  # 0.0 minus x would lose the sign of zero
    rule("fmul x 1.0", "x"),  # exact for every number
    rule("fmul 1.0 x", "x"),
    rule("fmul x -1.0", "fneg x"),
    rule("fmul -1.0 x", "fneg x"),
    rule("fdiv x 1.0", "x"),
    rule("fdiv x -1.0", "fneg x"),
    rule("fneg (fneg x)", "x"),  # the sign bit flips twice
    rule("fabs (fabs x)", "fabs x"),
    rule("fabs (fneg x)", "fabs x"),
    rule("fadd x (fneg y)", "fsub x y"),  # IEEE defines the difference as this sum
    rule("fsub x (fneg y)", "fadd x y"),
    rule("fmul (fneg x) (fneg y)", "fmul x y"),  # signs multiply apart from magnitudes
    rule("fdiv (fneg x) (fneg y)", "fdiv x y"),
    rule("copysign x x", "x"),
    rule("copysign (fneg x) y", "copysign x y"),  # the sign of the first does not count
    rule("copysign (fabs x) y", "copysign x y"),
    rule("floor (floor x)", "floor x"),  # integers stay
    rule("ceil (ceil x)", "ceil x"),
    rule("ftrunc (ftrunc x)", "ftrunc x"),
    rule("rint (rint x)", "rint x"),
)

_CONVERSIONS = (
    rule("trunc (sext x)", "x"),  # the bits that came in go again
    rule("trunc (sext x)", "bitcast x"),  # ... to the other kind of the same width
    rule("trunc (sext x)", "trunc x"),  # ... and more bits with them
    rule("trunc (sext x)", "sext x"),  # ... but not all of them
    rule("trunc (zext x)", "x"),
    rule("trunc (zext x)", "bitcast x"),
    rule("trunc (zext x)", "trunc x"),
    rule("trunc (zext x)", "zext x"),
    rule("trunc (trunc x)", "trunc x"),
    rule("sext (sext x)", "sext x"),
    rule("sext (zext x)", "zext x"),  # the top bit is one of the zeros
    rule("zext (zext x)", "zext x"),
    rule("bitcast x", "x"),  # to its own type
    rule("bitcast (bitcast x)", "x"),
    rule("bitcast (bitcast x)", "bitcast x"),
    rule("fptrunc (fpext x)", "x"),  # fpext is exact
    rule("fpext (fpext x)", "fpext x"),
    rule("sitofp (zext x)", "uitofp x"),  # the same number
    rule("uitofp (zext x)", "uitofp x"),
    rule("sitofp (sext x)", "sitofp x"),
)

RULES: tuple[Rule, ...] = (
    *_SUMS,
    *_PRODUCTS,
    *_BITS,
    *_SHIFTS,
    *_EXTREMES,
    *_COMPARISONS,
    *_CHOICES,
    *_FLOATS,
    *_CONVERSIONS,
)
RULE_SET = RuleSet(RULES)
