"""What every store does with what stands beside runs: baselines, suites, histories, verdicts of judges, budgets."""

from __future__ import annotations

import asyncio

import pytest

from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.finding import finding
from evalharness.domain.job import Job, JobRequest, ProcessMark
from evalharness.domain.run import Run
from evalharness.domain.selftest import CaseMark
from evalharness.domain.specification import GraderSpec
from evalharness.domain.stored import RegisteredSuite
from evalharness.domain.suite import Suite
from evalharness.errors import UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.testing.stored_records import SECRET, OpenStore, StoreFixtures, make_run, make_trial, sample_report


class BaselineStoreContract(StoreFixtures):
    def test_each_suite_has_its_own_and_the_last_one_set_comes_first(self, store: Store) -> None:
        a, b, other = store.add_runs([make_run(), make_run(), make_run("rivers")])
        assert store.baselines() == []
        store.set_baseline(a.id, "default")
        store.set_baseline(other.id, "default")
        store.set_baseline(b.id, "release")
        assert _listed(store) == [
            ("capitals", "release", b.name),
            ("rivers", "default", other.name),
            ("capitals", "default", a.name),
        ]
        assert _listed(store, "rivers") == [("rivers", "default", other.name)]
        found = store.baseline("capitals", "default")
        assert found is not None
        assert (found.run_id, found.run_name) == (a.id, a.name)
        assert store.baseline("rivers", "release") is None

    def test_a_name_is_given_to_another_run_and_is_then_the_newest(self, store: Store) -> None:
        a, b = store.add_runs([make_run(), make_run()])
        store.set_baseline(a.id, "default")
        store.set_baseline(b.id, "other")
        assert store.set_baseline(b.id, "default").run_name == b.name
        assert _listed(store) == [("capitals", "default", b.name), ("capitals", "other", b.name)]

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
        with pytest.raises(UsageError):
            store.remove_run(run)
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
            with pytest.raises(UsageError, match="belongs to the baseline 'default' of capitals"):
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


class JobStoreContract(StoreFixtures):
    def test_a_job_is_stored_before_its_run_and_found_by_its_id(self, store: Store) -> None:
        job = make_job("eval-20260101-000000-0001")
        assert store.jobs.find(job.run_id) is None
        assert store.jobs.put(job)
        assert store.jobs.find(job.run_id) == job
        assert not store.jobs.put(job), "it is there already"

    def test_it_changes_only_from_the_state_that_its_reader_saw(self, store: Store) -> None:
        job = make_job("eval-20260101-000000-0001")
        store.jobs.put(job)
        running = job.model_copy(update={"state": "running", "process": ProcessMark(pid=7, start_ticks=9), "tries": 1})
        assert store.jobs.put(running, was="queued")
        assert not store.jobs.put(job.model_copy(update={"state": "cancelled"}), was="queued")
        assert store.jobs.find(job.run_id) == running

    def test_jobs_are_listed_by_state_in_the_order_they_came(self, store: Store) -> None:
        jobs = [make_job(f"eval-20260101-000000-000{number}") for number in (3, 1, 2)]
        for job in jobs:
            store.jobs.put(job)
        assert store.jobs.listed() == jobs
        ended = jobs[0].model_copy(update={"state": "ended", "exit_code": 1})
        store.jobs.put(ended, was="queued")
        assert store.jobs.listed(["queued"]) == jobs[1:]
        assert store.jobs.listed(["ended", "cancelled"]) == [ended]
        store.jobs.remove(ended.run_id)
        assert store.jobs.listed() == jobs[1:]

    def test_it_goes_with_its_run_and_has_no_secret(self, store: Store) -> None:
        run_id = "eval-20260101-000000-0001"
        store.jobs.put(make_job(run_id, suite=f"suite of {SECRET}"))
        [run] = store.add_runs([make_run().model_copy(update={"id": run_id})])
        found = store.jobs.find(run.id)
        assert found is not None
        assert found.suite == "suite of [redacted:API_KEY]"
        store.remove_run(run)
        assert store.jobs.find(run.id) is None


def make_job(run_id: str, suite: str = "capitals") -> Job:
    return Job(run_id=run_id, suite=suite, request=JobRequest(suite=suite), queued_at="2026-01-01T00:00:00Z")


