"""What every store does with baselines, and the quick way in which it reads runs that are compared."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from stored_records import make_report, make_run, make_trial

from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseResult
from evalharness.domain.gate import Gate
from evalharness.domain.run import CaseLock, Run
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.engine.measuring.summary import case_results
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.errors import UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.reports.words import say
from evalharness.steps.find_reports import report_of


def listed(store: Store, suite_name: str | None = None) -> list[tuple[str, str, str]]:
    return [(each.suite_name, each.name, each.run_name) for each in store.baselines(suite_name)]


class TestBaselines:
    def test_each_suite_has_its_own_and_the_last_one_set_comes_first(self, store: Store) -> None:
        a, b, other = store.add_runs([make_run(), make_run(), make_run("rivers")])
        assert store.baselines() == []
        store.set_baseline(a.id, "default")
        store.set_baseline(other.id, "default")
        store.set_baseline(b.id, "release")
        assert listed(store) == [
            ("capitals", "release", b.name),
            ("rivers", "default", other.name),
            ("capitals", "default", a.name),
        ]
        assert listed(store, "rivers") == [("rivers", "default", other.name)]
        found = store.baseline("capitals", "default")
        assert found is not None
        assert (found.run_id, found.run_name) == (a.id, a.name)
        assert store.baseline("rivers", "release") is None

    def test_a_name_is_given_to_another_run_and_is_then_the_newest(self, store: Store) -> None:
        a, b = store.add_runs([make_run(), make_run()])
        store.set_baseline(a.id, "default")
        store.set_baseline(b.id, "other")
        assert store.set_baseline(b.id, "default").run_name == b.name
        assert listed(store) == [("capitals", "default", b.name), ("capitals", "other", b.name)]

    def test_giving_one_up_keeps_the_run(self, store: Store) -> None:
        [run] = store.add_runs([make_run()])
        store.set_baseline(run.id, "default")
        assert store.remove_baseline("capitals", "default")
        assert not store.remove_baseline("capitals", "default")
        assert store.baselines() == []
        assert store.find_run(run.name).id == run.id

    def test_a_baseline_is_not_removed_until_it_is_given_up(self, store: Store) -> None:
        [run] = store.add_runs([make_run()])
        store.put(run.id, make_trial())
        store.flush()
        store.set_baseline(run.id, "default")
        with pytest.raises(UsageError, match="is the baseline 'default' of capitals") as refusal:
            store.remove_run(run)
        assert "baseline rm default --suite capitals" in say(refusal.value.hint)
        assert len(list(store.trials(run.id))) == 1, "nothing of it was removed"
        store.remove_baseline("capitals", "default")
        store.remove_run(run)
        assert store.runs_since("capitals") == []

    def test_it_may_have_several_runs_and_protects_each(self, store: Store) -> None:
        a, b, c, d = store.add_runs([make_run(), make_run(), make_run(), make_run()])
        found = store.set_baseline(a.id, "default", [b.id])
        assert (found.run_ids, found.run_names) == ((a.id, b.id), f"{a.name}, {b.name}")
        store.set_baseline(d.id, "other")
        for _ in range(2):
            assert store.add_to_baseline("capitals", "default", c.id).run_ids == (a.id, b.id, c.id)
        assert [each.name for each in store.baselines()] == ["other", "default"], "none was set again"
        assert store.baselines()[1] == store.baseline_of(b.id)
        for run in (a, b, c):
            with pytest.raises(UsageError, match="are the baseline 'default' of capitals and are kept"):
                store.remove_run(run)
        store.set_baseline(b.id, "default")
        assert [each.run_ids for each in store.baselines()] == [(b.id,), (d.id,)], "what was added before is gone"
        store.remove_run(c)
        store.add_to_baseline("capitals", "default", a.id)
        assert store.remove_baseline("capitals", "default")
        store.remove_run(a)

    def test_only_runs_of_its_suite_belong_to_one(self, store: Store) -> None:
        a, other = store.add_runs([make_run(), make_run("rivers")])
        with pytest.raises(UnknownName):
            store.set_baseline(a.id, "default", [other.id])
        assert store.baselines() == [], "all of it, or nothing"
        store.set_baseline(a.id, "default")
        for suite, name, run_id in (("capitals", "default", other.id), ("capitals", "x", a.id), ("rivers", "x", a.id)):
            with pytest.raises(UnknownName):
                store.add_to_baseline(suite, name, run_id)

    def test_a_run_that_is_not_there_cannot_be_one(self, store: Store) -> None:
        with pytest.raises(UnknownName):
            store.set_baseline("eval-20260101-000000-0000", "default")


class TestRunsSince:
    def test_only_later_runs_of_the_suite_that_tried_anew(self, store: Store) -> None:
        [first] = store.add_runs([make_run()])
        [regrade] = store.add_runs([make_run().model_copy(update={"regrade_of": first.id})])
        a, b = store.add_runs([make_run(), make_run()])
        store.add_runs([make_run("rivers")])
        store.finish(b.id, make_report(b), stopped="", elapsed_s=0)
        since = store.runs_since("capitals", first.id)
        assert [(link.id, link.is_finished) for link in since] == [(b.id, True), (a.id, False)]
        assert since[0].matrix_id == since[1].matrix_id == a.id
        assert [link.id for link in store.runs_since("capitals", "no such run")] == [b.id, a.id, first.id]
        assert [link.id for link in store.runs_since("capitals", regrade.id)] == [b.id, a.id]
        assert store.suite_names() == ["capitals", "rivers"]


def varied_run() -> Run:
    """Cases that differ in everything that a comparison looks at."""
    run = make_run(trials=4)
    cases = (
        Case(id="plain", input="?"),
        Case(id="weighty", input="?", weight=2.5, cluster="c", category="maths", criticality="critical"),
        Case(id="typed", input="?", eval_type="regression", category="maths"),
        Case(id="never tried", input="?"),
    )
    locks = {case.id: CaseLock(case=f"asked {case.id}", graders="judged") for case in cases[1:]}
    suite = run.suite.model_copy(
        update={"cases": cases, "case_threshold": 0.5, "eval_type": "capability", "gate": Gate(strict_flips=True)}
    )
    return run.model_copy(update={"suite": suite, "lock": run.lock.model_copy(update={"cases": locks})})


def any_trial(case_id: str, index: int, rng: Random) -> Trial:
    transcript = Transcript(output="x", cost_usd=rng.choice([None, 0.25, 1.5]))
    attempts = tuple(
        Attempt(
            state=rng.choice(["passed", "failed", "error", "skipped"]),
            score=rng.choice([None, 0.0, 0.3, 1.0]),
            duration_s=rng.random(),
            transcript=transcript,
        )
        for _ in range(rng.choice([1, 2]))
    )
    return Trial(case_id=case_id, index=index, seed=1, attempts=attempts)


class TestOutlines:
    def test_an_outline_says_what_the_run_says(self, store: Store) -> None:
        [run] = store.add_runs([varied_run()])
        outline = store.outline(run.name)
        assert outline == store.outline(run.id)
        assert (outline.id, outline.name, outline.suite_name) == (run.id, run.name, "capitals")
        assert (outline.finished_at, outline.report) == (None, None)
        assert store.gate_of(run.id) == run.suite.gate
        with pytest.raises(UnknownName, match="Did you mean"):
            store.outline(run.name[:-1])

    @pytest.mark.parametrize("seed", range(8))
    def test_its_cases_are_those_of_the_whole_report(self, store: Store, seed: int) -> None:
        [run] = store.add_runs([varied_run()])
        rng = Random(seed)
        for case in run.suite.cases[:3]:
            for index in range(rng.randint(1, 4)):
                store.put(run.id, any_trial(case.id, index, rng))
        store.flush()
        counted = report_of(store.outline(run.id), store)
        measured = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
        assert counted.cases == tuple(case_results(run.suite, run.lock.keys, measured))
        store.finish(run.id, counted, stopped="", elapsed_s=1.0)
        assert store.outline(run.id).report == counted
        assert report_of(store.outline(run.id), store) == counted

    def test_kept_cases_are_gone_as_soon_as_another_trial_is_written(self, store: Store) -> None:
        [run] = store.add_runs([varied_run()])
        store.put(run.id, any_trial("plain", 0, Random(1)))
        store.flush()
        before = report_of(store.outline(run.id), store)
        store.finish(run.id, before, stopped="", elapsed_s=1.0)
        store.put(run.id, make_trial("typed", 0))
        store.flush()
        outline = store.outline(run.id)
        assert outline.report is not None
        assert outline.report.cases == ()
        trials = {case.case_id: case.trials for case in report_of(outline, store).cases}
        assert trials == {case.case_id: case.trials for case in before.cases} | {"typed": 1}

    def test_kept_cases_have_no_secret(self, open_store: Callable[..., Store]) -> None:
        store = open_store(redactor=Redactor({"TOKEN": "hunter2hunter2"}))
        [run] = store.add_runs([varied_run()])
        case = CaseResult("plain", trials=1, passed=1, state="passed", cluster="hunter2hunter2")
        store.finish(run.id, make_report(run).model_copy(update={"cases": (case,)}), stopped="", elapsed_s=1.0)
        report = store.outline(run.id).report
        assert report is not None
        assert "hunter2" not in report.cases[0].cluster
        assert report.cases[0].passed == 1
