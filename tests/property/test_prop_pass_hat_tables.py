from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness.stats.pass_hat_tables import contradiction, histogram_from_pass_hats, is_possible_rate

histograms = st.lists(st.integers(0, 40), min_size=2, max_size=7).filter(any)


def pass_hats(histogram: list[int] | tuple[int, ...]) -> list[float]:
    n = len(histogram) - 1
    return [
        sum(cases * math.comb(passes, k) for passes, cases in enumerate(histogram)) / (math.comb(n, k) * sum(histogram))
        for k in range(1, n + 1)
    ]


@given(histograms)
def test_a_true_row_gives_its_histogram_back(histogram: list[int]) -> None:
    found = histogram_from_pass_hats(pass_hats(histogram), sum(histogram))
    assert found.possible
    assert found.histogram == tuple(histogram)
    assert found.counts == pytest.approx(histogram, abs=1e-6)


@given(histograms, st.integers(2, 6))
def test_a_rounded_true_row_is_never_refused(histogram: list[int], decimals: int) -> None:
    row = [round(share, decimals) for share in pass_hats(histogram)]
    found = histogram_from_pass_hats(row, sum(histogram), decimals)
    assert found.possible
    if found.histogram is not None:
        assert sum(found.histogram) == sum(histogram)
        assert pass_hats(found.histogram) == pytest.approx(row, abs=0.5 * 10.0**-decimals + 1e-8)
    assert is_possible_rate(row[0], sum(histogram) * len(row), decimals)
    assert contradiction(dict(enumerate(row, start=1)), len(row), decimals) is None


@given(histograms, st.data())
def test_a_row_with_one_changed_figure_is_refused_or_explained(histogram: list[int], data: st.DataObject) -> None:
    row = pass_hats(histogram)
    place = data.draw(st.integers(0, len(row) - 1))
    row[place] = min(1.0, max(0.0, row[place] + data.draw(st.sampled_from([-0.1, -0.01, 0.003, 0.07]))))
    found = histogram_from_pass_hats(row, sum(histogram))
    if found.possible:
        assert found.histogram is not None
        assert pass_hats(found.histogram) == pytest.approx(row, abs=1e-8)
    else:
        assert found.objection
