from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.flip_rate import flip_alarm_range, flip_rate

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())
AIRLINE = [(4, passes) for passes, cases in enumerate([14, 12, 10, 4, 10]) for _ in range(cases)]


@pytest.mark.parametrize("vector", VECTORS["flip_rate_unbiased"], ids=str)
def test_flip_rate_reference(vector: dict[str, Any]) -> None:
    assert flip_rate(vector["n"], vector["c"]) == pytest.approx(vector["want"], rel=1e-14)


def test_one_trial_cannot_flip() -> None:
    assert flip_rate(0, 0) is None
    assert flip_rate(1, 1) is None


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(UsageError):
        flip_rate(3, 4)
    with pytest.raises(UsageError):
        flip_alarm_range([(4, 4), (3, -1)], [True, False], 4)
    with pytest.raises(UsageError):
        flip_alarm_range([(4, 4)] * 5, [True] * 5, 0)


@pytest.mark.parametrize(
    "known",
    [
        [],
        [(1, 1)] * 90 + [(1, 0)] * 10,
        [(4, 4)] * 49 + [(3, 3)],
        [(8, 8)] * 4,
    ],
    ids=["nothing", "one trial each", "three trials of one", "four cases"],
)
def test_what_too_few_trials_or_cases_do_not_show_is_not_known(known: list[tuple[int, int]]) -> None:
    assert flip_alarm_range(known, [True] * len(known), 4) is None


def test_a_published_agent_raises_it_nearly_always() -> None:
    """Ten tasks that always passed, of an agent most of whose tasks sometimes fail."""
    found = flip_alarm_range(AIRLINE, [passes == 4 for _, passes in AIRLINE], 4)
    assert found is not None
    low, high = found
    assert low == 0, "all ten may be reliable"
    assert high > 0.95


def test_a_faultless_baseline_promises_neither_alarm_nor_quiet() -> None:
    found = flip_alarm_range([(4, 4)] * 10, [True] * 10, 4)
    assert found is not None
    assert found[0] == 0
    assert found[1] > 0.9, "40 trials do not rule out that 7 of 100 fail"


def test_a_history_narrows_it() -> None:
    """Fifty cases that pass 98 times of 100: one trial in the baseline, and the history of each."""
    counts = {
        earlier: [(earlier, earlier)] * (50 - earlier) + [(earlier, earlier - 1)] * earlier for earlier in (4, 20, 40)
    }
    widths = []
    for known in counts.values():
        found = flip_alarm_range(known, [True] * 50, 1)
        assert found is not None
        assert found[0] < 1 - 0.98**50 < found[1]
        widths.append(found[1] - found[0])
    assert widths[0] > widths[1] > widths[2]


def test_where_nothing_is_watched_there_is_no_alarm() -> None:
    assert flip_alarm_range([(4, 2)] * 20, [False] * 20, 4) == (0, 0)


def test_failing_once_is_more_likely_than_failing_always() -> None:
    watched = [passes == 4 for _, passes in AIRLINE]
    once, always = (flip_alarm_range(AIRLINE, watched, 4, all_must_fail=rule) for rule in (False, True))
    assert once is not None
    assert always is not None
    assert always[1] < once[1]


def test_the_order_of_cases_does_not_matter() -> None:
    watched = [passes == 4 for _, passes in AIRLINE]
    assert flip_alarm_range(AIRLINE, watched, 4) == flip_alarm_range(AIRLINE[::-1], watched[::-1], 4)


def test_the_range_has_the_true_chance_nine_times_of_ten() -> None:
    draw = random.Random(20)
    inside = 0
    for _ in range(100):
        rates = [draw.betavariate(8, 2) for _ in range(12)]
        baseline = [draw.random() < rate for rate in rates]
        known = [
            (6, first + sum(draw.random() < rate for _ in range(5)))
            for first, rate in zip(baseline, rates, strict=True)
        ]
        found = flip_alarm_range(known, baseline, 1)
        assert found is not None
        truth = 1 - math.prod(rate for first, rate in zip(baseline, rates, strict=True) if first)
        inside += found[0] <= truth <= found[1]
    assert inside >= 90
