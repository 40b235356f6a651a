"""What ``fast_math`` takes on a GPU: as accurate as recorded, and other bits than a CPU's."""

from __future__ import annotations

import numpy as np
import pytest
from library.test_fast import NAMES, arguments, error_of, run

pytestmark = pytest.mark.gpu


@NAMES
def test_accuracy_on_a_gpu_is_what_the_record_says(name: str) -> None:
    columns = arguments(name, 400_000)
    error = error_of(name, columns, run(name, columns, "cuda:0"))
    worst = int(np.argmax(error))
    assert error[worst] <= 1, f"{error[worst]} of the tolerance at {[c[worst] for c in columns]}"


@pytest.mark.parametrize("name", ["exp", "log", "sin", "rsqrt", "tanh"])
def test_a_gpu_computes_by_its_instructions(name: str) -> None:
    columns = arguments(name, 3000)
    results = [run(name, columns, device) for device in ("cpu", "cuda:0")]
    assert np.count_nonzero(results[0] != results[1]) > 100
