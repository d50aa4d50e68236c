"""What every store does with runs: those being run, those of the past, and the quick way to read those compared."""

from __future__ import annotations

from random import Random

import pytest

from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseResult
from evalharness.domain.gate import Gate
from evalharness.domain.run import CaseLock, Run
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial, TrialState
from evalharness.engine.measuring.summary import case_results
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.errors import RunBusy, UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.steps.find_reports import report_of
from evalharness.testing.stored_records import OpenStore, StoreFixtures, added, make_run, make_trial, put, sample_report


class RunStoreContract(StoreFixtures):
    def test_a_run_is_found_by_id_and_by_name_as_it_was_planned(self, store: Store) -> None:
        run = added(store)
        assert store.find_run(run.id) == store.find_run(run.name) == run
        assert run.suite == make_run().suite

    def test_an_unknown_run_is_refused_with_a_guess(self, store: Store) -> None:
        run = added(store)
        with pytest.raises(UnknownName, match=run.name):
            store.find_run(run.name[:-1])

    def test_a_run_keeps_the_name_it_has_and_no_other_run_gets_it(self, store: Store) -> None:
        [run] = store.add_runs([make_run().model_copy(update={"name": "nightly"})])
        assert (run.name, store.find_run("nightly").id) == ("nightly", run.id)
        for name in ("nightly", run.id):
            with pytest.raises(UsageError, match=f"a run named {name} already"):
                store.add_runs([make_run(), make_run().model_copy(update={"name": name})])
        assert [line.name for line in store.list_runs(10)] == ["nightly"], "all of them or none"

    def test_a_run_keeps_the_id_it_has_and_no_other_run_gets_it(self, store: Store) -> None:
        given = make_run().model_copy(update={"id": "eval-20260101-000000-00aa"})
        first, second = store.add_runs([given, make_run("two")])
        assert (first.id, first.matrix_id, second.matrix_id) == (given.id,) * 3
        assert store.find_run(given.id) == first
        assert second.id not in ("", given.id)
        with pytest.raises(UsageError, match=f"a run named {given.id} already"):
            store.add_runs([make_run(), given])
        assert store.count_runs() == 2, "all of them or none"

    def test_runs_stored_together_are_a_matrix_in_order(self, store: Store) -> None:
        together = store.add_runs([make_run("one"), make_run("two")])
        alone = added(store)
        assert store.matrix(together[1].matrix_id) == together
        assert store.matrix(alone.matrix_id) == [alone]

    def test_how_the_runs_of_a_matrix_ended(self, store: Store) -> None:
        first, second, third = store.add_runs([make_run("one"), make_run("two"), make_run("three")])
        store.finish(first.id, sample_report(first), stopped="", elapsed_s=1)
        store.finish(second.id, sample_report(second, pending=1), stopped="spend cap", elapsed_s=1)
        ends = store.ends(first.id)
        assert [(end.id, end.name, end.is_finished, end.stopped) for end in ends] == [
            (first.id, first.name, True, ""),
            (second.id, second.name, False, "spend cap"),
            (third.id, third.name, False, ""),
        ]
        assert [end.is_over for end in ends] == [True, True, False]
        store.finish(second.id, sample_report(second, pending=1), stopped="interrupted", elapsed_s=1)
        assert not store.ends(first.id)[1].is_over
        assert store.ends(second.id) == []

    def test_the_newest_run_of_a_suite_and_the_newest_unfinished_one(self, store: Store) -> None:
        assert store.newest_run() is None
        first, second = added(store, make_run("one")), added(store, make_run("two", trials=1))
        put(store, second, make_trial("a"), make_trial("b"))
        assert store.newest_run() == second
        assert store.newest_run(suite_name="one") == first
        assert store.newest_run(unfinished=True) == first
        assert store.newest_run(suite_name="two", unfinished=True) is None

    def test_runs_are_counted_back_from_the_newest_without_regrades(self, store: Store) -> None:
        assert store.nth_newest(1) is None
        first, second = added(store, make_run("one")), added(store, make_run("two"))
        added(store, make_run("one").model_copy(update={"regrade_of": first.id}))
        assert [store.nth_newest(position) for position in (1, 2, 3)] == [second.id, first.id, None]
        assert [store.nth_newest(position, "one") for position in (1, 2)] == [first.id, None]

    def test_the_list_counts_trials_by_state(self, store: Store) -> None:
        run = added(store)
        put(store, run, make_trial("a"), make_trial("b", state="failed"), make_trial("b", 1, "failed"))
        newest = added(store)
        lines = store.list_runs(10)
        assert [(line.name, line.counts, line.pending) for line in lines] == [
            (newest.name, {}, 4),
            (run.name, {"passed": 1, "failed": 2}, 1),
        ]
        assert store.list_runs(1) == lines[:1]

    def test_the_list_can_be_of_one_suite(self, store: Store) -> None:
        first, second, third = (added(store, make_run(name)) for name in ("one", "two", "one"))
        assert [line.id for line in store.list_runs(10, "one")] == [third.id, first.id]
        assert [line.id for line in store.list_runs(1, "two")] == [second.id]
        assert (store.list_runs(10, "three"), store.count_runs("three")) == ([], 0)
        assert (store.count_runs(), store.count_runs("one")) == (3, 2)

    def test_the_list_has_target_verdict_and_pass_rate(self, store: Store) -> None:
        run = added(store)
        [line] = store.list_runs(1)
        assert (line.variant, line.verdict, line.pass_rate) == (run.variant, "", None)
        report = sample_report(run, pending=1, why="because")
        store.finish(run.id, report, stopped="interrupted", elapsed_s=1.5)
        [line] = store.list_runs(1)
        assert (line.variant, line.verdict) == (report.metadata.variant, report.verdict)
        assert line.pass_rate == report.measurements.get("pass_rate")

    def test_a_report_is_kept_and_time_adds_up(self, store: Store) -> None:
        run = added(store)
        report = sample_report(run, pending=1, why="because")
        store.finish(run.id, report, stopped="interrupted", elapsed_s=1.5)
        assert store.find_run(run.id).report == report
        assert store.find_run(run.id).finished_at is None
        assert store.progress(run.id) == ("interrupted", 1.5)
        store.finish(run.id, sample_report(run), stopped="", elapsed_s=2.0)
        assert store.progress(run.id) == ("", 3.5)
        assert store.find_run(run.id).finished_at is not None

    def test_what_is_asked_of_an_unknown_run_is_refused(self, store: Store) -> None:
        for ask in (
            lambda: store.put("eval-nothing", make_trial()),
            lambda: list(store.trials("eval-nothing")),
            lambda: list(store.outcomes("eval-nothing")),
            lambda: store.progress("eval-nothing"),
            lambda: store.finish("eval-nothing", sample_report(make_run()), stopped="", elapsed_s=0),
        ):
            with pytest.raises(UnknownName):
                ask()

    def test_a_removed_run_leaves_nothing_to_the_next_one(self, store: Store) -> None:
        run = added(store)
        put(store, run, make_trial())
        store.remove_run(run)
        store.compact()
        following = added(store)
        assert list(store.trials(following.id)) == []
        for ask in (lambda: store.find_run(run.id), lambda: list(store.trials(run.id))):
            with pytest.raises(UnknownName):
                ask()

    def test_old_runs_are_found_by_age(self, store: Store) -> None:
        old = added(store, make_run(created_at="2025-12-31T23:59:59Z"))
        added(store, make_run(created_at="2026-01-01T00:00:00Z"))
        assert store.runs_before("2026-01-01T00:00:00Z") == [old]

    def test_every_run_has_an_id_and_a_name_of_its_own(self, store: Store) -> None:
        runs = [run for _ in range(20) for run in store.add_runs([make_run(), make_run()])]
        assert len({run.id for run in runs}) == len({run.name for run in runs}) == 40
        assert [line.id for line in store.list_runs(40)] == [run.id for run in reversed(runs)]

    def test_a_run_has_one_claim_at_a_time(self, store: Store) -> None:
        run, other = added(store), added(store)
        with store.claim(run), store.claim(other):
            with pytest.raises(RunBusy), store.claim(run):
                pytest.fail("claimed twice")
            with pytest.raises(RunBusy):
                store.redacting(Redactor.none()).remove_run(run)
        with store.claim(run):
            assert store.find_run(run.id) == run
        store.remove_run(run)

    def test_who_runs_a_run_can_be_seen_without_taking_it(self, store: Store) -> None:
        [run] = store.add_runs([make_run()])
        assert not store.is_claimed(run.id)
        with store.claim(run):
            assert store.is_claimed(run.id)
        assert not store.is_claimed(run.id)
        assert not store.is_claimed("a run that was removed")

    def test_a_store_has_an_identity_that_stays(self, store: Store) -> None:
        before = store.identity
        store.add_runs([make_run()])
        assert store.identity == before
        assert store.redacting(store.redactor).identity == before

    def test_a_claim_ends_where_the_work_fails(self, store: Store) -> None:
        run = added(store)
        with pytest.raises(ZeroDivisionError), store.claim(run):
            raise ZeroDivisionError
        store.remove_run(run)
        assert store.list_runs(5) == []

    def test_regrades_are_found_once_each_of_them_is_finished(self, store: Store) -> None:
        old = added(store)
        planned = [make_run(name).model_copy(update={"regrade_of": old.id}) for name in ("capitals", "rivers")]
        all_trials = [make_trial(case_id, index) for case_id in ("a", "b") for index in (0, 1)]
        with store.regrading(planned) as (first, second):
            put(store, first, *all_trials)
            store.finish(first.id, sample_report(first), stopped="", elapsed_s=1.0)
            assert [line.id for line in store.list_runs(5)] == [old.id]
            assert (store.newest_run(), store.newest_runs("rivers", 5), store.suite_names()) == (old, [], ["capitals"])
            assert store.runs_before("9999") == [old]
            assert store.matrix(first.matrix_id) == []
            for ask in (store.find_run, store.outline):
                with pytest.raises(UnknownName):
                    ask(first.name)
            assert len(list(store.trials(first.id))) == 4, "the process that regrades sees them"
            with pytest.raises(RunBusy), store.claim(second):
                pytest.fail("claimed twice")
            put(store, second, *all_trials)
            store.finish(second.id, sample_report(second), stopped="", elapsed_s=1.0)
            assert [line.id for line in store.list_runs(5)] == [second.id, first.id, old.id]
        assert [run.id for run in store.matrix(first.id)] == [first.id, second.id]
        store.remove_run(second)

    def test_a_regrade_that_fails_leaves_nothing(self, store: Store) -> None:
        old = added(store)
        planned = [make_run().model_copy(update={"regrade_of": old.id})]
        with pytest.raises(ZeroDivisionError), store.regrading(planned) as [regrade]:
            store.put(regrade.id, make_trial())
            raise ZeroDivisionError
        with pytest.raises(UnknownName):
            list(store.trials(regrade.id))
        assert store.list_runs(5) == store.list_runs(1)

    def test_newest_first_and_only_those_that_count(self, store: Store) -> None:
        first, second = stored(store), stored(store)
        stored(store, finished=False)
        stored(store, suite="other")
        stored(store, regrade_of=first.id)
        last = stored(store)
        assert [past.id for past in store.past_runs("capitals")] == [last.id, second.id, first.id]
        assert [past.id for past in store.past_runs("capitals", before=last.id)] == [second.id, first.id]
        assert list(store.past_runs("nobody")) == []

    def test_a_past_run_says_what_was_asked_of_whom(self, store: Store) -> None:
        run = stored(store)
        [past] = store.past_runs("capitals")
        assert (past.name, past.planned, past.variant, past.kind, past.target) == (run.name, 4, "quick", "oracle", "t")
        assert past.key("a") == run.lock.cases["a"].key
        assert past.key("nobody") == ""
        assert past.locks["a"] == run.lock.cases["a"].model_dump(exclude_defaults=True)
        assert store.past_run(run.id) == past
        assert store.past_run("nobody") is None

    def test_judged_first_answers_by_case(self, store: Store) -> None:
        assert store.judged(stored(store).id) == {"a": (2, 1), "b": (1, 0)}

    def test_what_runs_were_tried_on_is_known_without_their_suites(self, store: Store) -> None:
        long = make_run().model_copy(update={"root": "/" + "folder/" * 5000})
        for variant in ("quick", "slow", "slow", "other"):
            [run] = store.add_runs([long.model_copy(update={"variant": variant})])
            store.finish(run.id, sample_report(run), stopped="", elapsed_s=1.0)
        stored(store, finished=False)
        assert store.variants("capitals", 10) == {"quick", "slow", "other"}
        assert store.variants("capitals", 2) == {"slow", "other"}, "the newest"

    def test_only_later_runs_of_the_suite_that_asked_a_target(self, store: Store) -> None:
        [first] = store.add_runs([make_run()])
        [regrade] = store.add_runs([make_run().model_copy(update={"regrade_of": first.id})])
        a, b = store.add_runs([make_run(), make_run()])
        store.add_runs([make_run("rivers")])
        store.finish(b.id, sample_report(b), stopped="", elapsed_s=0)
        since = store.runs_since("capitals", first.id)
        assert [(link.id, link.is_finished) for link in since] == [(b.id, True), (a.id, False)]
        assert since[0].matrix_id == since[1].matrix_id == a.id
        assert [link.id for link in store.runs_since("capitals", "no such run")] == [b.id, a.id, first.id]
        assert [link.id for link in store.runs_since("capitals", regrade.id)] == [b.id, a.id]
        assert store.suite_names() == ["capitals", "rivers"]

    def test_an_outline_says_what_the_run_says(self, store: Store) -> None:
        [run] = store.add_runs([varied_run()])
        outline = store.outline(run.name)
        assert outline == store.outline(run.id)
        assert (outline.id, outline.name, outline.suite_name) == (run.id, run.name, "capitals")
        assert (outline.finished_at, outline.report) == (None, None)
        assert store.gate_of(run.id) == run.suite.gate
        with pytest.raises(UnknownName, match="Did you mean"):
            store.outline(run.name[:-1])

    def test_the_outlines_of_a_suite_come_newest_first_without_regrades(self, store: Store) -> None:
        early, late = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
        old = added(store, make_run(created_at=early))
        many = [added(store, make_run(created_at=late)) for _ in range(45)]
        added(store, make_run("rivers", created_at=late))
        added(store, make_run(created_at=late).model_copy(update={"regrade_of": old.id}))
        ids = [run.id for run in reversed(many)]
        assert [outline.id for outline in store.outlines("capitals")] == [*ids, old.id]
        assert list(store.outlines("nobody")) == []

    def test_outlines_of_older_runs_come_without_cases_once_enough_were_read(self, store: Store) -> None:
        for _ in range(4):
            run = added(store)
            kept = {"cases": (CaseResult("a"), CaseResult("b"))}
            store.finish(run.id, sample_report(run).model_copy(update=kept), stopped="", elapsed_s=1.0)
        added(store)

        def numbers(most_cases: int | None) -> list[int | None]:
            found = store.outlines("capitals", most_cases=most_cases)
            return [len(each.report.cases) if each.report else None for each in found]

        assert numbers(None) == [None, 2, 2, 2, 2]
        assert numbers(6) == numbers(5) == [None, 2, 2, 2, 0]
        assert numbers(0) == [None, 2, 2, 0, 0]

    def test_an_outline_says_which_target_was_tried_before_and_after_the_first_stop(self, store: Store) -> None:
        [run] = store.add_runs([make_run().model_copy(update={"root": "/" + "folder/" * 5000})])
        assert store.outline(run.id).variant == "quick"
        report = sample_report(run)
        metadata = report.metadata.model_copy(update={"variant": "quick"})
        kept = {"metadata": metadata, "cases": (CaseResult("a"), CaseResult("b"))}
        store.finish(run.id, report.model_copy(update=kept), stopped="", elapsed_s=1.0)
        assert [outline.variant for outline in store.outlines("capitals")] == ["quick"]

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

    def test_kept_cases_have_no_secret(self, open_store: OpenStore) -> None:
        store = open_store(Redactor({"TOKEN": "hunter2hunter2"}))
        [run] = store.add_runs([varied_run()])
        case = CaseResult("plain", trials=1, passed=1, state="passed", cluster="hunter2hunter2")
        cases = (case, CaseResult("other"))
        store.finish(run.id, sample_report(run).model_copy(update={"cases": cases}), stopped="", elapsed_s=1.0)
        report = store.outline(run.id).report
        assert report is not None
        assert "hunter2" not in report.cases[0].cluster
        assert report.cases[0].passed == 1


def stored(store: Store, *, finished: bool = True, suite: str = "capitals", regrade_of: str = "") -> Run:
    [run] = store.add_runs([make_run(suite).model_copy(update={"regrade_of": regrade_of})])
    states: list[tuple[str, int, TrialState]] = [
        ("a", 0, "passed"),
        ("a", 1, "failed"),
        ("b", 0, "error"),
        ("b", 1, "failed"),
    ]
    for case_id, index, state in states:
        store.put(run.id, make_trial(case_id, index, state))
    store.finish(run.id, sample_report(run, pending=0 if finished else 1), stopped="", elapsed_s=1.0)
    return run


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