class SuiteStoreContract(StoreFixtures):
    def test_a_registered_suite_comes_back_whole_with_its_place(self, store: Store) -> None:
        graders = (GraderSpec.model_validate({"contains": ["a", "b"], "weight": 2}),)
        suite = make_run().suite.model_copy(update={"graders": graders, "vars": {"city": "Rome"}})
        store.register_suites([RegisteredSuite(suite, "/w", "/w/suite.yaml", "native")])
        found = store.registered_suite("capitals")
        assert found is not None
        assert found.suite == suite
        assert (found.root, found.path, found.format) == ("/w", "/w/suite.yaml", "native")

    def test_an_unknown_name_has_no_suite(self, store: Store) -> None:
        assert store.registered_suite("capitals") is None
        assert store.registered_suites() == []

    def test_the_last_one_of_a_name_counts(self, store: Store) -> None:
        store.register_suites([registered("b", 1), registered("a", 3)])
        store.register_suites([registered("b", 4, path="/w/other.yaml")])
        lines = [(line.name, line.cases, line.path, line.format) for line in store.registered_suites()]
        assert lines == [("a", 3, "/w/suite.yaml", "native"), ("b", 4, "/w/other.yaml", "native")]
        assert all(line.registered_at for line in store.registered_suites())

    def test_runs_and_their_suites_are_stored_together_or_not_at_all(self, store: Store) -> None:
        [case, *_] = make_run().suite.cases
        telling = make_run().suite.model_copy(update={"cases": (case.model_copy(update={"id": SECRET}),)})
        with pytest.raises(UsageError):
            store.add_runs([make_run().model_copy(update={"suite": telling})], [registered("a")])
        assert store.registered_suites() == []
        store.add_runs([make_run()], [registered("a")])
        assert [line.name for line in store.registered_suites()] == ["a"]

    def test_removing_runs_keeps_suites_and_histories(self, store: Store) -> None:
        [run] = store.add_runs([make_run()], [registered("capitals")])
        finish(store, run, a=False)
        store.remove_run(run)
        store.compact()
        assert [line.name for line in store.registered_suites()] == ["capitals"]
        assert store.case_histories("capitals", "") == {"a": CaseHistory(1)}

    def test_failures_are_counted_and_the_last_pass_is_remembered(self, store: Store) -> None:
        for a_passed in (False, False, True, False):
            [run] = store.add_runs([make_run()])
            finish(store, run, a=a_passed, b=True)
        found = store.case_histories("capitals", "")
        last_run = store.find_run(run.id)
        assert (found["a"].failure_count, found["b"].failure_count) == (3, 0)
        assert found["a"].last_passed is not None
        assert found["b"].last_passed == last_run.finished_at

    def test_a_run_counts_once_and_only_when_it_is_finished(self, store: Store) -> None:
        [run] = store.add_runs([make_run()])
        finish(store, run, pending=1, a=False)
        assert store.case_histories("capitals", "") == {}
        for _ in range(3):
            finish(store, run, a=False)
        assert store.case_histories("capitals", "") == {"a": CaseHistory(1)}

    def test_a_case_that_was_not_judged_has_no_history(self, store: Store) -> None:
        [run] = store.add_runs([make_run()])
        finish(store, run)
        assert store.case_histories("capitals", "") == {}

    def test_counting_starts_where_the_file_says(self, store: Store) -> None:
        run = with_metadata(make_run(), failure_count=4, last_passed="2024-01-19")
        for _ in range(2):
            [stored] = store.add_runs([run])
            finish(store, stored, a=False)
        assert store.case_histories("capitals", "")["a"] == CaseHistory(6, "2024-01-19")

    def test_suites_have_histories_of_their_own(self, store: Store) -> None:
        for name in ("one", "two"):
            [run] = store.add_runs([make_run(name)])
            finish(store, run, a=name == "one")
        assert store.case_histories("one", "")["a"].failure_count == 0
        assert store.case_histories("two", "") == {"a": CaseHistory(1)}

    def test_targets_have_histories_of_their_own(self, store: Store) -> None:
        for variant in ("old.py:answer", "new.py:answer", "new.py:answer"):
            [run] = store.add_runs([make_run()])
            report = sample_report(run)
            named = report.model_copy(update={"metadata": report.metadata.model_copy(update={"variant": variant})})
            store.finish(run.id, named, stopped="", elapsed_s=0, judged=[(run.suite.cases[0], False)])
        found = [store.case_histories("capitals", name) for name in ("old.py:answer", "new.py:answer", "other")]
        assert found == [{"a": CaseHistory(1)}, {"a": CaseHistory(2)}, {}]

    def test_what_the_file_says_is_kept_without_its_secrets(self, store: Store) -> None:
        [run] = store.add_runs([with_metadata(make_run(f"suite {SECRET}"), last_passed=f"with {SECRET}")])
        finish(store, run, a=False)
        assert store.case_histories(f"suite {SECRET}", "") == {"a": CaseHistory(1, "with [redacted:API_KEY]")}


