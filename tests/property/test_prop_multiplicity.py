from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_sizes import examples
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evalharness.stats.p_values import benjamini_hochberg, holm

families = st.lists(
    st.floats(0, 1, allow_subnormal=False) | st.sampled_from([0.0, 0.01, 0.5, 1.0]), min_size=1, max_size=60
)


@examples(25)  # statsmodels takes a tenth of a second for each
@given(families)
def test_holm_agrees_with_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]), rel=1e-9, abs=1e-300)


@given(families)
def test_benjamini_hochberg_agrees_with_scipy(p_values: list[float]) -> None:
    want = list(stats.false_discovery_control(p_values))
    assert benjamini_hochberg(p_values) == pytest.approx(want, rel=1e-9, abs=1e-300)


@given(families)
def test_each_question_keeps_its_answer_in_any_order(p_values: list[float]) -> None:
    order = sorted(range(len(p_values)), key=lambda place: -p_values[place])
    turned = [p_values[place] for place in order]
    for adjust in (holm, benjamini_hochberg):
        assert adjust(turned) == [adjust(p_values)[place] for place in order]


@given(families)
def test_nothing_gets_smaller_and_holm_is_the_stricter(p_values: list[float]) -> None:
    for p, q, strict in zip(p_values, benjamini_hochberg(p_values), holm(p_values), strict=True):
        assert p <= q * (1 + 1e-12)
        assert q <= strict * (1 + 1e-12) <= 1 + 1e-12
