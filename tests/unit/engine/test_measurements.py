"""From rows to numbers: states of cases, rates, groups, pass@k, intervals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from evalharness.domain.case import Case
from evalharness.domain.measurement import Measurement
from evalharness.domain.report import RunSummary
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Outcome
from evalharness.engine.measuring.measurements import measure, unmeasurable
from evalharness.engine.measuring.summary import error_bounds, failures, slowest_trials, summarise
from evalharness.engine.measuring.trial_counts import Measured, count_trials
from evalharness.reports.words.say import say
from evalharness.stats.intervals import bootstrap_plus_one_case

K_2, K_3 = (("pass_at_" + k, "pass_hat_" + k, f"pass_hat_{k}_plugin") for k in "23")
P, F, E, S, A = "passed", "failed", "error", "skipped", "awaiting"


def row(case_id: str, index: int, state: Any, **given: Any) -> Outcome:
    """One finished trial as the store returns it."""
    score = {P: 1.0, F: 0.0}.get(state) if "score" not in given else given["score"]
    return Outcome(
        case_id,
        index,
        state,
        given.get("first_state", state),
        score,
        given.get("reason", f"{state} {index}" if state != P else ""),
        given.get("duration_s", 0.1),
        given.get("cost_usd"),
        given.get("tokens_in"),
        given.get("tokens_out"),
        json.dumps(given.get("grades", [])),
    )


def counted(
    states: Mapping[str, Sequence[str]], *, trials: int, cases: Iterable[Case] = (), **suite: Any
) -> tuple[Suite, Measured]:
    made = tuple(cases) or tuple(Case(id=case_id, input="?") for case_id in states)
    rows = [row(case_id, index, state) for case_id, listed in states.items() for index, state in enumerate(listed)]
    built = Suite(name="s", cases=made, **suite)
    return built, count_trials(built, trials, rows)


def summary_of(states: Mapping[str, Sequence[str]], *, trials: int, **suite: Any) -> RunSummary:
    return summarise(*counted(states, trials=trials, **suite))


def measured(states: Mapping[str, Sequence[str]], *, trials: int, **suite: Any) -> dict[str, Measurement]:
    built, found = counted(states, trials=trials, **suite)
    return measure(built, trials, found)


class TestStatesOfCases:
    @pytest.mark.parametrize(
        ("states", "expected"),
        [
            ([P, P, P, P], "passed"),
            ([P, P, P, F], "failed"),
            ([P, P, P, E], "passed"),
            ([F, E, E, E], "failed"),
            ([E, E, E, E], "errors"),
            ([E, S, S, S], "errors"),
            ([S, S, S, S], "skipped"),
            ([P, S, S, S], "passed"),
            ([P, P, P, A], "awaiting"),
            ([F, F, F, A], "awaiting"),
            ([P, P, P], "pending"),
            ([F, F, A], "pending"),
            ([], "pending"),
        ],
        ids=str,
    )
    def test_one_case(self, states: list[str], expected: str) -> None:
        found = summary_of({"a": states}, trials=4)
        assert getattr(found, expected) == 1
        assert found.total_evals == 1

    @pytest.mark.parametrize(("threshold", "passes"), [(0.75, True), (0.76, False), (0.0, True)])
    def test_the_threshold_is_met_by_reaching_it(self, threshold: float, passes: bool) -> None:
        found = summary_of({"a": [P, P, P, F, E]}, trials=5, case_threshold=threshold)
        assert found.passed == passes

    def test_a_third_reaches_a_third(self) -> None:
        assert summary_of({"a": [P, F, F]}, trials=3, case_threshold=1 / 3).passed == 1

    def test_everything_adds_up(self) -> None:
        states = {"a": [P, P], "b": [F, P], "c": [E, E], "d": [S, S], "e": [A, P], "f": [P], "g": []}
        found = summary_of(states, trials=2)
        assert (found.passed, found.failed, found.errors, found.skipped, found.awaiting, found.pending) == (
            1,
            1,
            1,
            1,
            1,
            2,
        )
        assert found.total_evals == 7
        counts = found.trials.model_dump()
        assert counts.pop("planned") == 14 == sum(counts.values())
        assert counts == {"passed": 5, "failed": 1, "error": 2, "skipped": 2, "awaiting": 1, "pending": 3}


class TestRates:
    def test_pass_rate_is_the_mean_over_cases_of_the_share_among_graded_trials(self) -> None:
        found = summary_of({"a": [P, P, P, P], "b": [P, F, E, E], "c": [F, E, S, A], "d": [E, E, E, E]}, trials=4)
        assert found.pass_rate == pytest.approx((1 + 1 / 2 + 0) / 3)

    def test_case_pass_rate_is_over_the_decided_cases(self) -> None:
        found = summary_of({"a": [P], "b": [P], "c": [F], "d": [E]}, trials=1)
        assert found.case_pass_rate == pytest.approx(2 / 3)

    def test_without_a_graded_trial_there_is_no_rate(self) -> None:
        found = summary_of({"a": [E], "b": [S]}, trials=1)
        assert (found.pass_rate, found.case_pass_rate) == (None, None)
        assert measured({"a": [E], "b": [S]}, trials=1) == {}


class TestGroups:
    def test_by_category_is_the_kind_of_eval_and_by_topic_the_category(self) -> None:
        cases = [
            Case(id="a", input="?", category="math"),
            Case(id="b", input="?", category="math", eval_type="regression"),
            Case(id="c", input="?"),
        ]
        states = {"a": [P, F], "b": [P, P], "c": [E, E]}
        plain = summary_of(states, trials=2, cases=cases)
        assert {name: (g.total, g.passed, g.pass_rate) for name, g in plain.by_category.items()} == {
            "math": (1, 0, 0.5),
            "regression": (1, 1, 1.0),
        }
        typed = summary_of(states, trials=2, cases=cases, eval_type="capability")
        assert {name: (g.total, g.passed, g.pass_rate) for name, g in typed.by_category.items()} == {
            "capability": (2, 0, 0.5),
            "regression": (1, 1, 1.0),
        }
        for found in (plain, typed):
            assert {name: (g.total, g.passed, g.pass_rate) for name, g in found.by_topic.items()} == {
                "math": (2, 1, 0.75)
            }

    def test_by_difficulty(self) -> None:
        cases = [Case(id="a", input="?", difficulty="hard"), Case(id="b", input="?", difficulty="hard")]
        found = summary_of({"a": [P], "b": [F], "c": [F]}, trials=1, cases=[*cases, Case(id="c", input="?")])
        [(name, group)] = found.by_difficulty.items()
        assert (name, group.total, group.passed, group.pass_rate) == ("hard", 2, 1, 0.5)

    def test_by_grader_counts_each_type_by_its_own_verdicts(self) -> None:
        code_pass = {"state": "pass"}
        code_fail = {"state": "fail", "type": "code"}
        model_pass = {"state": "pass", "type": "model"}
        model_unscored = {"state": "unscored", "type": "model"}
        rows = [
            row("a", 0, P, grades=[code_pass, model_pass]),
            row("a", 1, F, grades=[code_pass, code_fail, model_pass]),
            row("b", 0, E, grades=[code_pass, model_unscored]),
        ]
        suite = Suite(name="s", cases=(Case(id="a", input="?"), Case(id="b", input="?")))
        found = summarise(suite, count_trials(suite, 2, rows)).by_grader
        assert {name: (g.total, g.passed, g.pass_rate) for name, g in found.items()} == {
            "code": (2, 1, 0.75),
            "model": (1, 1, 1.0),
        }


class TestPassK:
    # A published run: 50 tasks, 4 trials each; this many tasks with 0, 1, 2, 3, 4 successes.
    AIRLINE = (14, 12, 10, 4, 10)

    def airline(self) -> dict[str, list[str]]:
        return {
            f"{wins}-{number}": [P] * wins + [F] * (4 - wins)
            for wins, count in enumerate(self.AIRLINE)
            for number in range(count)
        }

    def test_published_values_come_out(self) -> None:
        found = measured(self.airline(), trials=4)
        assert found["pass_at_1"].value == pytest.approx(0.42)
        assert found["pass_hat_2"].value == pytest.approx(0.2733, abs=5e-5)
        assert found["pass_hat_3"].value == pytest.approx(0.22)
        assert found["pass_at_2"].value == pytest.approx(0.5667, abs=5e-5)
        assert found["pass_at_3"].value == pytest.approx(0.66)

    def test_the_interval_is_over_cases_and_not_over_trials(self) -> None:
        found = measured(self.airline(), trials=4)["pass_rate"]
        assert [found.low, found.high] == pytest.approx([0.3186, 0.5307], abs=5e-5)
        assert found.n_eff == pytest.approx(89.3, abs=0.05)
        assert (found.n_cases, found.n_trials, found.method) == (50, 200, "Bayesian bootstrap plus one case")

    @pytest.mark.parametrize(
        ("trials", "printed"),
        [
            (1, {1}),
            (2, {1}),
            (3, {1, 3}),
            (10, {1, 3, 5}),
        ],
    )
    def test_k_is_1_3_and_the_largest_up_to_half(self, trials: int, printed: set[int]) -> None:
        found = measured({"a": [P] * trials, "b": [F] * trials}, trials=trials)
        assert {name for name in found if name.startswith("pass_at")} == {f"pass_at_{k}" for k in printed}
        hats = {name for name in found if name.startswith("pass_hat")}
        assert hats == {f"pass_hat_{k}" for k in printed} | {f"pass_hat_{k}_plugin" for k in printed - {1}}

    def test_it_is_unknown_where_errors_leave_a_case_too_few_trials(self) -> None:
        found = measured({"a": [P, P, P], "b": [P, F, E]}, trials=3)
        assert found.get("pass_at_3") is None
        assert found.get("pass_hat_3") is None
        assert found["pass_at_1"].value == pytest.approx(0.75)

    def test_a_case_without_any_judged_trial_is_not_left_out_in_silence(self) -> None:
        assert "pass_at_1" not in measured({"a": [P], "b": [E]}, trials=1)

    def test_a_skipped_case_is_not_meant(self) -> None:
        assert measured({"a": [P, P, P], "b": [S, S, S]}, trials=3)["pass_hat_3"].value == 1.0

    def test_k_is_what_the_suite_says(self) -> None:
        found = measured({"a": [P, P, P, F]}, trials=4, k=[2, 4])
        names = {"pass_at_2", "pass_at_4", "pass_hat_2", "pass_hat_4", "pass_hat_2_plugin", "pass_hat_4_plugin"}
        assert set(found) - {"pass_rate", "score", "latency_s"} == names
        assert (found["pass_hat_4"].value, found["pass_hat_4_plugin"].value) == (0.0, pytest.approx(0.75**4))

    def test_of_a_single_case_the_interval_is_that_of_its_pass_rate_to_the_power_k(self) -> None:
        found = measured({"a": [P] * 100}, trials=100, k=[1, 50])
        low = found["pass_rate"].low
        assert low is not None and found["pass_at_1"].low == pytest.approx(low)
        assert found["pass_hat_50"].low == pytest.approx(low**50)
        assert found["pass_at_50"].low == pytest.approx(1 - (1 - low) ** 50)
        assert "this case only" in found["pass_hat_50"].method
        flaky = measured({"a": [P, P, P, F]}, trials=4, k=[4])["pass_hat_4"]
        assert (flaky.value, flaky.low) == (0.0, 0.0)

    def test_what_cannot_be_known_is_reported_with_the_reason(self) -> None:
        built, found = counted({"a": [P, P], "b": [P, E]}, trials=2, k=[2, 3])
        reasons = {name: say(why).partition("; ")[0] for name, why in unmeasurable(built, 2, found).items()}
        assert reasons == {
            **dict.fromkeys(K_2, "not estimable: 1 of 2 cases has fewer than 2 judged trials"),
            **dict.fromkeys(K_3, "not estimable: 2 of 2 cases have fewer than 3 judged trials"),
        }

    def test_cases_weigh_what_the_suite_says(self) -> None:
        cases = [Case(id="a", input="?", weight=3), Case(id="b", input="?"), Case(id="c", input="?", weight=0)]
        found = measured({"a": [P], "b": [F], "c": [F]}, trials=1, cases=cases)
        assert (found["pass_at_1"].value, found["pass_rate"].value) == (0.75, 0.75)

    def test_the_rates_of_groups_weigh_cases_too_and_counts_do_not(self) -> None:
        cases = [
            Case(id="a", input="?", weight=3, category="billing"),
            Case(id="b", input="?", category="billing"),
            Case(id="c", input="?", weight=0, category="small talk"),
        ]
        summary = summary_of({"a": [P], "b": [F], "c": [F]}, trials=1, cases=cases)
        billing, talk = summary.by_topic["billing"], summary.by_topic["small talk"]
        assert (billing.pass_rate, billing.passed, billing.total) == (0.75, 1, 2)
        assert (talk.pass_rate, talk.passed, talk.total) == (None, 0, 1)

    def test_it_follows_the_first_answer_where_counts_follow_the_last(self) -> None:
        suite = Suite(name="s", cases=(Case(id="a", input="?"), Case(id="b", input="?")))
        rows = [row("a", 0, P, first_state=F), row("b", 0, P)]
        found = count_trials(suite, 1, rows)
        assert summarise(suite, found).pass_rate == 1.0
        assert measure(suite, 1, found)["pass_at_1"].value == 0.5


class TestErrorBounds:
    def test_errors_could_have_been_either(self) -> None:
        bounds = error_bounds(*counted({"a": [P, E], "b": [F, F], "c": [E, E], "d": [S, S]}, trials=2))
        assert bounds is not None
        assert (bounds.trials, bounds.pass_rate_if_failed, bounds.pass_rate_if_passed) == (3, 0.5 / 3, 2 / 3)

    def test_they_weigh_cases_as_the_pass_rate_does(self) -> None:
        cases = [Case(id="a", input="?", weight=3), Case(id="b", input="?"), Case(id="c", input="?", weight=0)]
        bounds = error_bounds(*counted({"a": [P, E], "b": [F, F], "c": [E, E]}, trials=2, cases=cases))
        assert bounds is not None
        assert (bounds.trials, bounds.pass_rate_if_failed, bounds.pass_rate_if_passed) == (3, 1.5 / 4, 3 / 4)

    def test_without_errors_there_are_none(self) -> None:
        assert error_bounds(*counted({"a": [P, F]}, trials=2)) is None


class TestIntervals:
    STATES: ClassVar = dict(zip("abcdefgh", ([P], [P], [F], [F], [F], [P], [P], [P]), strict=True))

    def test_cases_of_one_cluster_count_as_one_observation(self) -> None:
        clusters = dict(zip("abcdefgh", ("x", "x", "x", "y", "y", "z", "z", "z"), strict=True))
        cases = [Case(id=name, input="?", cluster=cluster) for name, cluster in clusters.items()]
        alone = measured(self.STATES, trials=1)["pass_rate"]
        together = measured(self.STATES, trials=1, cases=cases)["pass_rate"]
        assert together.value == alone.value == 0.625
        expected = bootstrap_plus_one_case([2 / 3, 0.0, 1.0], 8, weights=[3.0, 2.0, 3.0])
        assert expected is not None
        assert [together.low, together.high] == pytest.approx([expected.low, expected.high])
        assert alone.low is not None and together.low is not None
        assert together.low < alone.low

        assert together.method == "Bayesian bootstrap plus one case, 3 clusters"

    def test_a_single_cluster_is_a_single_observation(self) -> None:
        states = {str(n): [P, P] if n % 4 else [P, F] for n in range(40)}
        cases = [Case(id=id_, input="?", cluster="k") for id_ in states]
        found = measured(states, trials=2, cases=cases)["pass_rate"]
        one_trial = bootstrap_plus_one_case([found.value], 1)
        assert one_trial is not None
        assert (found.low, found.high, found.n_eff) == (one_trial.low, one_trial.high, 1.0)
        assert found.method == "Wilson (one cluster only: a single observation)"
        assert found.low is not None and found.low < 0.25

    def test_a_cluster_is_not_mixed_up_with_a_case_of_its_name(self) -> None:
        cases = [Case(id="a", input="?"), Case(id="b", input="?", cluster="a")]
        found = measured({"a": [P], "b": [F]}, trials=1, cases=cases)["pass_rate"]
        assert found.method == "Bayesian bootstrap plus one case"

    def test_agreement_of_all_cases_still_has_a_width(self) -> None:
        found = measured({str(number): [P] * 4 for number in range(10)}, trials=4)["pass_rate"]
        assert [found.low, found.high] == pytest.approx([0.7117, 1.0], abs=5e-5)

    def test_one_failing_trial_makes_no_figure_surer(self) -> None:
        states = {str(number): [P] * 10 for number in range(30)}
        every, one_less = measured(states, trials=10), measured(states | {"0": [F] + [P] * 9}, trials=10)
        for name in ("pass_rate", "pass_at_3", "pass_hat_3", "pass_hat_3_plugin", "score"):
            before, after = every[name], one_less[name]
            assert before.low is not None and after.low is not None
            assert before.high is not None and after.high is not None
            assert after.low <= before.low, name
            assert after.high <= before.high == 1.0, name
            assert before.n_eff is None, name

    def test_one_case_speaks_for_itself_only(self) -> None:
        assert "this case only" in measured({"a": [P, F]}, trials=2)["pass_rate"].method


class TestScore:
    def score(self, weights: Sequence[float], scores: Sequence[float | None]) -> Measurement | None:
        cases = tuple(Case(id=str(n), input="?", weight=weight) for n, weight in enumerate(weights))
        suite = Suite(name="s", cases=cases)
        rows = [row(str(n), 0, P if score else F, score=score) for n, score in enumerate(scores)]
        return measure(suite, 1, count_trials(suite, 1, rows)).get("score")

    def test_cases_weigh_what_the_suite_says(self) -> None:
        found = self.score([3, 1], [1.0, 0.2])
        assert found is not None
        assert found.value == pytest.approx(0.8)

    def test_a_weight_of_nothing_leaves_a_case_out_of_rates_and_score_and_in_the_counts(self) -> None:
        found = self.score([1, 0], [1.0, 0.0])
        assert found is not None
        assert (found.value, found.n_cases, found.n_trials) == (1.0, 1, 1)
        assert self.score([0, 0], [1.0, 0.0]) is None
        cases = [Case(id="a", input="?"), Case(id="b", input="?", weight=0)]
        summary = summary_of({"a": [P], "b": [F]}, trials=1, cases=cases)
        assert (summary.pass_rate, summary.case_pass_rate, summary.passed, summary.failed) == (1.0, 0.5, 1, 1)

    def test_a_trial_that_failed_without_an_answer_is_worth_nothing(self) -> None:
        found = self.score([1, 1], [1.0, None])
        assert found is not None
        assert found.value == 0.5


class TestLatencyAndCost:
    def test_they_are_medians_of_the_cases_means(self) -> None:
        suite = Suite(name="s", cases=tuple(Case(id=str(n), input="?") for n in range(9)))
        slow = [row(str(n), 0, P, duration_s=n + 1, cost_usd=(n + 1) / 100) for n in range(9)]
        found = measure(suite, 2, count_trials(suite, 2, [*slow, row("8", 1, F, duration_s=1000.0)]))
        assert (found["latency_s"].value, found["latency_s"].low, found["latency_s"].high) == (5, 2, 8)
        assert found["latency_s"].level == pytest.approx(0.9609, abs=5e-5)
        assert (found["cost_usd"].value, found["cost_usd"].n_trials) == (0.05, 9)

    def test_what_was_not_judged_took_no_time(self) -> None:
        assert "latency_s" not in measured({"a": [E], "b": [S]}, trials=1)


class TestTheRest:
    def test_costs_and_tokens_add_up_where_they_are_known(self) -> None:
        suite = Suite(name="s", cases=(Case(id="a", input="?"),))
        rows = [row("a", 0, P, cost_usd=0.5, tokens_in=10), row("a", 1, P), row("a", 2, P, cost_usd=0.0, tokens_in=5)]
        found = count_trials(suite, 3, rows)
        assert (found.cost_usd, found.input_tokens, found.output_tokens) == (0.5, 15, None)

    def test_graders_that_decide_nothing_and_could_not_score_are_counted(self) -> None:
        unscored = {"state": "unscored", "grader": "judge", "reason": "no model", "required": False}
        error = {"metadata": {"error": "kaput"}}
        raised = {
            "state": "fail",
            "grader": "mine",
            "reason": "kaput",
            "required": False,
            "score": 0,
            "evidence": error,
        }
        not_there = {"state": "pass", "grader": "lost", "reason": "no path", "score": 0.0, "evidence": error}
        low = {"state": "fail", "grader": "low", "required": False, "evidence": {"metadata": {}}}
        off = {"state": "pass", "grader": "off", "score": 0.8, "evidence": {"metadata": {"error": "0.2"}}}
        rows = [row("a", index, P, grades=[unscored, raised, not_there, low, off]) for index in range(3)]
        found = count_trials(Suite(name="s", cases=(Case(id="a", input="?"),)), 3, rows)
        assert found.without_score == {
            ("judge", None): ({"a": 3}, "no model"),
            ("mine", 0.0): ({"a": 3}, "kaput"),
            ("lost", 0.0): ({"a": 3}, "no path"),
        }

    def test_trials_that_are_decided_while_a_capped_grade_is_due_are_counted(self) -> None:
        due = {"state": "awaiting", "grader": "judge", "reason": "no money", "cause": "spend_cap"}
        other = {"state": "awaiting", "grader": "person", "reason": "a person's turn: the spend cap was reached"}
        rows = [row("a", 0, F, grades=[due]), row("a", 1, A, grades=[due]), row("a", 2, F, grades=[other])]
        found = count_trials(Suite(name="s", cases=(Case(id="a", input="?"),)), 3, rows)
        assert found.capped == 1

    def test_the_slowest_trials_come_first(self) -> None:
        suite = Suite(name="s", cases=(Case(id="a", input="?"),))
        rows = [row("a", index, P, duration_s=duration) for index, duration in enumerate((0.5, 3.0, 1.0, 2.0, 0.1))]
        found = slowest_trials(count_trials(suite, 5, rows))
        assert [(trial.index, trial.duration_s) for trial in found] == [(1, 3.0), (3, 2.0), (2, 1.0)]

    def test_failures_name_the_reason_that_decided(self) -> None:
        states = {"good": [P, P], "bad": [E, F], "broken": [E, E], "left": [S, S], "due": [A, F], "half": [F]}
        suite, found = counted(states, trials=2)
        listed = {failure.eval_id: failure for failure in failures(suite, found)}
        assert list(listed) == ["bad", "broken", "half"]
        assert (listed["bad"].state, listed["bad"].reason) == ("failed", "failed 1")
        assert listed["bad"].details == {"error": 1, "failed": 1}
        assert (listed["broken"].state, listed["broken"].reason) == ("error", "error 0")
        assert listed["half"].state == "pending"


def test_trials_whose_score_lacks_a_grade_are_reported() -> None:
    suite = Suite(name="s", cases=(Case(id="a", input="?"),))
    optional = {"state": "unscored", "required": False, "grader": "judge"}

    def told(*grades: Any) -> int:
        made = Outcome("a", 0, "passed", "passed", 1.0, "", 0.5, None, None, None, json.dumps(grades), None)
        return measure(suite, 1, count_trials(suite, 1, [made]))["score"].lacking

    assert told({"state": "pass", "score": 1.0}) == 0
    assert told({"state": "pass", "score": 1.0}, optional) == 1
    assert told({"state": "pass", "score": 1.0}, {**optional, "weight": 0.0}) == 0, "it would not have counted"
