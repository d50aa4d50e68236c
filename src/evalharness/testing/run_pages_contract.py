"""What every store says of a run page by page: the same under way as when it has come to a stop, and of any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.case_line import CaseQuery, ChangeKey
from evalharness.domain.report import Failure, Recommendation
from evalharness.domain.run import CaseLock, Run
from evalharness.domain.stored import LONGEST_LIST
from evalharness.domain.transcript import ToolCall, Transcript, Usage
from evalharness.domain.trial import Attempt, Trial, TrialState
from evalharness.errors import UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.testing.stored_records import (
    SECRET,
    OpenStore,
    StoreFixtures,
    added,
    make_run,
    make_trial,
    put,
    sample_report,
)

LETTERS: dict[str, TrialState] = {"p": "passed", "f": "failed", "e": "error", "s": "skipped", "a": "awaiting"}
CASES = {
    # id: name, category, tags, the states of its trials
    "m": ("Mixed", "sums", ("fast", "a b"), "pf"),
    "z": ("Zebra", "sums", ("fast",), "pp"),
    "b": ("", "", ("fas", 'qu"ote'), "ff"),
    "e": ("ÉCOLE", "words", (), "ee"),
    "w": ("Waits", "words", (), "pa"),
    "s": ("Skips", "words", (), "ss"),
    "o": ("Open", "words", (), "p"),
    "n": ("Not begun", "words", (), ""),
}


def varied_run(*, case_threshold: float = 1.0) -> Run:
    run = make_run(trials=2)
    cases = tuple(
        Case(id=id_, name=name, category=category, tags=tags, input=f"what is {id_}?", expected="x")
        for id_, (name, category, tags, _) in CASES.items()
    )
    locks = {case.id: CaseLock(case="c", graders="g") for case in cases}
    suite = run.suite.model_copy(update={"cases": cases, "case_threshold": case_threshold})
    return run.model_copy(update={"suite": suite, "lock": run.lock.model_copy(update={"cases": locks})})


def varied_trials() -> Iterator[Trial]:
    for place, (id_, (*_, letters)) in enumerate(CASES.items()):
        for index, letter in enumerate(letters):
            state = LETTERS[letter]
            scores = {"passed": 1.0, "failed": None if id_ == "b" else 0.25}
            transcript = Transcript(
                output="x",
                tool_calls=(ToolCall(name="look"),) * place,
                usage=Usage(input_tokens=place, output_tokens=index) if id_ != "z" else None,
                cost_usd=place / 10 if id_ != "z" else None,
            )
            attempt = Attempt(
                state=state,
                score=scores.get(state),
                reason=state,
                duration_s=1.0 + place + index,
                transcript=transcript,
            )
            yield Trial(case_id=id_, index=index, seed=1, attempts=(attempt,))


class RunPagesContract(StoreFixtures):
    @pytest.fixture(params=["under way", "at a stop", "taken up again"])
    def varied(self, request: pytest.FixtureRequest, store: Store) -> Run:
        run = added(store, varied_run())
        trials = list(varied_trials())
        put(store, run, *trials[:-1])
        if request.param == "at a stop":
            put(store, run, trials[-1])
        if request.param != "under way":
            store.finish(run.id, sample_report(run, pending=3), stopped="", elapsed_s=1)
        put(store, run, trials[-1])
        return run

    def ids(self, store: Store, run: Run, query: CaseQuery) -> str:
        page = store.case_page(run.id, query)
        return " ".join(line.case_id for line in page.lines) + f" of {page.total}"

    def test_a_line_says_all_of_a_case(self, store: Store, varied: Run) -> None:
        lines = {line.case_id: line for line in store.case_page(varied.id, CaseQuery()).lines}
        assert list(lines) == list(CASES)
        states = {id_: (line.state, line.marks, line.passed, line.graded) for id_, line in lines.items()}
        assert states == {
            "m": ("failed", "pf", 1, 2),
            "z": ("passed", "pp", 2, 2),
            "b": ("failed", "ff", 0, 2),
            "e": ("error", "ee", 0, 0),
            "w": ("awaiting", "pa", 1, 1),
            "s": ("skipped", "ss", 0, 0),
            "o": ("pending", "p", 1, 1),
            "n": ("pending", "", 0, 0),
        }
        assert [id_ for id_, line in lines.items() if line.is_flaky] == ["m"]
        assert [(lines[id_].name, lines[id_].category, lines[id_].tags) for id_ in CASES] == [
            case[:3] for case in CASES.values()
        ]
        assert [line.position for line in lines.values()] == list(range(8))
        assert {line.trials for line in lines.values()} == {2}
        assert [line.score for line in lines.values()] == [0.625, 1.0, 0.0, None, 1.0, None, 1.0, None]
        assert [line.latency_s for line in lines.values()] == [1.5, 2.5, 3.5, None, 5.0, None, 7.0, None]
        assert [line.cost_usd for line in lines.values()] == [0.0, None, 0.2, None, 0.4, None, 0.6, None]
        assert [line.spent_usd for line in lines.values()] == [0.0, None, 0.4, 0.6, 0.8, 1.0, 0.6, None]
        assert [line.tokens for line in lines.values()] == [1, None, 5, 7, 9, 11, 6, None]
        assert [line.tool_calls for line in lines.values()] == [0, 2, 4, 6, 8, 10, 6, None]
        assert [line.first_not_passed for line in lines.values()] == [1, None, 0, 0, 1, 0, None, None]

    def test_a_single_line_is_the_one_of_the_page(self, store: Store, varied: Run) -> None:
        page = store.case_page(varied.id, CaseQuery())
        assert [store.case_line(varied.id, id_) for id_ in CASES] == page.lines
        assert store.case_line(varied.id, "nobody") is None

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            (CaseQuery(state="not_passed"), "m b e w s o n of 7"),
            (CaseQuery(state="failed"), "m b of 2"),
            (CaseQuery(state="flaky"), "m of 1"),
            (CaseQuery(state="pending"), "o n of 2"),
            (CaseQuery(category="sums"), "m z of 2"),
            (CaseQuery(tag="fast"), "m z of 2"),
            (CaseQuery(tag="fas"), "b of 1"),
            (CaseQuery(tag='qu"ote'), "b of 1"),
            (CaseQuery(tag="%"), " of 0"),
            (CaseQuery(q="école"), "e of 1"),
            (CaseQuery(q="NOT beg"), "n of 1"),
            (CaseQuery(q="_"), " of 0"),
            (CaseQuery(q="z", state="passed", category="sums", tag="fast"), "z of 1"),
            (CaseQuery(q="z", state="failed"), " of 0"),
            (CaseQuery(sort="id"), "b e m n o s w z of 8"),
            (CaseQuery(sort="id", descending=True), "z w s o n m e b of 8"),
            (CaseQuery(sort="name"), "b m n o s w z e of 8"),
            (CaseQuery(sort="urgency"), "b e m w o n s z of 8"),
            (CaseQuery(sort="score"), "b m z w o e s n of 8"),
            (CaseQuery(sort="score", descending=True), "z w o m b e s n of 8"),
            (CaseQuery(sort="rate"), "b m z w o e s n of 8"),
            (CaseQuery(sort="cost", descending=True), "o w b m z e s n of 8"),
            (CaseQuery(sort="latency"), "m z b w o e s n of 8"),
            (CaseQuery(limit=3), "m z b of 8"),
            (CaseQuery(limit=3, offset=6), "o n of 8"),
            (CaseQuery(limit=3, offset=60), " of 8"),
            (CaseQuery(limit=2, offset=2, sort="id"), "m n of 8"),
            (CaseQuery(limit=2, offset=1, sort="score", state="not_passed"), "m w of 7"),
        ],
        ids=str,
    )
    def test_pages_are_filtered_and_sorted(self, store: Store, varied: Run, query: CaseQuery, expected: str) -> None:
        assert self.ids(store, varied, query) == expected

    @pytest.mark.parametrize(
        "wrong", [{"state": "gone"}, {"sort": "size"}, {"limit": 0}, {"limit": 101}, {"offset": -1}], ids=str
    )
    def test_a_query_that_cannot_be_is_refused(self, wrong: dict[str, str]) -> None:
        [name] = wrong
        with pytest.raises(UsageError, match=name):
            CaseQuery(**wrong)  # type: ignore[arg-type]

    def test_the_threshold_of_the_suite_decides(self, store: Store) -> None:
        run = added(store, varied_run(case_threshold=0.5))
        put(store, run, *varied_trials())
        for _ in range(2):
            assert self.ids(store, run, CaseQuery(state="passed")) == "m z of 2"
            store.finish(run.id, sample_report(run, pending=3), stopped="", elapsed_s=1)

    def test_labels_are_what_can_be_filtered_by(self, store: Store, varied: Run) -> None:
        labels = store.case_labels(varied.id)
        assert (labels.categories, labels.tags) == (("sums", "words"), ("a b", "fas", "fast", 'qu"ote'))

    def test_an_overview_counts_the_trials_that_there_are(self, store: Store, varied: Run) -> None:
        found = store.overview(varied.name)
        counts = {"passed": 5, "failed": 3, "error": 2, "awaiting": 1, "skipped": 2}
        assert (found.line.id, found.line.counts, found.last_change) == (varied.id, counts, 13)
        assert [line.counts for line in store.list_runs(1)] == [counts]
        assert store.overview_page(5) == [found]
        assert found.tallies == (
            ("", "failed", 1, 0.0, 1),
            ("sums", "failed", 1, 0.625, 1),
            ("sums", "passed", 1, 1.0, 1),
            ("words", "awaiting", 1, 1.0, 1),
            ("words", "error", 1, 0.0, 0),
            ("words", "pending", 2, 1.0, 1),
            ("words", "skipped", 1, 0.0, 0),
        )

    def test_the_median_is_that_of_judged_trials(self, store: Store, varied: Run) -> None:
        assert store.median_latencies(varied.id, ["m", "e", "w", "n", "nobody"]) == {"m": 1.5, "w": 5.0}
        run = added(store, make_run(trials=5))
        for index, duration_s in enumerate((9.0, 1.0, 5.0, 2.0)):
            attempt = Attempt(state="passed", duration_s=duration_s)
            put(store, run, Trial(case_id="a", index=index, seed=1, attempts=(attempt,)))
        assert store.median_latencies(run.id, ["a"]) == {"a": 3.5}

    def test_the_report_of_an_overview_is_short(self, store: Store) -> None:
        run = added(store)
        assert (store.overview(run.id).report, store.overview(run.id).is_current) == (None, False)
        put(store, run, *(make_trial(case_id, index) for case_id in "ab" for index in range(2)))
        advice = Recommendation(kind="alike", finding="look", cases=("a",) * 1000)
        failure = Failure(eval_id="a", name="a", state="failed", reason="no")
        long = sample_report(run).model_copy(update={"failures": (failure,) * 1000, "recommendations": (advice,)})
        store.finish(run.id, long, stopped="spend cap", elapsed_s=2)
        found = store.overview(run.id)
        assert found.report is not None
        assert (found.stopped, found.elapsed_s, found.is_current) == ("spend cap", 2.0, True)
        assert len(found.report.failures) == len(found.report.recommendations[0].cases) == LONGEST_LIST
        assert found.report.verdict == found.line.verdict == "FAILED"
        kept = store.find_run(run.id).report
        assert kept is not None
        assert len(kept.failures) == 1000
        with pytest.raises(UnknownName):
            store.overview("nobody")

    def test_a_part_of_a_run_has_the_cases_that_are_asked_for(self, store: Store) -> None:
        run = make_run()
        cases = tuple(Case(id=f"case {n}", input=f"what is {n}?", expected="x") for n in range(250))
        locks = {case.id: CaseLock(case="c", graders="g") for case in cases}
        suite, lock = run.suite.model_copy(update={"cases": cases}), run.lock.model_copy(update={"cases": locks})
        stored = added(store, run.model_copy(update={"suite": suite, "lock": lock}))
        whole = store.find_run(stored.id)

        def expected(*wanted: Case) -> Run:
            suite = whole.suite.model_copy(update={"cases": wanted})
            lock = whole.lock.model_copy(update={"cases": {}})
            return whole.model_copy(update={"suite": suite, "lock": lock, "report": None})

        assert store.part_of(stored.id) == expected()
        assert store.part_of(stored.id, ["case 120"]) == expected(cases[120])
        assert store.part_of(stored.id, ["case 249", "nobody", "case 3"]) == expected(cases[3], cases[249])

    def test_secrets_are_on_no_page(self, store: Store) -> None:
        run = varied_run()
        [first, *others] = run.suite.cases
        telling = first.model_copy(update={"name": SECRET, "category": SECRET, "tags": (SECRET,), "input": SECRET})
        run = added(store, run.model_copy(update={"suite": run.suite.model_copy(update={"cases": (telling, *others)})}))
        put(store, run, *varied_trials())
        shown = [
            store.case_page(run.id, CaseQuery()),
            store.case_labels(run.id),
            store.part_of(run.id, ["m"]),
        ]
        for each in map(repr, shown):
            assert "ключ" not in each
            assert "[redacted:API_KEY]" in each

    def test_trials_are_read_page_by_page(self, store: Store, varied: Run) -> None:
        found: list[tuple[str, int]] = []
        while page := store.outcome_page(varied.id, 3, found[-1] if found else ("", -1)):
            found += [(outcome.case_id, outcome.trial_index) for outcome in page]
        assert found == [(trial.case_id, trial.index) for trial in store.trials(varied.id)]
        assert [each.state for each in store.outcome_page(varied.id, 5, case_id="m")] == ["passed", "failed"]
        assert [each.state for each in store.outcome_page(varied.id, 5, ("", 0), "m")] == ["failed"]
        assert store.outcome_page(varied.id, 5, case_id="nobody") == []

    def test_one_trial_is_read_with_everything(self, store: Store, varied: Run) -> None:
        [_, second] = store.trials(varied.id, "m")
        assert store.trial(varied.id, "m", 1) == second
        assert store.trial(varied.id, "m", 2) is None

    def test_changes_come_in_the_order_of_writing_and_a_replaced_trial_comes_again(self, store: Store) -> None:
        run, other = added(store), added(store)
        put(store, run, make_trial("b", state="error"), make_trial("a"))
        put(store, other, make_trial("b"))
        store.replace_unfinished(run.id, make_trial("b", state="failed"))
        store.put(run.id, make_trial("a", reason="too late"))
        store.flush()
        put(store, run, make_trial("a", 1))

        def seen(after: ChangeKey) -> Sequence[tuple[str, int, str]]:
            found = [change.outcome for change in store.changes(run.id, after, 100)]
            return [(outcome.case_id, outcome.trial_index, outcome.state) for outcome in found]

        assert seen(ChangeKey()) == [("a", 0, "passed"), ("b", 0, "failed"), ("a", 1, "passed")]
        numbers = [change.number for change in store.changes(run.id, ChangeKey(), 100)]
        assert numbers == sorted(set(numbers))
        assert store.overview(run.id).last_change == numbers[-1]
        [first] = store.changes(run.id, ChangeKey(), 1)
        assert seen(first.key) == [("b", 0, "failed"), ("a", 1, "passed")]
        assert seen(ChangeKey(numbers[-1])) == [("a", 1, "passed")], "whoever saw only a part of it sees it again"
        assert len(store.changes(other.id, ChangeKey(), 100)) == 1

    def test_the_pages_of_a_removed_run_are_not_those_of_the_next_one(self, open_store: OpenStore) -> None:
        store = open_store(Redactor.none())
        gone = added(store, varied_run())
        put(store, gone, *varied_trials())
        store.finish(gone.id, sample_report(gone), stopped="", elapsed_s=1)
        store.remove_run(gone)
        run = added(store)
        assert [line.case_id for line in store.case_page(run.id, CaseQuery()).lines] == ["a", "b"]
        assert [line.state for line in store.case_page(run.id, CaseQuery()).lines] == ["pending"] * 2
        with pytest.raises(UnknownName):
            store.case_page(gone.id, CaseQuery())

    def test_a_revision_changes_with_what_is_kept_of_a_run(self, store: Store) -> None:
        run, other = added(store), added(store)

        def revision() -> tuple[object, ...]:
            found = store.revisions("capitals")
            assert [each.id for each in found] == [run.id, other.id]
            return found[0][1:]

        begun = revision()
        put(store, run, make_trial("a", state="error"))
        assert revision() == begun, "nothing is kept of it yet"
        store.finish(run.id, sample_report(run, pending=1), stopped="interrupted", elapsed_s=1)
        stopped = revision()
        store.replace_unfinished(run.id, make_trial("a"))
        store.flush()
        taken_up = revision()
        store.finish(run.id, sample_report(run, pending=1), stopped="interrupted", elapsed_s=1)
        again = revision()
        assert len({begun, stopped, taken_up, again}) == 4
        assert [found[-1] for found in (begun, stopped, taken_up, again)] == [False, True, False, True]
        assert store.revisions("capitals")[1] == (other.id, None, "", None, False)
        assert store.revisions("nobody") == ()

    def test_runs_are_listed_from_one_on(self, store: Store) -> None:
        runs = [added(store, make_run("one" if number % 2 else "two")) for number in range(5)]
        assert [line.id for line in store.list_runs(2, before=runs[3].id)] == [runs[2].id, runs[1].id]
        assert [line.id for line in store.list_runs(9, "two", before=runs[4].id)] == [runs[2].id, runs[0].id]
        assert store.list_runs(9, before=runs[0].id) == []
        assert [found.line.id for found in store.overview_page(1, "one", runs[3].id)] == [runs[1].id]
        with pytest.raises(UnknownName):
            store.list_runs(9, before="nobody")