class MarkStoreContract(StoreFixtures):
    def test_a_later_selftest_of_the_same_version_takes_the_place_of_an_earlier_one(self, store: Store) -> None:
        fault = finding("selftest.wrong_passes", "error", case="a", graders=["exact"], answers=[{"kind": "null"}])
        old = CaseMark(case_id="a", key="1 x", tested_at="2026-01-01T00:00:00Z", unsound=(fault,))
        other_version = CaseMark(case_id="a", key="2 x", tested_at="2026-01-02T00:00:00Z")
        assert store.case_marks("capitals") == []
        store.mark_cases("capitals", [old, other_version])
        store.mark_cases("rivers", [old])
        assert store.case_marks("capitals") == [old, other_version]
        corrected = CaseMark(case_id="a", key="1 x", tested_at="2026-01-03T00:00:00Z")
        store.mark_cases("capitals", [corrected])
        assert store.case_marks("capitals") == [corrected, other_version]
        assert store.case_marks("rivers") == [old]

    def test_no_secret_is_kept(self, open_store: OpenStore) -> None:
        store = open_store(Redactor({"API_KEY": "correct-horse"}))
        fault = finding("selftest.right_fails", "error", case="a", graders=[], reason="got correct-horse")
        store.mark_cases("capitals", [CaseMark(case_id="a", key="1 x", tested_at="", unsound=(fault,))])
        [mark] = store.case_marks("capitals")
        assert mark.unsound[0].params["reason"] == "got [redacted:API_KEY]"


class VerdictStoreContract(StoreFixtures):
    def test_a_verdict_is_found_at_once(self, store: Store) -> None:
        asyncio.run(store.judge_cache.set("k", {"score": 3}))
        assert asyncio.run(store.judge_cache.get("k")) == {"score": 3}
        assert asyncio.run(store.judge_cache.has("k"))
        assert asyncio.run(store.judge_cache.get("other")) is None
        assert not asyncio.run(store.judge_cache.has("other"))

    def test_a_verdict_that_could_not_be_used_is_replaced(self, store: Store) -> None:
        for verdict in (1, 2):
            asyncio.run(store.judge_cache.set("k", verdict))
            assert store.judge_cache.line().verdicts == 1
            assert asyncio.run(store.judge_cache.get("k")) == verdict

    def test_clearing_forgets_all_or_what_is_old(self, store: Store) -> None:
        for key in ("a", "b"):
            asyncio.run(store.judge_cache.set(key, key))
        assert store.judge_cache.remove("2000-01-01T00:00:00Z") == 0
        line = store.judge_cache.line()
        assert line.verdicts == 2
        assert line.size_bytes > 0
        assert line.oldest > "2000"
        assert store.judge_cache.remove("9999") == 2
        asyncio.run(store.judge_cache.set("c", "c"))
        asyncio.run(store.judge_cache.clear())
        assert store.judge_cache.line().verdicts == 0
        assert asyncio.run(store.judge_cache.get("c")) is None

    def test_no_secret_is_kept_in_a_verdict(self, open_store: OpenStore) -> None:
        store = open_store(Redactor({"API_KEY": "correct-horse"}))
        asyncio.run(store.judge_cache.set("k", {"reason": "it says correct-horse"}))
        assert asyncio.run(store.judge_cache.get("k")) == {"reason": "it says [redacted:API_KEY]"}


class BudgetStoreContract(StoreFixtures):
    def test_the_last_sum_is_found_at_once(self, store: Store) -> None:
        assert store.spent("budget") == (0.0, 0)
        for sums in ((0.5, 10), (0.75, 15)):
            store.record_spent("budget", *sums)
            assert store.spent("budget") == sums

    def test_the_budget_of_a_matrix_goes_with_the_last_of_its_runs(self, store: Store) -> None:
        first, second = store.add_runs([make_run("one"), make_run("two")])
        store.record_spent(first.matrix_id, 0.5, 10)
        store.record_spent(second.id, 0.25, 5)
        assert store.spent(first.matrix_id) == (0.5, 10)
        store.remove_run(first)
        assert store.spent(first.matrix_id) == (0.5, 10), "the other run draws on it too"
        store.remove_run(second)
        assert store.spent(first.matrix_id) == store.spent(second.id) == (0.0, 0)


def _listed(store: Store, suite_name: str | None = None) -> list[tuple[str, str, str]]:
    return [(each.suite_name, each.name, each.run_name) for each in store.baselines(suite_name)]


def registered(name: str, cases: int = 2, path: str = "/w/suite.yaml") -> RegisteredSuite:
    listed = tuple(Case(id=f"c{number}", input="?", expected="x") for number in range(cases))
    return RegisteredSuite(Suite(name=name, cases=listed), "/w", path, "native")


def finish(store: Store, run: Run, *, pending: int = 0, **passed: bool) -> None:
    judged = [(case, passed[case.id]) for case in run.suite.cases if case.id in passed]
    store.finish(run.id, sample_report(run, pending=pending), stopped="", elapsed_s=0, judged=judged)


def with_metadata(run: Run, **metadata: object) -> Run:
    cases = tuple(case.model_copy(update={"metadata": metadata}) for case in run.suite.cases)
    return run.model_copy(update={"suite": run.suite.model_copy(update={"cases": cases})})
