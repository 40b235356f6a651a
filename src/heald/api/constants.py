"""Numbers with a name, under each of the two names that users know."""

from __future__ import annotations

import math

e = E = math.e
half_pi = HALF_PI = math.pi / 2
inf = INF = math.inf
ln10 = LN10 = math.log(10)
ln2 = LN2 = math.log(2)
log10e = LOG10E = math.log10(math.e)
log2e = LOG2E = math.log2(math.e)
nan = NAN = math.nan
phi = PHI = (1 + math.sqrt(5)) / 2
pi = PI = math.pi
tau = TAU = math.tau
