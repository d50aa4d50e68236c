from __future__ import annotations

import pytest

from evalharness.stats.thresholds import reaches


@pytest.mark.parametrize(
    ("value", "threshold", "does"),
    [
        (0.7, 0.7, True),
        (10.7 - 10, 0.7, True),
        (1 - 0.9, 0.1, True),
        (8 * 0.1 + 0.1, 0.9, True),
        (0.699999, 0.7, False),
        (0.0, 0.0, True),
        (1.0, 1.0, True),
    ],
)
def test_rounding_never_keeps_a_value_from_its_threshold(value: float, threshold: float, does: bool) -> None:
    assert reaches(value, threshold) is does
