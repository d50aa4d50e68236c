"""How each case changed: the exact test of one case, the correction for many, and the order."""

from __future__ import annotations

import pytest
from compared import alike, case, report

from evalharness.domain.comparison import CaseChange
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import case_changes
from evalharness.engine.comparing.pairs import pair_cases


def changes(old: Report, new: Report) -> tuple[CaseChange, ...]:
    return case_changes(pair_cases([old], new).pairs, 0.05)


def test_the_surest_loss_comes_first_and_the_surest_gain_last_and_what_stayed_is_not_listed() -> None:
    old = report(
        case("gain", 8, 0), case("a bit", 8, 8), case("same", 8, 4), case("loss", 8, 8), case("dip", 8, 5, score=0.9)
    )
    new = report(
        case("gain", 8, 8), case("a bit", 8, 7), case("same", 8, 4), case("loss", 8, 0), case("dip", 8, 5, score=0.7)
    )
    found = changes(old, new)
    assert [change.case_id for change in found] == ["loss", "a bit", "dip", "gain"]
    assert [change.direction for change in found] == [-1, -1, -1, 1]
    assert [change.delta for change in found] == [-1, -0.125, 0, 1]


def test_p_is_the_chance_of_so_few_passes_if_the_passes_fell_to_either_run_by_chance() -> None:
    (found,) = changes(report(case("a", 4, 4)), report(case("a", 4, 1)))
    assert found.p == pytest.approx(4 / 56)  # of C(8, 5) ways, 4 leave one pass to the new run, and none leaves fewer
    assert found.q == found.p


def test_many_other_cases_make_a_flag_harder_and_critical_ones_are_judged_apart() -> None:
    old, new = case("worse", 8, 8), case("worse", 8, 2)
    (alone,) = changes(report(old), report(new))
    among = changes(report(old, *alike(99, 8, 4)), report(new, *alike(99, 8, 4)))[0]
    assert (alone.flagged, among.case_id, among.flagged) == (True, "worse", False)
    tagged = {"criticality": "critical"}
    critical = changes(
        report(case("worse", 8, 8, **tagged), *alike(99, 8, 4)), report(case("worse", 8, 2, **tagged), *alike(99, 8, 4))
    )[0]
    assert (critical.critical, critical.flagged) == (True, True)


def test_a_flip_is_from_all_passed_to_not_all() -> None:
    old = report(case("flip", 3, 3), case("flaky", 3, 2), case("fine", 3, 3))
    new = report(case("flip", 3, 2), case("flaky", 3, 0), case("fine", 3, 3))
    assert {change.case_id for change in changes(old, new) if change.flipped} == {"flip"}
