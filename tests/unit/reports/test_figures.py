"""Figures as lines: plain words first, followed by what they are based on."""

from __future__ import annotations

from typing import Any

import pytest
from reported import A, E, F, P, reported

from evalharness.domain.case import Case
from evalharness.domain.grade import Judging
from evalharness.domain.measurement import Measurement
from evalharness.reports.terminal.figures import FigureLine, figures, judging_text


def lines(states: Any, **given: Any) -> dict[str, FigureLine]:
    report, _ = reported(states, **given)
    return {line.label: line for line in figures(report, verbose=True)}


def test_the_pass_rate_comes_with_its_interval_and_what_it_rests_on() -> None:
    report, _ = reported({"a": [P, P], "b": [P, F], "c": [F, F]})
    rate, basis, *_ = figures(report, verbose=True)
    assert rate.text.startswith("50 %  ·├")
    assert rate.text.endswith("┤·  8–92 %")
    assert rate.small == "3 cases are too few to say more"
    start = "(95 % interval: Bayesian bootstrap plus one case, 3 cases, 6 trials, design effect "
    assert basis.small.startswith(start)
    assert next(figures(report)) == rate
    assert all(start not in line.small for line in figures(report)), "methods are for those who ask"


def test_trials_that_are_counted_one_by_one_have_no_design_effect_to_report() -> None:
    report, _ = reported({"a": [P, P], "b": [P, F]})
    rate = report.measurements["pass_rate"].model_copy(update={"n_eff": 4.0})
    _, line, *_ = figures(report.model_copy(update={"measurements": {"pass_rate": rate}}), verbose=True)
    assert line.small == "(95 % interval: Bayesian bootstrap plus one case, 2 cases, 4 trials)"


def test_all_passed_is_not_certainty_and_shows_no_design_effect() -> None:
    report, _ = reported({"a": [P, P], "b": [P, P]})
    rate, basis, *_ = figures(report, verbose=True)
    assert rate.text.endswith("–100 %")
    assert basis.small == "(95 % interval: Bayesian bootstrap plus one case, 2 cases, 4 trials)"


def test_nothing_judged_is_said_in_words() -> None:
    assert lines({"a": [A], "b": [A]})["pass rate"].text == "none: no trial was judged"


def test_score_and_first_answers_are_reported_only_where_they_differ() -> None:
    same = lines({"a": [P, F]})
    assert "score" not in same
    assert "pass@1" not in same
    mended = lines({"a": [P, P], "b": [P, P]}, first_state=F)
    assert mended["pass rate"].text.startswith("100 %")
    assert mended["pass@1"].text.startswith("0 %")


@pytest.mark.parametrize(
    ("value", "half_width", "shown"),
    [(0.999998, 0.1, "above 99 %"), (0.999998, 0.001, "above 99.9 %"), (1.0, 0.1, "100 %"), (0.0002, 0.1, "below 1 %")],
)
def test_a_score_is_shown_no_finer_than_its_interval(value: float, half_width: float, shown: str) -> None:
    report, _ = reported({"a": [P, P], "b": [P, F]})
    rate = report.measurements["pass_rate"]
    ends = {"low": max(value - half_width, 0.0), "high": min(value + half_width, 1.0)}
    score = rate.model_copy(update={"value": value, "half_width": half_width, **ends})
    found = figures(report.model_copy(update={"measurements": {"pass_rate": rate, "score": score}}), verbose=True)
    [line] = [line for line in found if line.label == "score"]
    assert line.text.startswith(f"{shown}  (")


def test_pass_rate_score_and_first_answers_weigh_cases_alike() -> None:
    heavy = (Case(id="a", input="?", weight=3.0), Case(id="b", input="?"), Case(id="c", input="?", weight=0.0))
    report, _ = reported({"a": [P], "b": [F], "c": [F]}, heavy)
    code = report.summary.by_grader["code"]
    assert (code.pass_rate, code.passed, code.total) == (0.75, 1, 3)
    found = {line.label: line for line in figures(report, verbose=True)}
    assert found["pass rate"].text.startswith("75 %")
    assert any(line.small.startswith("(cases by weight, ") for line in figures(report, verbose=True))
    assert not {"score", "pass@1"} & found.keys()


