"""What a report says about its cases: flaky, quarantined, not separating targets; and what to do next, in few lines."""

from __future__ import annotations

from typing import Any

from reported import F, P, reported

from evalharness.domain.report import CaseItem, FlakyCase, ItemAnalysis, Recommendation, Report
from evalharness.reports.terminal.case_findings import advice, flaky, items, quarantined

HELD = {"quarantine": [{"case": "b", "reason": "flaky", "owner": "Ada", "expires": "2027-01-01"}]}


def told(gate: Any = None, **update: Any) -> Report:
    report, _ = reported({"a": [P, F], "b": [P, P]}, gate=gate)
    return report.model_copy(update=update)


def unsteady(number: int, **more: Any) -> FlakyCase:
    return FlakyCase(case_id=f"c{number}", flip_rate=0.5, passed=3, trials=6, **more)


def item(case_id: str, flag: str, difficulty: float = 0.4, discrimination: float | None = -0.3) -> CaseItem:
    return CaseItem(case_id=case_id, difficulty=difficulty, discrimination=discrimination, targets=5, flag=flag)


def analysis(*cases: CaseItem, reliability: float | None = 0.812) -> ItemAnalysis:
    return ItemAnalysis(cases=cases, reliability=reliability, runs={f"t{n}": f"run-{n}" for n in range(5)})


def test_nothing_found_is_nothing_said() -> None:
    report = told()
    assert [*flaky(report), *items(report)] == []


def test_flaky_cases_with_their_rates_and_how_many_are_new() -> None:
    [line] = flaky(told(flaky=(unsteady(1, new=True, runs=4), unsteady(2))))
    assert line.label == "flaky"
    assert line.text == (
        "2 cases (flip rate ≥ 30 %): c1 50 % (3 of 6 trials passed), c2 50 % (3 of 6 trials passed) – 1 new"
    )
    assert line.small == "(chance that two trials of a case disagree, unbiased, over up to 4 comparable runs)"


def test_a_rate_that_no_case_can_have_is_reported_as_one_of_few_trials() -> None:
    """Two trials of a coin disagree half of the time; a single pair always or never does."""
    [line] = flaky(told(flaky=(FlakyCase(case_id="pair", flip_rate=1.0, passed=1, trials=2), unsteady(2))))
    assert line.small.endswith("over this run; over 50 % because there are few trials)")


def test_many_flaky_cases_are_named_in_part() -> None:
    [line] = flaky(told(flaky=tuple(unsteady(number) for number in range(8))))
    assert line.text.startswith("8 cases")
    assert line.text.endswith("c2 50 % (3 of 6 trials passed) and 5 more")


def test_cases_that_seldom_flip_are_distinguished() -> None:
    seldom = FlakyCase(case_id="rare", flip_rate=0.1, passed=19, trials=20)
    [line] = flaky(told(flaky=(seldom,)))
    assert line.text == "1 case (flip rate < 30 %): rare 10 % (19 of 20 trials passed)"
    [line] = flaky(told(flaky=(unsteady(1, new=True), seldom)))
    assert line.text == (
        "1 case (flip rate ≥ 30 %): c1 50 % (3 of 6 trials passed) – "
        "1 case (flip rate < 30 %): rare 10 % (19 of 20 trials passed) – 1 new"
    )


def test_quarantined_cases_are_named_and_distinguished_from_flaky_ones() -> None:
    [line] = flaky(told(HELD, flaky=(unsteady(1),)))
    [held] = quarantined(told(HELD))
    assert "quarantined" not in line.text, "another case is in quarantine"
    assert (held.label, held.text) == ("quarantined", "1 case that the gate does not count: b")
    [line] = flaky(told(HELD, flaky=(unsteady(1).model_copy(update={"case_id": "b"}),)))
    assert line.text.endswith(" – 1 quarantined")


def test_many_names_are_counted_like_all_numbers() -> None:
    [line] = flaky(told(flaky=tuple(unsteady(number) for number in range(1036))))
    assert line.text.startswith("1,036 cases") and line.text.endswith(" and 1,033 more")


def test_only_flagged_items_are_shown_the_most_informative_first() -> None:
    found = analysis(
        item("easy", "everyone passes", 1.0, None), item("odd", "negative discrimination"), item("fine", "", 0.5, 0.6)
    )
    head, *rest = items(told(items=found))
    assert (head.label, head.text) == ("items", "5 targets tried these cases: 2 cases may deserve a look")
    assert head.small == "(Cronbach's alpha 0.81, newest run of each that tried most cases)"
    assert [line.text for line in rest] == [
        "odd: weak targets pass it more often than strong ones: its key may be wrong "
        "(40 % pass, discrimination -0.30 over 5 targets)",
        "easy: every target passes it: it does not separate targets",
    ]


def test_many_items_are_cut_and_none_is_said_in_words() -> None:
    lines = list(items(told(items=analysis(*(item(f"c{n}", "everyone fails", 0.0, None) for n in range(30))))))
    assert len(lines) == 12
    assert lines[-1].text == "… and 20 more cases"
    [line] = items(told(items=analysis(reliability=None)))
    assert line.text.endswith("no case stands out")
    assert "not known" in line.small


def test_advice_that_is_left_out_leaves_every_kind_in() -> None:
    given = [
        *(Recommendation(kind="errors", text=f"error {n}", cases=()) for n in range(9)),
        Recommendation(kind="never", text="never"),
        Recommendation(kind="quarantine", text="hold"),
    ]
    texts = [line.text for line in advice(told(recommendations=tuple(given)))]
    assert texts == ["error 0", "error 1", "error 2", "error 3", "never", "hold", "… and 5 more in --json"]


def test_advice_is_short_names_its_cases_and_says_what_it_leaves_out() -> None:
    given = tuple(Recommendation(text=f"do {n}", cases=tuple(f"c{i}" for i in range(7))) for n in range(9))
    lines = list(advice(told(recommendations=given)))
    assert [line.label for line in lines] == ["advice", *[""] * 6]
    assert [line.text for line in lines] == [*(f"do {n}" for n in range(6)), "… and 3 more in --json"]
    assert len(list(advice(told(recommendations=given[:6])))) == 6
    assert lines[0].small == "(c0, c1, c2 and 4 more)"
    assert list(advice(told(recommendations=()))) == []
