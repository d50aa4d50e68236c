from __future__ import annotations

import pytest

from evalharness.stats.means import weighted_mean


@pytest.mark.parametrize(
    ("weighted", "mean"),
    [
        ([(0.3, 5.0)], 0.3),
        ([(1.0, 3.0), (0.0, 1.0)], 0.75),
        ([(1.0, 0.0), (0.25, 2.0)], 0.25),
        ([(1.0, 0.1)] * 10, 1.0),
        ([(1.0, 1e308), (0.0, 1e308)], 0.5),
        ([(1.0, 5e-324), (0.0, 5e-324)], 0.5),
    ],
    ids=str,
)
def test_a_weighted_mean(weighted: list[tuple[float, float]], mean: float) -> None:
    assert weighted_mean(weighted) == mean
    assert weighted_mean(iter(weighted)) == mean


def test_only_the_ratio_of_the_weights_counts() -> None:
    for scale in (1e-300, 0.1, 7.0, 1e300):
        assert weighted_mean([(0.2, scale), (0.8, 3 * scale)]) == pytest.approx(0.65, rel=1e-15)
