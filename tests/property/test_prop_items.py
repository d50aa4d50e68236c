from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalharness.stats.items import item_analysis


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, float]]:
    cases = [f"case-{number}" for number in range(draw(st.integers(2, 8)))]
    share = st.integers(0, 4).map(lambda quarters: quarters / 4)
    return [{case: draw(share) for case in cases} for _ in range(draw(st.integers(5, 9)))]


@given(tables())
def test_discrimination_agrees_with_scipy(table: list[dict[str, float]]) -> None:
    found = item_analysis(table)
    assert found is not None
    assert [item.case for item in found.items] == list(table[0])
    for item in found.items:
        own = [row[item.case] for row in table]
        rest = [sum(share for case, share in row.items() if case != item.case) for row in table]
        assert item.difficulty == pytest.approx(sum(own) / len(own), rel=1e-12)
        if len(set(own)) == 1 or len(set(rest)) == 1:
            assert item.discrimination is None
        else:
            assert item.discrimination == pytest.approx(stats.pearsonr(own, rest).statistic, abs=1e-9)
        assert (item.flag == "everyone passes") == (set(own) == {1.0})
        assert (item.flag == "everyone fails") == (set(own) == {0.0})


@given(tables())
def test_reliability_is_at_most_one(table: list[dict[str, float]]) -> None:
    found = item_analysis(table)
    assert found is not None
    assert found.reliability is None or found.reliability <= 1 + 1e-12
