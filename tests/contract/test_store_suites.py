"""What every store does with registered suites and with the histories of their cases."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from stored_records import make_report, make_run

from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory, written_history
from evalharness.domain.run import Run
from evalharness.domain.specification import GraderSpec
from evalharness.domain.stored import RegisteredSuite
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError
from evalharness.redaction import Redactor

SECRET = "correct-horse-battery"


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    return open_store(redactor=Redactor({"API_KEY": SECRET}))


def registered(name: str, cases: int = 2, path: str = "/w/suite.yaml") -> RegisteredSuite:
    listed = tuple(Case(id=f"c{number}", input="?", expected="x") for number in range(cases))
    return RegisteredSuite(Suite(name=name, cases=listed), "/w", path, "native")


class TestSuites:
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
        assert store.case_histories("capitals") == {"a": CaseHistory(1)}


def finish(store: Store, run: Run, *, pending: int = 0, **passed: bool) -> None:
    judged = [(case, passed[case.id]) for case in run.suite.cases if case.id in passed]
    store.finish(run.id, make_report(run, pending=pending), stopped="", elapsed_s=0, judged=judged)


class TestHistories:
    def test_failures_are_counted_and_the_last_pass_is_remembered(self, store: Store) -> None:
        for a_passed in (False, False, True, False):
            [run] = store.add_runs([make_run()])
            finish(store, run, a=a_passed, b=True)
        found = store.case_histories("capitals")
        last_run = store.find_run(run.id)
        assert (found["a"].failure_count, found["b"].failure_count) == (3, 0)
        assert found["a"].last_passed is not None
        assert found["b"].last_passed == last_run.finished_at

    def test_a_run_counts_once_and_only_when_it_is_finished(self, store: Store) -> None:
        [run] = store.add_runs([make_run()])
        finish(store, run, pending=1, a=False)
        assert store.case_histories("capitals") == {}
        for _ in range(3):
            finish(store, run, a=False)
        assert store.case_histories("capitals") == {"a": CaseHistory(1)}

    def test_a_case_that_was_not_judged_has_no_history(self, store: Store) -> None:
        [run] = store.add_runs([make_run()])
        finish(store, run)
        assert store.case_histories("capitals") == {}

    def test_counting_starts_where_the_file_says(self, store: Store) -> None:
        run = with_metadata(make_run(), failure_count=4, last_passed="2024-01-19")
        for _ in range(2):
            [stored] = store.add_runs([run])
            finish(store, stored, a=False)
        assert store.case_histories("capitals")["a"] == CaseHistory(6, "2024-01-19")

    def test_suites_have_histories_of_their_own(self, store: Store) -> None:
        for name in ("one", "two"):
            [run] = store.add_runs([make_run(name)])
            finish(store, run, a=name == "one")
        assert store.case_histories("one")["a"].failure_count == 0
        assert store.case_histories("two") == {"a": CaseHistory(1)}

    def test_what_the_file_says_is_kept_without_its_secrets(self, store: Store) -> None:
        [run] = store.add_runs([with_metadata(make_run(f"suite {SECRET}"), last_passed=f"with {SECRET}")])
        finish(store, run, a=False)
        assert store.case_histories(f"suite {SECRET}") == {"a": CaseHistory(1, "with [redacted:API_KEY]")}


def with_metadata(run: Run, **metadata: object) -> Run:
    cases = tuple(case.model_copy(update={"metadata": metadata}) for case in run.suite.cases)
    return run.model_copy(update={"suite": run.suite.model_copy(update={"cases": cases})})


@pytest.mark.parametrize(
    ("metadata", "history"),
    [
        ({}, CaseHistory()),
        ({"failure_count": 3, "last_passed": "2024-01-19"}, CaseHistory(3, "2024-01-19")),
        ({"failure_count": "many", "last_passed": 5}, CaseHistory()),
        ({"failure_count": -1, "last_passed": ""}, CaseHistory()),
        ({"failure_count": True, "last_passed": None}, CaseHistory()),
        ({"failure_count": 10**30}, CaseHistory()),
    ],
)
def test_only_a_count_and_a_text_are_taken_from_a_file(metadata: dict[str, object], history: CaseHistory) -> None:
    assert written_history(Case(id="a", input="?", metadata=metadata)) == history
