"""What would settle a comparison: every sentence is checked with the rule itself, on as much data as it names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from compared import airline, alike, case, report

from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import compare
from evalharness.reports.words.say import say

CASES = re.compile(r"about ([\d,]+) cases like these .*\(now .+\) would show (REGRESSION|NO REGRESSION)")
TRIALS = re.compile(r"(?:(twice)|(\d+) times) as many trials per case in both runs .*would show a (REGRESSION)")


def enlarged(told: Report, cases: int = 1, trials: int = 1) -> Report:
    """This many copies of every case, each with this many times its trials."""
    more = [
        replace(
            case,
            case_id=f"{case.case_id} {copy}",
            trials=case.trials * trials,
            passed=case.passed * trials,
            cluster=f"{case.cluster} {copy}" if case.cluster else "",
        )
        for case in told.cases
        for copy in range(cases)
    ]
    return told.model_copy(update={"cases": tuple(more)})


def settled(old: Report, new: Report, **rule: Any) -> tuple[str, str]:
    """The statement, and the verdict on as much data as it names, in whole copies."""
    by = RegressionRule(**rule)
    found = compare(old, new, by)
    assert found.verdict == "INCONCLUSIVE"
    if wanted := TRIALS.search(say(found.settle)):
        times = 2 if wanted[1] else int(wanted[2])
        assert compare(enlarged(old, trials=times), enlarged(new, trials=times), by).verdict == wanted[3]
        assert compare(enlarged(old, trials=times - 1), enlarged(new, trials=times - 1), by).verdict == "INCONCLUSIVE"
    elif wanted := CASES.search(say(found.settle)):
        number = int(wanted[1].replace(",", ""))
        copies = -(-number // len(old.cases))
        assert compare(enlarged(old, copies), enlarged(new, copies), by).verdict == wanted[2]
        if copies > 2:
            assert compare(enlarged(old, copies // 2), enlarged(new, copies // 2), by).verdict == "INCONCLUSIVE"
    return say(found.settle), found.verdict


def other_ways() -> tuple[Report, Report]:
    return (
        report(*alike(10, 8, 8), *alike(10, 8, 0, first=10)),
        report(*alike(10, 8, 0), *alike(10, 8, 8, first=10)),
    )


@pytest.mark.parametrize(
    ("old", "new", "rule", "told"),
    [
        (report(*alike(50, 10, 10)), report(*alike(50, 10, 10)), {}, "about 59 cases like these (now 50) would show"),
        (report(case("a", 1000, 1000)), report(case("a", 1000, 999)), {}, "about 5 cases like these (now 1)"),
        (report(*alike(30, 4, 4)), report(*alike(30, 4, 3)), {"tolerance": 0.3}, "about 59 cases like these (now 30)"),
        (report(*alike(4, 1, 1)), report(*alike(4, 1, 0)), {}, "twice as many trials per case in both runs (2, now 1)"),
        (airline(), airline(), {"margin": 0.02}, "about 149 cases like these (now 50) would show NO REGRESSION, if "),
        (*other_ways(), {}, "about 1,086 cases like these (now 20) would show NO REGRESSION, if nothing else changes"),
    ],
)  # fmt: skip
def test_what_is_said_is_true(old: Report, new: Report, rule: Any, told: str) -> None:
    assert settled(old, new, **rule)[0].startswith(told)


def test_scores_and_times_are_settled_by_more_cases() -> None:
    shift = [0.1, -0.04, 0.0, 0.02, -0.06]
    old = report(*(case(f"c{n}", 1, 1, score=0.5, duration_s=1.0) for n in range(5)))
    scores = report(*(case(f"c{n}", 1, 1, score=0.5 + d, duration_s=1.0) for n, d in enumerate(shift)))
    assert CASES.search(settled(old, scores, metrics=("score",))[0])
    times = report(*(case(f"c{n}", 1, 1, score=0.5, duration_s=1.0 + d) for n, d in enumerate(shift)))
    assert CASES.search(settled(old, times, metrics=("latency",))[0])


def test_clusters_are_copied_as_a_whole() -> None:
    old, new = (report(*(case(f"c{n}", 4, 4, cluster=f"repo {n // 5}") for n in range(20))) for _ in range(2))
    told, _ = settled(old, new)
    assert (
        told
        == "about 300 cases like these in 60 clusters (now 20 in 4) would show NO REGRESSION, if nothing else changes"
    )


def test_a_loss_that_is_accepted_is_never_said_to_become_a_regression() -> None:
    """Copies of the worst case alone would turn 28.6 points into more than the tolerated 30."""
    old, new = report(*alike(7, 4, 4)), report(*alike(4, 4, 2), *alike(3, 4, 4, first=4))
    told, _ = settled(old, new, tolerance=0.3)
    assert told == "about 819 cases like these (now 7) would show NO REGRESSION, if nothing else changes"


def test_other_figures_of_the_family_are_allowed_for() -> None:
    """A p-value that was cut off at 1 does not show how much it is raised where it is smaller."""
    same: dict[str, Any] = {"score": 0.6, "duration_s": 1.0, "cost_usd": 1.0}
    old, new = report(*alike(10, 4, 2, **same)), report(*alike(3, 4, 1, **same), *alike(7, 4, 2, first=3, **same))
    told, _ = settled(old, new, metrics=("pass_rate", "score", "latency", "cost"))
    assert told.startswith("for the pass rate, 12 times as many trials per case")


def test_what_no_size_can_settle_is_said_to_be_so() -> None:
    old, new = report(*alike(30, 4, 4)), report(*alike(30, 4, 3))
    accepted, _ = settled(old, new, tolerance=0.25)
    assert (
        accepted == "nothing can: the loss is within what is accepted (25 points), but not below the margin (25 points)"
    )
    nothing, _ = settled(report(*alike(9, 2, 0)), report(*alike(9, 2, 0)))
    assert nothing == "nothing can: no trial passed before, so none can get worse"
    far, _ = settled(*other_ways(), margin=0.001)
    assert far == "more than 8,192 cases like these (now 20) would be needed"
