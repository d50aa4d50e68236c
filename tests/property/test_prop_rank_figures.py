from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness.stats.rank_figures import RankFigures, rank_figures

worth = st.floats(0.01, 100)
cutoffs = st.one_of(st.none(), st.integers(1, 12))


@st.composite
def ranked_lists(draw: st.DrawFn) -> tuple[list[float], list[float | None]]:
    """What each expected document is worth; and a list in which some of them are, None for any other document."""
    gains = draw(st.lists(worth, min_size=1, max_size=6))
    found = gains[: draw(st.integers(0, len(gains)))]
    others: list[float | None] = [None] * draw(st.integers(0, 8))
    return gains, draw(st.permutations([*found, *others]))


def figures(gains: list[float], listed: list[float | None], k: int | None) -> RankFigures:
    free = list(enumerate(listed, 1))
    ranks: list[int | None] = []
    for gain in gains:
        place = next((place for place in free if place[1] == gain), None)
        ranks.append(place[0] if place else None)
        free = [each for each in free if each != place]
    return rank_figures(gains, ranks, len(listed), k)


@given(ranked_lists(), cutoffs)
def test_every_figure_is_a_share(ranked: tuple[list[float], list[float | None]], k: int | None) -> None:
    gains, listed = ranked
    found = figures(gains, listed, k)
    assert all(0 <= figure <= 1 for figure in found)
    assert {found.hit_at_1, found.hit_at_k} <= {0.0, 1.0}
    assert found.hit_at_1 <= found.mrr <= found.hit_at_k
    assert (found.recall > 0) == (found.hit_at_k == 1) == (found.ndcg > 0)


@given(ranked_lists(), cutoffs, st.data())
def test_an_expected_document_that_moves_up_lowers_no_figure(
    ranked: tuple[list[float], list[float | None]], k: int | None, data: st.DataObject
) -> None:
    gains, listed = ranked
    pairs = [(up, down) for down, one in enumerate(listed) for up in range(down) if one and listed[up] is None]
    if not pairs:
        return
    up, down = data.draw(st.sampled_from(pairs))
    better = listed.copy()
    better[up], better[down] = better[down], better[up]
    before, after = figures(gains, listed, k), figures(gains, better, k)
    assert all(new >= old - 1e-12 for old, new in zip(before, after, strict=True))


@given(st.lists(worth, min_size=1, max_size=6))
def test_the_best_order_scores_everything(gains: list[float]) -> None:
    best: list[float | None] = [*sorted(gains, reverse=True)]
    assert tuple(figures(gains, best, None)) == pytest.approx((1, 1, 1, 1, 1, 1))


@given(st.lists(st.tuples(worth, st.one_of(st.none(), st.integers(1, 8))), min_size=1, max_size=6), cutoffs)
def test_places_with_several_documents_never_beat_the_ideal(
    expected: list[tuple[float, int | None]], k: int | None
) -> None:
    gains, ranks = [gain for gain, _ in expected], [rank for _, rank in expected]
    found = rank_figures(gains, ranks, 8, k)
    assert all(0 <= figure <= 1 for figure in found)
    if k is not None and len({rank for rank in ranks if rank}) == len(ranks):
        assert found.recall * len(gains) == pytest.approx(found.precision_at_k * k)


@given(ranked_lists(), st.integers(1, 12))
def test_a_larger_k_finds_no_less(ranked: tuple[list[float], list[float | None]], k: int) -> None:
    gains, listed = ranked
    near, far = figures(gains, listed, k), figures(gains, listed, k + 1)
    assert far.recall >= near.recall
    assert far.hit_at_k >= near.hit_at_k
    assert far.mrr >= near.mrr
    assert far.hit_at_1 == near.hit_at_1
