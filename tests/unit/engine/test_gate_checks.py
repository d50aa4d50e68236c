"""Gates: every check, when it is passed, failed, undecided or impossible, and the overall result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest
from reported import counted

from evalharness.domain.case import Case
from evalharness.domain.comparison import CaseChange, ComparedRun, Comparison
from evalharness.domain.gate import Gate, GateCheck, GateResult
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Outcome
from evalharness.engine.gating.gate_checks import check_trials, judge_gate
from evalharness.engine.measuring.recommendations import recommend_limits
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.errors import UsageError
from evalharness.reports.words.say import say

TODAY = date(2026, 11, 16)
P: Any
P, F, E, S, A = "passed", "failed", "error", "skipped", "awaiting"


def judged(
    gate: Any,
    written: Mapping[str, Any],
    *,
    cases: Sequence[Case] = (),
    comparison: Comparison | None = None,
    not_compared: str = "",
    **given: Any,
) -> GateResult:
    """What a gate says about cases with these trials; `cost_usd` and `duration_s` apply to each of them."""
    states = {id_: [of] if isinstance(of, str) else of for id_, of in written.items()}
    trials = max(map(len, states.values()))
    rows = [
        Outcome(
            case_id,
            index,
            state,
            state,
            {P: 1.0, F: 0.0}.get(state),
            "",
            given.get("duration_s", 0.1),
            given.get("cost_usd"),
            None,
            None,
            json.dumps([]),
        )
        for case_id, listed in states.items()
        for index, state in enumerate(listed)
    ]
    suite = Suite(name="s", cases=tuple(cases) or tuple(Case(id=id_, input="?") for id_ in states))
    measured = count_trials(suite, trials, rows)
    return judge_gate(
        Gate.model_validate(gate),
        suite,
        trials,
        measured,
        comparison=comparison,
        today=TODAY,
        not_compared=not_compared,
    )


def suite_of(*ids: str, trials: int) -> Suite:
    return Suite(name="s", cases=tuple(Case(id=id_, input="?") for id_ in ids), trials=trials)


def only(result: GateResult) -> GateCheck:
    [check] = result.checks
    return check


def many(passed: int, failed: int) -> dict[str, Any]:
    return {f"c{index}": P if index < passed else F for index in range(passed + failed)}


def test_a_share_that_is_reached_or_missed() -> None:
    reached = judged({"thresholds": {"pass_rate": 0.5}}, {"a": P, "b": F})
    assert (reached.verdict, reached.exit_code, only(reached).value, only(reached).wanted) == ("PASSED", 0, 0.5, 0.5)
    missed = judged({"thresholds": {"pass_rate": 0.51}}, {"a": P, "b": F})
    assert (missed.verdict, missed.exit_code, only(missed).passed) == ("FAILED", 1, False)


def test_what_is_within_the_noise_is_reported() -> None:
    missed = judged({"thresholds": {"pass_rate": 0.9}}, many(87, 13))
    assert say(only(missed).text).startswith("pass rate 87 %, 90 % needed; the 95 % interval ")
    assert say(only(missed).text).endswith("includes that, so this may be chance")
    met = judged({"thresholds": {"pass_rate": 0.8}}, many(84, 16))
    assert "reaches below that, so this may be chance" in say(only(met).text)
    certain = judged({"thresholds": {"pass_rate": 0.5}}, many(95, 5))
    assert "chance" not in say(only(certain).text)
    hopeless = judged({"thresholds": {"pass_rate": 0.9}}, many(40, 60))
    assert "chance" not in say(only(hopeless).text)


def test_a_missed_threshold_never_reads_as_if_it_were_met() -> None:
    text = say(only(judged({"thresholds": {"pass_rate": 0.999}}, many(998, 2))).text)
    assert text.startswith("pass rate 99.8 %, 99.9 % needed")
    text = say(only(judged({"thresholds": {"pass_rate": 0.9}}, many(8996, 1004))).text)
    assert text.startswith("pass rate 89.96 %, 90 % needed"), "one decimal would read 90 %"
    text = say(only(judged({"thresholds": {"pass_rate": 0.967}}, many(29, 1))).text)
    assert text.startswith("pass rate 96.67 %, 96.7 % needed"), "97 % would read as enough"
    met = say(only(judged({"thresholds": {"pass_rate": 0.966}}, many(29, 1))).text)
    assert met.startswith("pass rate 97 %, 96.6 % needed")
    text = say(only(judged({"thresholds": {"pass_rate": 0.993}}, many(42, 2))).text)
    assert "the 95 % interval 85.1–99.4 % includes that" in text, "85–99 % would not"


def test_a_preset_asks_for_three_figures_of_three_trials() -> None:
    result = judged("production", {"a": [P, P, P], "b": [P, P, F]})
    assert [(check.name, check.wanted, check.passed) for check in result.checks] == [
        ("pass_at_1", 0.9, False),
        ("pass_at_3", 0.99, True),
        ("pass_hat_3", 0.8, False),
    ]
    assert result.exit_code == 1
    assert judged("production", {"a": [P, P, P], "b": [P, P, P]}).verdict == "PASSED"


def test_k_and_written_thresholds_win_over_the_preset() -> None:
    gate = {"preset": "development", "k": 2, "thresholds": {"pass^2": 0.1}}
    result = judged(gate, {"a": [P, P], "b": [P, F]})
    assert {check.name: check.wanted for check in result.checks} == {
        "pass_at_1": 0.7,
        "pass_at_2": 0.9,
        "pass_hat_2": 0.1,
    }
    one = judged({"preset": "development", "k": 1}, {"a": P, "b": P})
    assert [check.name for check in one.checks] == ["pass_at_1"]


@pytest.mark.parametrize("metric", ["pass@3", "pass^3", "pass_hat_3_plugin", "pass@k", "pass_hat_k"])
def test_more_trials_than_there_are_cannot_be_computed(metric: str) -> None:
    gate = Gate.model_validate({"thresholds": {metric: 0.5}})
    result = judged(gate.model_dump(), {"a": [P, P], "b": [P, P]})
    assert (result.verdict, result.exit_code, only(result).computable) == ("INVALID", 2, False)
    assert "run with --repeat 3" in say(only(result).text)
    with pytest.raises(UsageError) as raised:
        check_trials(gate, suite_of("a", trials=2))
    assert "--repeat 3" in say(raised.value.hint)
    check_trials(gate, suite_of("a", trials=3))


def test_a_group_without_cases_asks_for_no_trials() -> None:
    gate = Gate.model_validate({"thresholds": {"criticality": {"critical": {"pass^3": 0.8}}}})
    check_trials(gate, suite_of("a", trials=1))
    critical = Suite(name="s", cases=(Case(id="a", input="?", criticality="critical"),))
    with pytest.raises(UsageError, match=r"\(some thresholds come from evals/config/thresholds.yaml\): pass\^3 asks"):
        check_trials(gate, critical, "evals/config/thresholds.yaml")
    result = judged(gate.model_dump(), {"a": P})
    assert tuple(map(say, result.notes)) == (
        "no counted case has criticality critical, so its thresholds were not checked",
    )


def test_errors_that_leave_too_few_trials_are_reported() -> None:
    result = judged({"thresholds": {"pass^2": 0.5}}, {"a": [P, P], "b": [P, E]})
    assert result.exit_code == 2
    assert "1 of 2 cases has fewer than 2 judged trials" in say(only(result).text)


def test_thresholds_of_categories_and_criticalities() -> None:
    cases = [
        Case(id="a", input="?", category="strings", criticality="critical"),
        Case(id="b", input="?", eval_type="regression", criticality="low"),
        Case(id="c", input="?", category="strings", eval_type="capability"),
    ]
    gate = {
        "thresholds": {
            "categories": {"strings": {"pass_rate": 0.6}, "capability": {"pass_rate": 0.1}, "none": {"score": 1}},
            "criticality": {"critical": {"pass_rate": 1}},
        }
    }
    result = judged(gate, {"a": P, "b": F, "c": F}, cases=cases)
    assert {check.name: (check.value, check.passed) for check in result.checks} == {
        "pass_rate category strings": (0.5, False),
        "pass_rate category capability": (0.0, False),
        "pass_rate criticality critical": (1.0, True),
    }
    assert tuple(map(say, result.notes)) == ("no counted case has category none, so its thresholds were not checked",)
    assert say(result.checks[0].text).startswith("pass rate of category strings 50 %, 60 % needed")
    assert say(result.checks[2].text).startswith("pass rate of critical cases 100 %")


def test_the_share_of_cases_that_passed() -> None:
    result = judged({"thresholds": {"case_pass_rate": 0.5}}, {"a": [P, P], "b": [P, F], "c": [F, F]})
    assert (only(result).value, only(result).passed) == (pytest.approx(1 / 3), False)
    assert say(only(result).text).startswith("share of cases passed 33 %, 50 % needed")


@pytest.mark.parametrize(
    ("rule", "passed", "cases"),
    [
        (1, True, ()),
        (2, False, ("b",)),
        ("2 of 3", False, ("b",)),
        (3, False, ("a", "b")),
    ],
)
def test_so_many_trials_of_each_case(rule: Any, passed: bool, cases: tuple[str, ...]) -> None:
    result = judged({"each_case": rule}, {"a": [P, F, P], "b": [F, F, P], "skipped": [S, S, S]})
    assert (only(result).passed, only(result).cases) == (passed, cases)
    assert result.verdict == ("PASSED" if passed else "FAILED")


def test_trials_in_error_leave_a_case_undecided_and_never_fail_it() -> None:
    result = judged({"each_case": 2}, {"a": [P, P, P], "b": [P, F, E]})
    assert (result.verdict, result.exit_code, only(result).cases) == ("INCONCLUSIVE", 0, ("b",))
    assert judged({"each_case": 2}, {"a": [F, F, E]}).verdict == "FAILED", "even a pass would not be enough"
    strict = {"each_case": 2, "inconclusive": "fail"}
    assert judged(strict, {"a": [P, P, P], "b": [P, F, E]}).exit_code == 4


@pytest.mark.parametrize(("rule", "repeat"), [("2 of 3", 3), (3, 3)])
def test_other_numbers_of_trials_than_the_rule_is_about(rule: Any, repeat: int) -> None:
    result = judged({"each_case": rule}, {"a": [P, P]})
    assert result.exit_code == 2
    assert f"--repeat {repeat}" in say(only(result).text)
    with pytest.raises(UsageError, match="each_case asks for 3 trials"):
        check_trials(Gate.model_validate({"each_case": rule}), suite_of("a", trials=2))


def test_required_cases_that_are_missing_or_unjudged_fail_and_are_named() -> None:
    gate = {"required_cases": ["good", "bad", "gone", "skipped case"]}
    result = judged(gate, {"good": P, "bad": F, "skipped case": S, "other": F})
    assert only(result).cases == ("bad", "gone", "skipped case")
    told = "required cases must pass: missed by bad (failed), gone (not in this run), skipped case (skipped)"
    assert (say(only(result).text), result.exit_code) == (told, 1)
    assert judged({"required_cases": ["good"]}, {"good": P, "bad": F}).exit_code == 0


def test_grades_that_are_outstanding_leave_the_gate_open_whatever_the_policy() -> None:
    for gate in ({"required_cases": ["a"]}, {"thresholds": {"pass_rate": 0.5}}, {"each_case": 1}, {}):
        result = judged(gate, {"a": A, "b": P})
        assert (result.verdict, result.exit_code) == ("INCONCLUSIVE", 4), gate
    assert judged({"required_cases": ["b"]}, {"a": A, "b": P}).exit_code == 0, "no check uses a"


@pytest.mark.parametrize(
    "gate", [{"thresholds": {"pass_rate": 0.5}}, {"thresholds": {"score": 0.5}}, {"regression": True}, {}]
)
def test_while_nothing_is_graded_yet_the_gate_is_open(gate: Any) -> None:
    result = judged(gate, {"a": A, "b": A}, not_compared="no case was judged in both")
    assert (result.verdict, result.exit_code) == ("INCONCLUSIVE", 4), say(only(result).text)
    hopeless = judged({"thresholds": {"pass^3": 0.5}}, {"a": [A, A]})
    assert (hopeless.verdict, hopeless.exit_code) == ("INVALID", 2), "grades will not add a third trial"


def test_a_gate_that_asks_for_nothing_asks_for_every_case() -> None:
    assert judged({}, {"a": P, "b": S}).exit_code == 0
    failed = judged({"inconclusive": "fail"}, {"a": P, "b": F})
    assert (failed.exit_code, only(failed).name, only(failed).cases) == (1, "cases", ("b",))


@pytest.mark.parametrize(
    ("gate", "given", "passed"),
    [
        ({"max_cost_usd": 0.3}, {"cost_usd": 0.1}, True),
        ({"max_cost_usd": 0.2}, {"cost_usd": 0.1}, False),
        ({"max_cost_usd_per_trial": 0.2}, {"cost_usd": 0.1}, True),
        ({"max_cost_usd_per_trial": 0.1}, {"cost_usd": 0.1}, False),
        ({"max_latency_s": 2}, {"duration_s": 1.5}, True),
        ({"max_latency_s": 1.5}, {"duration_s": 1.5}, False),
        ({"max_median_latency_s": 2}, {"duration_s": 1.5}, True),
        ({"max_median_latency_s": 1.5}, {"duration_s": 1.5}, False),
    ],
)
def test_limits_must_not_even_be_reached(gate: Any, given: Any, passed: bool) -> None:
    result = judged(gate, {"a": P, "b": F}, **given)
    assert only(result).passed is passed
    assert only(result).wanted == next(iter(gate.values()))


def test_the_last_bit_of_a_sum_does_not_bring_it_below_its_limit() -> None:
    cases = dict.fromkeys("abcdefgh", P)
    assert sum([0.1] * 8) < 0.8
    assert only(judged({"max_cost_usd": 0.8}, cases, cost_usd=0.1)).passed is False
    assert only(judged({"max_cost_usd": 0.81}, cases, cost_usd=0.1)).passed is True


@pytest.mark.parametrize("key", ["max_cost_usd", "max_cost_usd_per_trial"])
def test_a_limit_on_what_was_not_measured_cannot_be_judged(key: str) -> None:
    result = judged({key: 5}, {"a": P})
    assert (result.verdict, result.exit_code) == ("INVALID", 2)
    assert "no trial reported its cost" in say(only(result).text)


@pytest.mark.parametrize("key", ["max_cost_usd", "max_cost_usd_per_trial", "max_latency_s", "max_median_latency_s"])
def test_a_limit_stays_open_while_grades_are_outstanding(key: str) -> None:
    nothing_yet = judged({key: 5}, {"a": A, "b": A})
    assert (nothing_yet.verdict, nothing_yet.exit_code) == ("INCONCLUSIVE", 4), say(only(nothing_yet).text)
    assert say(only(nothing_yet).text).endswith("2 trials not graded yet")
    half = judged({key: 5}, {"a": A, "b": P}, cost_usd=1.0)
    told = "PASSED" if key == "max_cost_usd" else "INCONCLUSIVE"
    assert half.verdict == told, "the cost of the whole run is known"
    assert judged({key: 5}, {"a": P, "b": P}, cost_usd=1.0).verdict == "PASSED"
    too_much = judged({key: 0.01}, {"a": A, "b": P}, cost_usd=1.0)
    assert too_much.verdict == ("INCONCLUSIVE" if "median" in key else "FAILED"), "grades do not lower it"
    if "cost" in key:
        assert judged({key: 5}, {"a": A, "b": P}).verdict == "INVALID", "grades do not show what b cost"


@pytest.mark.parametrize("key", ["max_cost_usd_per_trial", "max_latency_s"])
def test_of_equal_cases_a_limit_names_the_one_that_the_recommendation_names(key: str) -> None:
    states = {"b": P, "a": P, "c": P}
    check = only(judged({key: 0.01}, states, cost_usd=1.0))
    _, measured = counted({id_: [state] for id_, state in states.items()}, cost_usd=1.0)
    [advice] = recommend_limits({key: 0.01}, measured.tallies)
    assert "trial (a)" in say(check.text)
    assert say(advice.finding).startswith("a has the ")


def test_a_value_never_reads_as_if_it_were_within_its_limit() -> None:
    over = only(judged({"max_latency_s": 0.1002}, {"a": P}, duration_s=0.1004))
    assert (over.passed, say(over.text)) == (False, "slowest trial (a) 0.1004 s, must be below 0.1002 s")
    within = only(judged({"max_cost_usd": 0.00998}, {"a": P}, cost_usd=0.00996))
    assert (within.passed, say(within.text)) == (True, "cost $0.00996, must be below $0.00998")


def test_what_trials_cost_that_were_given_up_is_reported_as_missing() -> None:
    suite = Suite(name="s", cases=(Case(id="a", input="?"),))
    given_up = Outcome("a", 1, S, S, None, "decided", 0.0, None, None, None, "[]", cause="given_up")
    measured = count_trials(suite, 2, [Outcome("a", 0, P, P, 1.0, "", 0.1, 0.4, None, None, "[]"), given_up])
    result = judge_gate(Gate(max_cost_usd=1), suite, 2, measured, comparison=None, today=TODAY)
    assert say(only(result).text) == "cost (without 1 abandoned trial) $0.4000, must be below $1"


def test_a_cost_that_only_some_trials_report() -> None:
    suite = Suite(name="s", cases=(Case(id="a", input="?"),))
    rows = [Outcome("a", i, P, P, 1.0, "", 0.1, cost, None, None, "[]") for i, cost in enumerate((0.4, None))]
    measured = count_trials(suite, 2, rows)

    def result(limit: float) -> GateResult:
        gate = Gate(max_cost_usd=limit)
        return judge_gate(gate, suite, 2, measured, comparison=None, today=TODAY)

    assert "1 judged trial did not report its cost" in say(only(result(1)).text)
    assert (result(1).exit_code, result(0.3).exit_code) == (2, 1), "the known part may already be too much"
    assert say(only(result(0.3)).text) == "cost $0.4000 (1 judged trial reported none), must be below $0.3"


def quarantine(case: str, expires: str) -> dict[str, Any]:
    return {"quarantine": [{"case": case, "reason": "flaky", "owner": "Ada", "expires": expires}]}


def test_a_quarantined_case_does_not_count() -> None:
    states = {"a": P, "b": F}
    gate = {"thresholds": {"pass_rate": 1}, "required_cases": ["b"], "each_case": 1}
    assert judged(gate, states).exit_code == 1
    held = judged({**gate, **quarantine("b", "2026-11-16")}, states)
    assert (held.exit_code, held.quarantined) == (0, ("b",))
    assert tuple(map(say, held.notes)) == ("quarantined until 2026-11-16 (today), so not counted: b (flaky; Ada)",)


def test_a_quarantine_ends_and_may_have_no_owner() -> None:
    expired = judged(quarantine("b", "2026-11-15"), {"a": P, "b": F})
    assert (expired.exit_code, expired.quarantined) == (1, ())
    assert "expired on 2026-11-15, so it counts again: b" in say(expired.notes[0])
    unknown = judged(quarantine("nobody", "2027-01-01"), {"a": P})
    assert (unknown.exit_code, unknown.quarantined) == (0, ())
    assert tuple(map(say, unknown.notes)) == ("quarantine names nobody, which is not a case of this run",)


def compared(verdict: Any, *changes: CaseChange, **more: Any) -> Comparison:
    run = ComparedRun(run_id="r", run_name="r", suite_name="s")
    return Comparison(old=run, new=run, verdict=verdict, why="because", cases=changes, **more)


def change(case_id: str, old: int, new: int, *, flagged: bool = False) -> CaseChange:
    return CaseChange(
        case_id=case_id, old_passed=old, old_trials=4, new_passed=new, new_trials=4, flagged=flagged,
        flipped=old == 4 and new < 4,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "policy", "passed", "exit_code"),
    [
        ("REGRESSION", "pass", False, 1),
        ("NO REGRESSION", "fail", True, 0),
        ("INCONCLUSIVE", "pass", None, 0),
        ("INCONCLUSIVE", "fail", None, 4),
    ],
)
def test_the_verdict_of_the_comparison(verdict: str, policy: str, passed: bool | None, exit_code: int) -> None:
    comparison = compared(verdict, change("a", 4, 0, flagged=True), settle="8 trials of each case would show it")
    result = judged({"regression": True, "inconclusive": policy}, {"a": F}, comparison=comparison)
    assert (only(result).passed, result.exit_code, only(result).cases) == (passed, exit_code, ("a",))
    assert say(only(result).text).startswith(f"{verdict}: because")
    assert ("; to settle it: 8 trials" in say(only(result).text)) == (passed is None)


def test_what_was_left_out_of_the_comparison_is_reported_by_its_checks() -> None:
    found = compared("NO REGRESSION", n_cases=17, changed=("c3", "c4"), removed=("c5",))
    result = judged({"regression": True, "strict_flips": True}, {"a": P}, comparison=found)
    told = "(2 of 20 cases changed, 1 only in the old run; compared on 17)"
    assert [say(check.text).endswith(told) for check in result.checks] == [True, True]
    whole = judged({"regression": True}, {"a": P}, comparison=compared("NO REGRESSION", n_cases=20))
    assert "compared on" not in say(only(whole).text)


def test_strict_flips_reports_how_often_it_gives_false_alarms() -> None:
    quiet = judged({"strict_flips": True}, {"a": P}, comparison=compared("INCONCLUSIVE", flip_alarm=(0.13, 0.42)))
    assert quiet.exit_code == 0
    assert "(false alarm in 13 to 42 of 100 runs)" in say(only(quiet).text)
    loud = judged({"strict_flips": True}, {"a": P}, comparison=compared("INCONCLUSIVE", change("x", 4, 3)))
    assert (loud.exit_code, only(loud).cases) == (1, ("x",))
    vague = judged({"strict_flips": True}, {"a": P}, comparison=compared("INCONCLUSIVE", flip_alarm=(0.001, 0.999)))
    assert "is not known" in say(only(vague).text), "from never to always proves nothing"
    unknown = "(the false-alarm rate is not known)"
    assert say(only(loud).text) == f"no case that always passed may fail now {unknown}: x did"


@pytest.mark.parametrize("gate", [{"regression": True}, {"strict_flips": True}])
def test_without_a_baseline_nothing_can_be_compared(gate: Any) -> None:
    result = judged(gate, {"a": P}, not_compared="it is gone")
    assert (result.verdict, result.exit_code) == ("INVALID", 2)
    assert say(only(result).text) == "not compared with a baseline: it is gone"


def test_what_cannot_be_computed_weighs_more_than_what_is_missed() -> None:
    result = judged({"thresholds": {"pass_rate": 1}, "max_cost_usd": 1}, {"a": F})
    assert (result.verdict, result.exit_code) == ("INVALID", 2)