def test_weights_that_leave_the_value_alone_but_not_the_interval_are_reported() -> None:
    cases = tuple(Case(id=f"c{number}", input="?", weight=1 if number else 1000) for number in range(60))
    states = {case.id: [P] for case in cases}
    weighed, alike = lines(states, cases=cases)["pass rate"], lines(states)["pass rate"]
    assert weighed.text.startswith("100 %  ")
    assert weighed.text != alike.text


def test_what_makes_first_answers_differ_is_reported_and_nothing_else() -> None:
    report, _ = reported({"a": [P, P], "b": [P, P]}, first_state=F)
    retried = report.model_copy(update={"metadata": report.metadata.model_copy(update={"retry_failed": True})})
    mended = {line.label: line for line in figures(retried, verbose=True)}
    basis = "95 % interval: Bayesian bootstrap plus one case, 2 cases, 4 trials"
    assert mended["pass@1"].small == f"(only first answers count here; {basis})"


def test_cases_without_any_weight_are_said_to_have_none() -> None:
    light = tuple(Case(id=id_, input="?", weight=0) for id_ in "ab")
    report, _ = reported({"a": [P], "b": [F]}, light)
    names = ("pass_rate", "pass_at_1", "pass_hat_1", "score")
    assert {name: report.metrics[name] for name in names} == dict.fromkeys(names)
    assert (report.summary.pass_rate, report.summary.case_pass_rate) == (None, 0.5)
    found = {line.label: line for line in figures(report, verbose=True)}
    assert found["pass rate"].text == "none: every judged case has weight 0"


def test_several_tries() -> None:
    found = lines({"a": [P, P, F, F], "b": [P, P, P, P]})
    assert found["in 2 tries"].text.startswith("at least one passes 92 % (")
    assert "all pass 58 % (" in found["in 2 tries"].text
    basis = "95 % interval: Bayesian bootstrap plus one case, 2 cases, 8 trials"
    assert found["in 2 tries"].small == f"(pass@2, pass^2, unbiased; {basis})"
    assert "in 4 tries" not in found


def test_tries_that_errors_left_too_few_of() -> None:
    found = lines({f"c{number}": [P, P, P, P] for number in range(9)} | {"a": [P, E, E, P]})
    assert found["in 3 tries"].text == "not known: 1 of 10 cases has fewer than 3 judged trials"
    assert found["in 2 tries"].text.startswith("at least one passes")


def test_errors_show_how_far_they_could_matter() -> None:
    found = lines({"a": [P, P], "b": [P, E]})
    told = "1 trial could not be judged: had it failed, the pass rate would be 75 %; had it passed, 100 %"
    assert found["errors"].text == told
    assert "errors" not in lines({"a": [P, F]})


def test_where_every_trial_erred_nothing_is_reported_twice() -> None:
    found = lines({"a": [E, E, E], "b": [E, E, E]})
    assert found["pass rate"].text == "none: no trial was judged"
    assert found["errors"].text == "6 trials could not be judged: the pass rate is unknown"
    assert not {"pass@1", "in 3 tries"} & set(found)


def test_categories_are_reported_where_there_are_several() -> None:
    cases = [Case(id=id_, input="?", category=category) for id_, category in (("a", "x"), ("b", "x"), ("c", "y"))]
    report, _ = reported({"a": [P], "b": [F], "c": [P]}, cases)
    told = [line.text for line in figures(report, verbose=True) if "pass rate" in line.text]
    assert not any("pass rate" in line.text for line in figures(report)), "only for those who ask"
    assert told == [
        "x: 1 of 2 cases passed, pass rate 50 % (2–98)",
        "y: 1 of 1 case passed, pass rate 100 % (21–100)",
    ]


