from __future__ import annotations

from math import log2

import pytest

from evalharness.stats.rank_figures import RankFigures, rank_figures


def test_an_expected_document_at_rank_3_of_3_is_no_hit_at_1() -> None:
    assert rank_figures([1], [3], 3, None) == RankFigures(0, 1, 1, 1 / 3, 1 / 3, 0.5)


@pytest.mark.parametrize(
    ("gains", "ranks", "retrieved", "k", "want"),
    [
        # one document: first, second, last that counts, first that does not
        ([1], [1], 5, 5, (1, 1, 1, 1 / 5, 1, 1)),
        ([1], [2], 5, 5, (0, 1, 1, 1 / 5, 1 / 2, 1 / log2(3))),
        ([1], [5], 9, 5, (0, 1, 1, 1 / 5, 1 / 5, 1 / log2(6))),
        ([1], [6], 9, 5, (0, 0, 0, 0, 0, 0)),
        ([1], [None], 9, 5, (0, 0, 0, 0, 0, 0)),
        # nothing was retrieved
        ([1, 1], [None, None], 0, None, (0, 0, 0, 0, 0, 0)),
        ([1, 1], [None, None], 0, 3, (0, 0, 0, 0, 0, 0)),
        # several documents: ideal 1/log2(2) + 1/log2(3)
        ([1, 1], [1, 2], 2, None, (1, 1, 1, 1, 1, 1)),
        ([1, 1], [2, 4], 4, 4, (0, 1, 1, 1 / 2, 1 / 2, (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)))),
        ([1, 1], [3, None], 4, 4, (0, 1, 1 / 2, 1 / 4, 1 / 3, (1 / 2) / (1 + 1 / log2(3)))),
        # a list shorter than k: its missing places are misses; without k it is judged as it is
        ([1, 1], [1, 2], 2, 5, (1, 1, 1, 2 / 5, 1, 1)),
        # more documents than places: the ideal list has no more places either
        ([1, 1, 1], [1, 2, 3], 3, 2, (1, 1, 2 / 3, 1, 1, 1)),
        # without k, the ideal list has all of them
        ([1, 1, 1], [1, None, None], 1, None, (1, 1, 1 / 3, 1, 1, 1 / (1 + 1 / log2(3) + 1 / 2))),
        # graded: (1 + 3/log2(3)) / (3 + 1/log2(3))
        ([3, 1], [2, 1], 2, None, (1, 1, 1, 1, 1, (1 + 3 / log2(3)) / (3 + 1 / log2(3)))),
        ([3, 2, 1], [1, 2, 3], 3, None, (1, 1, 1, 1, 1, 1)),
        ([3, 2, 1], [4, 2, None], 5, 4, (0, 1, 2 / 3, 1 / 2, 1 / 2, (2 / log2(3) + 3 / log2(5)) / (3.5 + 2 / log2(3)))),
        # one place has both
        ([1, 1], [1, 1], 1, 1, (1, 1, 1, 1, 1, 1)),
        ([1, 1], [1, 1], 4, 4, (1, 1, 1, 1 / 4, 1, 1)),
        ([1, 1], [2, 2], 2, None, (0, 1, 1, 1 / 2, 1 / 2, (2 / log2(3)) / (1 + 1 / log2(3)))),
        # gains that would overflow when added
        ([1.7e308, 1.7e308], [1, 2], 2, None, (1, 1, 1, 1, 1, 1)),
    ],
)
def test_figures_computed_by_hand(
    gains: list[float], ranks: list[int | None], retrieved: int, k: int | None, want: tuple[float, ...]
) -> None:
    assert tuple(rank_figures(gains, ranks, retrieved, k)) == pytest.approx(want, abs=1e-15)
