"""Which cases of two runs are compared, which are not, and what is reported if none is left."""

from __future__ import annotations

import pytest
from compared import alike, case, report

from evalharness.domain.gate import RegressionRule
from evalharness.domain.grade import Judging
from evalharness.engine.comparing.comparison import compare
from evalharness.engine.comparing.pairs import pair_cases
from evalharness.errors import UsageError
from evalharness.reports.words.say import say


def test_every_case_is_accounted_for() -> None:
    old = report(case("same", 1, 1), case("edited", 1, 1, key="a"), case("gone", 1, 1), case("broken", 1, 1))
    new = report(case("new", 1, 1), case("broken", 0, 0), case("edited", 1, 0, key="b"), case("same", 1, 0))
    found = pair_cases([old], new)
    assert [(before.case_id, now.case_id) for before, now in found.pairs] == [("same", "same")]
    assert (found.changed, found.added, found.removed, found.unjudged) == (
        ("edited",),
        ("new",),
        ("gone",),
        ("broken",),
    )


def test_reports_without_keys_are_matched_by_name_and_say_so() -> None:
    old = report(case("a", 2, 2, key=""), case("b", 2, 2))
    new = report(case("a", 2, 2), case("b", 2, 2))
    found = compare(old, new, RegressionRule())
    assert found.n_cases == 2
    assert tuple(map(say, found.notes))[:-1] == (
        "one case matched by name only: one of the reports does not say whether the case has changed",
    )


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        (report(), report(case("a", 1, 1)), "the old report .* contains no results for individual cases", "--json"),
        (report(case("a", 1, 1)), report(), "the new report .* contains no results for individual cases", "--json"),
        (report(case("a", 1, 1, key="1")), report(case("a", 1, 1, key="2")), "the one case .* was changed", "baseline"),
        (report(*alike(2, 1, 1, key="1")), report(*alike(2, 1, 1, key="2")), "all 2 cases .* were changed", "none"),
        (
            report(case("a", 1, 1, key="1 x")),
            report(case("a", 1, 1, key="1 y")),
            r"the one case .* was graded in another way \(other graders\)",
            "baseline",
        ),
        (report(case("a", 1, 1)), report(case("a", 0, 0)), "the one case .* not judged in one of them", "resume"),
        (report(case("a", 1, 1)), report(case("b", 1, 1)), "no case in common", "same cases"),
        (
            report(case("a", 1, 1), suite_name="x"),
            report(case("b", 1, 1), suite_name="y"),
            "two suites, x and y",
            "one suite",
        ),
        (
            report(case("a", 1, 1, key="1"), suite_name="x"),
            report(case("a", 1, 1, key="2"), suite_name="y"),
            "two suites, x and y",
            "one suite",
        ),
    ],
)  # fmt: skip
def test_nothing_to_compare_says_what_to_do(old: object, new: object, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        pair_cases([old], new)  # type: ignore[arg-type]
    assert hint in say(raised.value.hint)


def test_a_change_of_judge_is_not_reported_as_a_change_of_the_question() -> None:
    judges = [report(case("a", 2, 2), case("b", 2, 2, key=f"1 {name}")) for name in ("x", "y")]
    old, new = (
        each.model_copy(update={"judging": (Judging(model=name),)}) for each, name in zip(judges, "AB", strict=True)
    )
    told = "1 of 1 changed cases ask the same question but are graded differently: judged by A before, by B now"
    assert tuple(map(say, compare(old, new, RegressionRule()).notes))[:-1] == (told,)


def test_everything_quarantined_is_not_a_comparison() -> None:
    with pytest.raises(UsageError, match="quarantined"):
        pair_cases([report(*alike(2, 1, 1))], report(*alike(2, 1, 1)), {"c0", "c1"})