def test_difficulties_are_told_from_easy_to_hard() -> None:
    cases = [Case(id=word, input="?", difficulty=word) for word in ("hard", "easy", "medium", "brutal")]
    report, _ = reported({"hard": [F], "easy": [P], "medium": [P], "brutal": [F]}, cases)
    told = [line for line in figures(report, verbose=True) if "of 1 case passed" in line.text]
    assert [line.label for line in told] == ["difficulty", "", "", ""]
    assert [line.text.partition(":")[0] for line in told] == ["easy", "medium", "hard", "brutal"]


def test_times_and_costs() -> None:
    found = lines({"a": [P], "b": [P], "c": [F]}, duration_s=1.5, cost_usd=0.25, tokens=1000)
    assert found["latency"].text.startswith("median 1.5 s")
    assert found["slowest"].text.split("   ")[0].endswith("#1 1.5 s")
    assert found["slowest"].small == "(whole run 2.5 s)"
    assert found["cost"].text.startswith("$0.75   3,000 tokens in, 3,000 out   a trial: median $0.25")


def test_where_no_tokens_were_reported_none_are_shown() -> None:
    silent = Judging(model="e/x", calls=2)
    assert judging_text(silent) == "e/x: 2 calls, tokens not reported, at an unknown price"
    assert judging_text(silent.model_copy(update={"input_tokens": 7})).startswith("e/x: 2 calls, 7 tokens in, 0 out")


def test_a_median_counts_clusters_where_cases_share_them() -> None:
    cases = [Case(id=f"c{number}", input="?", cluster=f"group {number % 2}") for number in range(20)]
    found = lines({case.id: [P] for case in cases}, cases=cases)
    for label in ("latency", "cost"):
        assert found[label].small == "(20 cases in 2 clusters, too few for an interval)"


def test_a_sum_of_costs_says_how_many_trials_report_none() -> None:
    report, _ = reported({"a": [P, P], "b": [P, E]})
    assert next(line for line in figures(report, verbose=True) if line.label == "cost").text.startswith("$0.06   ")
    told = report.measurements["cost_usd"].model_copy(update={"n_trials": 1})
    partly = report.model_copy(update={"measurements": report.measurements | {"cost_usd": told}})
    text = next(line for line in figures(partly, verbose=True) if line.label == "cost").text
    assert text.startswith("$0.06 (2 of 3 judged trials report none)   ")


@pytest.mark.parametrize(
    ("label", "low", "high", "told"),
    [
        ("latency", 0.0161, 0.0164, "median 16.2 ms   98 % interval 16.1 ms to 16.4 ms"),
        ("latency", 130.0, 130.4, "median 130.2 s   98 % interval 130.0 s to 130.4 s"),
        ("cost", 0.01231, 0.01234, "median $0.01232   98 % interval $0.01231 to $0.01234"),
        ("cost", 0.00001, 0.00003, "median $0.00002   98 % interval $0.00001 to $0.00003"),
        ("cost", 0.01, 0.01, "median $0.01   98 % interval $0.01 to $0.01"),
    ],
)
def test_ends_of_an_interval_that_differ_read_unlike(label: str, low: float, high: float, told: str) -> None:
    report, _ = reported({"a": [P], "b": [P]})
    name = {"latency": "latency_s", "cost": "cost_usd"}[label]
    median = Measurement(value=(low + high) / 2, low=low, high=high, level=0.98, n_cases=9, n_trials=2)
    measured = report.model_copy(update={"measurements": report.measurements | {name: median}})
    assert next(line for line in figures(measured, verbose=True) if line.label == label).text.endswith(told)


def test_no_cost_is_reported_where_none_is_known() -> None:
    assert "cost" not in lines({"a": [P]}, cost_usd=None, tokens=None)


@pytest.mark.parametrize("label", ["pass rate", "in 2 tries", "latency"])
def test_no_interval_is_ever_nothing(label: str) -> None:
    text = lines({f"c{number}": [P, P, P, P] for number in range(8)})[label].text
    assert "±" not in text
    assert "100–100" not in text
