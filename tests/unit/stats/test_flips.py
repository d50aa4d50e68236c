from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.flips import StrictFlips, flip_rate, strict_flips_false_alarm

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())
AIRLINE = [(4, passes) for passes, cases in enumerate([14, 12, 10, 4, 10]) for _ in range(cases)]


def strict(counts: list[tuple[int, int]], new_trials: int | None = None) -> StrictFlips:
    found = strict_flips_false_alarm(counts, new_trials)
    assert found is not None
    return found


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
        strict_flips_false_alarm([(4, 4), (3, -1)])
    with pytest.raises(UsageError):
        strict_flips_false_alarm([(4, 4)], new_trials=0)


def test_the_strict_rule_cries_wolf_on_a_published_agent() -> None:
    found = strict(AIRLINE)
    assert found.false_alarm == pytest.approx(0.969, abs=0.01)  # simulated: 50 cases, 4 trials each
    assert found.watched == 10
    assert found.false_alarm_now > 0.9


def test_the_strict_rule_cries_wolf_on_a_good_agent_tried_once() -> None:
    found = strict([(1, 1)] * 90 + [(1, 0)] * 10)
    assert found.false_alarm == pytest.approx(0.998, abs=0.001)  # simulated: 100 cases, 1 trial each
    assert found.watched == 90


def test_a_faultless_baseline_promises_few_alarms_but_not_none() -> None:
    found = strict([(4, 4)] * 10)
    assert 0.05 < found.false_alarm < 0.25
    assert 0.05 < found.false_alarm_now < 0.25
    assert found.watched == 10


def test_more_new_trials_raise_more_alarms() -> None:
    assert strict(AIRLINE, 1).false_alarm < strict(AIRLINE).false_alarm < strict(AIRLINE, 16).false_alarm
    assert strict(AIRLINE) == strict(AIRLINE, 4)


def test_a_baseline_that_never_always_passed_watches_nothing() -> None:
    found = strict([(4, 2)] * 20)
    assert (found.watched, found.false_alarm_now) == (0, 0.0)
    assert str(found.false_alarm_now) == "0.0"


def test_cases_without_trials_do_not_count() -> None:
    assert strict([*AIRLINE, (0, 0)]) == strict(AIRLINE)
    assert strict_flips_false_alarm([]) is None
    assert strict_flips_false_alarm([(0, 0)]) is None


def test_the_estimate_is_near_the_rate_of_simulated_runs() -> None:
    # Eight cases that differ moderately: an alarm in two of three runs leaves room to be wrong both ways.
    draw = random.Random(20)
    rates = [draw.betavariate(1.5, 1.0) for _ in range(40)]
    estimates, alarms = [], 0
    for _ in range(600):
        chosen = draw.sample(rates, 8)
        baseline = [sum(draw.random() < rate for _ in range(4)) for rate in chosen]
        estimates.append(strict([(4, passes) for passes in baseline]).false_alarm)
        alarms += any(
            passes == 4 and any(draw.random() >= rate for _ in range(4))
            for passes, rate in zip(baseline, chosen, strict=True)
        )
    assert sum(estimates) / len(estimates) == pytest.approx(alarms / 600, abs=0.08)
