from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.pass_k import MOST_IN_INTEGERS, pass_at_k, pass_hat_k, printed_k

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["pass_at_k"], ids=str)
def test_pass_at_k_equals_the_reference_exactly(vector: dict[str, Any]) -> None:
    assert pass_at_k(vector["n"], vector["c"], vector["k"]) == vector["want"]


@pytest.mark.parametrize("vector", VECTORS["pass_hat_k"], ids=str)
def test_pass_hat_k_equals_the_reference_exactly(vector: dict[str, Any]) -> None:
    assert pass_hat_k(vector["n"], vector["c"], vector["k"]) == vector["want"]


@pytest.mark.parametrize("vector", VECTORS["pass_hat_k"], ids=str)
def test_plugin_is_the_power_of_the_share(vector: dict[str, Any]) -> None:
    plugin = pass_hat_k(vector["n"], vector["c"], vector["k"], estimator="plugin")
    assert plugin == pytest.approx(vector["plug_in_for_contrast"], rel=1e-15)


@pytest.mark.parametrize("vector", VECTORS["published_runs"], ids=lambda vector: f"{vector['name']} k={vector['k']}")
def test_mean_over_cases_reproduces_published_tables(vector: dict[str, Any]) -> None:
    histogram = vector["hist_of_successes_0_to_4"]
    per_case = [
        pass_hat_k(vector["trials"], successes, vector["k"])
        for successes, cases in enumerate(histogram)
        for _ in range(cases)
    ]
    assert fmean(value for value in per_case if value is not None) == pytest.approx(vector["mean"], rel=1e-14)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_without_trials_nothing_is_known(k: int) -> None:
    assert pass_at_k(0, 0, k) is None
    assert pass_hat_k(0, 0, k) is None
    assert pass_hat_k(0, 0, k, estimator="plugin") is None


def test_more_k_than_trials_is_unknown_even_if_all_agree() -> None:
    assert pass_at_k(3, 3, 4) is None
    assert pass_at_k(3, 0, 4) is None
    assert pass_hat_k(3, 3, 4) is None
    assert pass_hat_k(3, 0, 4) is None


def test_the_plugin_is_known_where_the_unbiased_estimate_is() -> None:
    assert pass_hat_k(2, 1, 3, estimator="plugin") is None
    assert pass_hat_k(3, 1, 3, estimator="plugin") == pytest.approx(1 / 27)


def test_large_counts_stay_exact() -> None:
    assert pass_at_k(10_000, 1, 5_000) == 0.5
    assert pass_hat_k(10_000, 9_999, 5_000) == 0.5


@pytest.mark.parametrize(("n", "c", "k"), [(4, 2, 0), (4, 2, -1), (4, 5, 1), (4, -1, 1), (-1, 0, 1), (0, 1, 1)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(UsageError):
        pass_at_k(n, c, k)
    with pytest.raises(UsageError):
        pass_hat_k(n, c, k)
    with pytest.raises(UsageError):
        pass_hat_k(n, c, k, estimator="plugin")


def test_misspelt_estimator_is_named_with_the_likely_one() -> None:
    with pytest.raises(UsageError, match="Did you mean 'plugin'"):
        pass_hat_k(4, 2, 2, estimator="plug_in")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("n", "want"),
    [
        (0, ()),
        (1, (1,)),
        (2, (1,)),
        (3, (1, 3)),
        (4, (1, 2, 3)),
        (5, (1, 2, 3)),
        (6, (1, 3)),
        (8, (1, 3, 4)),
        (20, (1, 3, 10)),
        (21, (1, 3, 10)),
    ],
)
def test_printed_k(n: int, want: tuple[int, ...]) -> None:
    assert printed_k(n) == want


def test_printed_k_of_a_negative_number_is_refused() -> None:
    with pytest.raises(UsageError):
        printed_k(-1)


@pytest.mark.parametrize(
    ("c", "k"), [(1, 1), (3, 20_000), (20_000, 3), (30_003, 7), (30_003, 30_000), (11_000, 15_000)]
)
def test_very_many_trials_are_counted_without_their_integers(c: int, k: int) -> None:
    n = MOST_IN_INTEGERS + 10_004
    draws = math.comb(n, k)
    assert pass_at_k(n, c, k) == pytest.approx((draws - math.comb(n - c, k)) / draws, rel=1e-9)
    assert pass_hat_k(n, c, k) == pytest.approx(math.comb(c, k) / draws, rel=1e-9)


def test_few_draws_from_very_many_trials_are_exact() -> None:
    assert pass_hat_k(10**6, 1, 1) == pass_at_k(10**6, 1, 1) == 1e-06
    assert pass_hat_k(10**6, 999_999, 2) == (999_998 / 10**6)


@pytest.mark.parametrize("numbers", [(5, 3, 1.5), (5.0, 3, 1), (5, "3", 1)])
def test_only_whole_numbers_are_counted(numbers: Any) -> None:
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(UsageError, match="whole numbers"):
            function(*numbers)
