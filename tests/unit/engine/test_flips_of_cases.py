"""Which lost cases fail a gate by themselves."""

from __future__ import annotations

import pytest

from evalharness.domain.comparison import CaseChange, ComparedRun, Comparison, Flips, PastAnswers
from evalharness.domain.finding import finding
from evalharness.engine.comparing.flips import judge_flips

NONE: tuple[str, ...] = ()


def judged(before: tuple[int, int], now: tuple[int, int], past: PastAnswers | None = None) -> Flips:
    """Each side as (trials, passes)."""
    change = CaseChange(case_id="a", old_trials=before[0], old_passed=before[1], new_trials=now[0], new_passed=now[1])
    side = ComparedRun(run_id="r", run_name="r", suite_name="s", variant="", timestamp="")
    compared = Comparison(old=side, new=side, verdict="INCONCLUSIVE", why=finding("text", text=""), cases=(change,))
    return judge_flips(compared, {"a": past} if past else {})


@pytest.mark.parametrize(
    ("before", "now", "is_lost"),
    [
        ((1, 1), (1, 0), True),
        ((1, 1), (4, 0), True),
        ((4, 4), (1, 0), True),
        ((1, 1), (4, 1), False),
        ((4, 3), (1, 0), False),
        ((1, 0), (1, 0), False),
        ((2, 2), (2, 0), False),
        ((4, 4), (4, 0), False),
        ((5, 5), (5, 0), True),
        ((5, 5), (9, 0), True),
        ((5, 5), (5, 1), False),
        ((9, 8), (5, 0), False),
        ((5, 5), (4, 0), False),
    ],
)
def test_without_a_past_one_trial_is_enough_or_five(
    before: tuple[int, int], now: tuple[int, int], is_lost: bool
) -> None:
    assert judged(before, now).cases == (("a",) if is_lost else NONE)


def test_a_case_that_flips_by_itself_is_excused_where_one_trial_decides() -> None:
    past = PastAnswers(results=8, passed=7, flips=True)
    assert (judged((1, 1), (1, 0), past).cases, judged((1, 1), (1, 0), past).excused) == (NONE, ("a",))
    assert judged((5, 5), (5, 0), past).cases == ("a",), "five against five is not chance"


@pytest.mark.parametrize(
    ("trials", "results", "passed", "is_lost"),
    [(3, 5, 5, True), (4, 5, 5, True), (3, 4, 4, False), (4, 9, 8, False), (2, 20, 20, False)],
)
def test_three_or_four_trials_need_a_past_of_five_passes(trials: int, results: int, passed: int, is_lost: bool) -> None:
    past = PastAnswers(results=results, passed=passed, flips=0 < passed < results)
    assert judged((trials, trials), (trials, 0), past).cases == (("a",) if is_lost else NONE)
