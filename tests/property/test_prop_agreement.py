from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from evalharness.stats.agreement import (
    KappaWeights,
    Scale,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)

Ratings = list[list[int | None]]

tables = st.integers(2, 5).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, 12), min_size=size, max_size=size), min_size=size, max_size=size)
)
with_gaps = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=raters, max_size=raters), min_size=1, max_size=25
    )
)


def pairs_of(table: list[list[int]]) -> Ratings:
    return [[i, j] for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]


def compared(ratings: Ratings) -> list[list[int]]:
    given = [[rating for rating in item if rating is not None] for item in ratings]
    return [item for item in given if len(item) > 1]


@given(tables, st.sampled_from(["equal", "linear", "quadratic"]))
def test_cohen_agrees_with_statsmodels(table: list[list[int]], weights: KappaWeights) -> None:
    ratings = pairs_of(table)
    found = cohen_kappa(ratings, weights, range(len(table)))
    if len({rating for item in ratings for rating in item}) < 2:
        assert found is None
        return
    with np.errstate(all="ignore"):  # it also tests kappa = 0, which divides by 0 in small tables
        want = inter_rater.cohens_kappa(np.array(table), wt=None if weights == "equal" else weights)
    assert found is not None
    assert found.value == pytest.approx(want.kappa, rel=1e-9, abs=1e-9)
    assert found.standard_error**2 == pytest.approx(want.var_kappa, rel=1e-9, abs=1e-9)


@given(st.integers(2, 6), st.data())
def test_fleiss_agrees_with_statsmodels(raters: int, data: st.DataObject) -> None:
    item = st.lists(st.integers(0, 3), min_size=raters, max_size=raters)
    ratings = data.draw(st.lists(item, min_size=1, max_size=25))
    assume(len({rating for row in ratings for rating in row}) > 1)
    table, _ = inter_rater.aggregate_raters(np.array(ratings))
    assert fleiss_kappa(ratings) == pytest.approx(inter_rater.fleiss_kappa(table), rel=1e-9, abs=1e-9)


@given(with_gaps)
def test_percent_agreement_counts_pairs(ratings: Ratings) -> None:
    items = compared(ratings)
    found = percent_agreement(ratings)
    if not items:
        assert found is None
        return
    shares = [np.mean([a == b for a, b in permutations(item, 2)]) for item in items]
    assert found == pytest.approx(float(np.mean(shares)), abs=1e-12)


@given(with_gaps, st.integers(6, 9))
def test_ac1_follows_its_definition(ratings: Ratings, size: int) -> None:
    items = compared(ratings)
    found = gwet_ac1(ratings, range(size))
    if len({rating for item in items for rating in item}) < 2:
        assert found is None
        return
    marginals = np.mean([[item.count(k) / len(item) for k in range(size)] for item in items], axis=0)
    chance = float(np.sum(marginals * (1 - marginals)) / (size - 1))
    observed = percent_agreement(ratings)
    assert observed is not None
    assert found == pytest.approx((observed - chance) / (1 - chance), rel=1e-9, abs=1e-9)


def squared_distance(a: int, b: int, counts: Counter[int], scale: Scale) -> float:
    """The metrics as they are printed, not in the closed forms that the code uses."""
    low, high = min(a, b), max(a, b)
    if scale == "nominal":
        return float(a != b)
    if scale == "interval":
        return float((a - b) ** 2)
    if scale == "ratio":
        return ((a - b) / (a + b)) ** 2 if a + b else 0.0
    return (sum(counts[k] for k in range(low, high + 1)) - (counts[low] + counts[high]) / 2) ** 2


@given(with_gaps, st.sampled_from(["nominal", "ordinal", "interval", "ratio"]))
def test_alpha_follows_its_coincidences(ratings: Ratings, scale: Scale) -> None:
    items = compared(ratings)
    counts = Counter(rating for item in items for rating in item)
    found = krippendorff_alpha(ratings, scale)
    if len(counts) < 2:
        assert found is None
        return
    n = counts.total()
    observed = sum(
        squared_distance(a, b, counts, scale) / (len(item) - 1) for item in items for a, b in permutations(item, 2)
    )
    expected = sum(
        counts[a] * counts[b] * squared_distance(a, b, counts, scale) for a, b in permutations(counts, 2)
    ) / (n - 1)
    assert found == pytest.approx(1 - observed / expected, rel=1e-9, abs=1e-9)


@given(with_gaps)
def test_the_order_of_raters_and_items_does_not_matter(ratings: Ratings) -> None:
    turned = [item[::-1] for item in reversed(ratings)]
    for scale in ("nominal", "ordinal", "interval", "ratio"):
        assert krippendorff_alpha(turned, scale) == pytest.approx(krippendorff_alpha(ratings, scale), abs=1e-12)
    assert gwet_ac1(turned) == pytest.approx(gwet_ac1(ratings), abs=1e-12)
