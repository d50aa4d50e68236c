"""What every store does, whatever holds its tables. A new implementation joins by a line in `IMPLEMENTATIONS`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from stored_records import make_report, make_run, make_trial

from evalharness.domain.grade import Grade
from evalharness.domain.run import Run
from evalharness.domain.transcript import ToolCall, Transcript, Usage
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import StoreError, UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore

SECRET = 'pa"ss\\wörd-ключ-7\n☃'
IMPLEMENTATIONS: dict[str, Callable[[Path], str]] = {
    "sqlite file": lambda folder: str(folder / "store.db"),
    "sqlite memory": lambda folder: ":memory:",
}


@pytest.fixture(params=IMPLEMENTATIONS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return IMPLEMENTATIONS[request.param](tmp_path)


@pytest.fixture
def store(place: str) -> Iterator[SqlStore]:
    opened = SqlStore(place, redactor=Redactor({"API_KEY": SECRET}), rng=Random(7))
    yield opened
    opened.close()


def added(store: SqlStore, *runs: Run) -> Run:
    return store.add_runs(runs or [make_run()])[0]


def put(store: SqlStore, run: Run, *trials: Trial) -> None:
    for trial in trials:
        store.put(run.id, trial)
    store.flush()


class TestRuns:
    def test_a_run_is_found_by_id_and_by_name_as_it_was_planned(self, store: SqlStore) -> None:
        run = added(store)
        assert store.find_run(run.id) == store.find_run(run.name) == run
        assert run.suite == make_run().suite

    def test_an_unknown_run_is_refused_with_a_guess(self, store: SqlStore) -> None:
        run = added(store)
        with pytest.raises(UnknownName, match=run.name):
            store.find_run(run.name[:-1])

    def test_runs_of_the_same_second_and_the_same_dice_have_ids_and_names_of_their_own(self, place: str) -> None:
        dice = Random(3)
        start = dice.getstate()
        store = SqlStore(place, redactor=Redactor.none(), rng=dice)
        runs = []
        for _ in range(20):
            dice.setstate(start)
            runs += store.add_runs([make_run(), make_run()])
        assert len({run.id for run in runs}) == len({run.name for run in runs}) == 40
        assert [line.id for line in store.list_runs(40)] == [run.id for run in reversed(runs)]
        store.close()

    def test_runs_stored_together_are_a_matrix_in_order(self, store: SqlStore) -> None:
        together = store.add_runs([make_run("one"), make_run("two")])
        alone = added(store)
        assert store.matrix(together[1].matrix_id) == together
        assert store.matrix(alone.matrix_id) == [alone]

    def test_the_newest_run_of_a_suite_and_the_newest_unfinished_one(self, store: SqlStore) -> None:
        assert store.newest_run() is None
        first, second = added(store, make_run("one")), added(store, make_run("two", trials=1))
        put(store, second, make_trial("a"), make_trial("b"))
        assert store.newest_run() == second
        assert store.newest_run(suite_name="one") == first
        assert store.newest_run(unfinished=True) == first
        assert store.newest_run(suite_name="two", unfinished=True) is None

    def test_the_list_counts_trials_by_state(self, store: SqlStore) -> None:
        run = added(store)
        put(store, run, make_trial("a"), make_trial("b", state="failed"), make_trial("b", 1, "failed"))
        newest = added(store)
        lines = store.list_runs(10)
        assert [(line.name, line.counts, line.pending) for line in lines] == [
            (newest.name, {}, 4),
            (run.name, {"passed": 1, "failed": 2}, 1),
        ]
        assert store.list_runs(1) == lines[:1]

    def test_a_report_is_kept_and_time_adds_up(self, store: SqlStore) -> None:
        run = added(store)
        report = make_report(run, pending=1, why="because")
        store.finish(run.id, report, stopped="interrupted", elapsed_s=1.5)
        assert store.find_run(run.id).report == report
        assert store.find_run(run.id).finished_at is None
        assert store.progress(run.id) == ("interrupted", 1.5)
        store.finish(run.id, make_report(run), stopped="", elapsed_s=2.0)
        assert store.progress(run.id) == ("", 3.5)
        assert store.find_run(run.id).finished_at is not None

    def test_what_is_asked_of_an_unknown_run_is_refused(self, store: SqlStore) -> None:
        for ask in (
            lambda: store.put("eval-nothing", make_trial()),
            lambda: list(store.trials("eval-nothing")),
            lambda: list(store.outcomes("eval-nothing")),
            lambda: store.progress("eval-nothing"),
            lambda: store.finish("eval-nothing", make_report(make_run()), stopped="", elapsed_s=0),
        ):
            with pytest.raises(UnknownName):
                ask()

    def test_a_removed_run_leaves_nothing_to_the_next_one(self, store: SqlStore) -> None:
        run = added(store)
        put(store, run, make_trial())
        store.remove_run(run)
        store.compact()
        following = added(store)
        assert list(store.trials(following.id)) == []
        for ask in (lambda: store.find_run(run.id), lambda: list(store.trials(run.id))):
            with pytest.raises(UnknownName):
                ask()

    def test_old_runs_are_found_by_age(self, store: SqlStore) -> None:
        old = added(store, make_run(created_at="2025-12-31T23:59:59Z"))
        added(store, make_run(created_at="2026-01-01T00:00:00Z"))
        assert store.runs_before("2026-01-01T00:00:00Z") == [old]


class TestTrials:
    def test_a_trial_comes_back_whole(self, store: SqlStore) -> None:
        transcript = Transcript(
            output={"n": [1, 2.5, None, True, "ü"]},
            messages=({"role": "user", "content": "hi"},),
            tool_calls=(ToolCall(name="look", arguments={"x": 1}, result="y"),),
            usage=Usage(input_tokens=3, output_tokens=4),
            cost_usd=0.25,
            files={"a.txt": "text"},
            exit_code=0,
            stderr="warned",
        )
        grade = Grade(state="fail", score=0.5, reason="half", evidence={"k": 1}, grader="g", kind="k", type="model")
        attempts = (
            Attempt(state="error", reason="rate limit", transcript=transcript),
            Attempt(state="failed", score=0.5, reason="half", duration_s=2, grades=(grade,), transcript=transcript),
        )
        run, trial = added(store), Trial(case_id="b", index=1, seed=9, attempts=attempts)
        put(store, run, trial)
        assert list(store.trials(run.id)) == [trial]
        [outcome] = store.outcomes(run.id)
        assert outcome[:10] == ("b", 1, "failed", "failed", 0.5, "half", 2.0, 0.5, 6, 8)
        assert '"model"' in outcome[10]

    def test_trials_come_in_the_order_of_case_and_index_over_many_pages(self, store: SqlStore) -> None:
        run = added(store, make_run(trials=700))
        keys = [(case_id, index) for case_id in ("a", "b") for index in range(700)]
        put(store, run, *(make_trial(*key) for key in reversed(keys)))
        assert [(trial.case_id, trial.index) for trial in store.trials(run.id)] == keys
        assert [row[:2] for row in store.outcomes(run.id)] == keys
        assert [trial.index for trial in store.trials(run.id, "b")] == list(range(700))
        assert list(store.trials(run.id, "no such case")) == []

    def test_the_first_result_of_a_trial_counts_and_counts_once(self, store: SqlStore) -> None:
        run = added(store)
        put(store, run, make_trial(reason="first"), make_trial(reason="second"))
        put(store, run, make_trial(state="failed", reason="third"))
        assert [trial.reason for trial in store.trials(run.id)] == ["first"]

    @pytest.mark.parametrize("between", [lambda store: None, lambda store: store.flush()], ids=["one group", "two"])
    def test_mending_replaces_an_error(self, store: SqlStore, between: Callable[[SqlStore], None]) -> None:
        run = added(store)
        store.put(run.id, make_trial(state="error", reason="broke"))
        between(store)
        store.mend(run.id, make_trial(state="passed", reason="mended"))
        store.flush()
        assert [(trial.state, trial.reason) for trial in store.trials(run.id)] == [("passed", "mended")]
        assert [row[2] for row in store.outcomes(run.id)] == ["passed"]

    def test_mending_leaves_a_verdict_alone(self, store: SqlStore) -> None:
        run = added(store)
        put(store, run, make_trial(state="failed", reason="judged"))
        store.mend(run.id, make_trial(state="passed", reason="mended"))
        store.mend(run.id, make_trial("b", state="passed", reason="new"))
        store.flush()
        assert [trial.reason for trial in store.trials(run.id)] == ["judged", "new"]

    def test_trials_of_one_run_are_not_those_of_another(self, store: SqlStore) -> None:
        one, two = added(store), added(store)
        put(store, one, make_trial(reason="one"))
        put(store, two, make_trial(reason="two"))
        assert [trial.reason for trial in store.trials(two.id)] == ["two"]

    def test_many_threads_may_put(self, store: SqlStore) -> None:
        run = added(store, make_run(trials=400))

        def work(first: int) -> None:
            for index in range(first, first + 100):
                store.put(run.id, make_trial(index=index))

        threads = [threading.Thread(target=work, args=(first,)) for first in (0, 100, 200, 300)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store.flush()
        assert store.backlog == 0
        assert [trial.index for trial in store.trials(run.id)] == list(range(400))

    def test_reading_goes_on_while_others_write_and_does_not_hold_them_up(self, store: SqlStore) -> None:
        run = added(store, make_run(trials=2000))
        put(store, run, *(make_trial(index=index) for index in range(1000)))
        reading, left_open = store.trials(run.id), store.outcomes(run.id)
        seen = [next(reading).index, next(left_open)[1]]
        put(store, run, *(make_trial(index=index) for index in range(1000, 1500)))
        store.compact()
        seen += [trial.index for trial in reading]
        assert seen == [0, 0, *range(1, 1500)]

    def test_after_closing_nothing_is_accepted(self, place: str) -> None:
        store = SqlStore(place, redactor=Redactor.none())
        run = added(store)
        put(store, run, make_trial())
        store.close()
        for ask in (lambda: store.put(run.id, make_trial(index=1)), lambda: list(store.trials(run.id))):
            with pytest.raises(StoreError):
                ask()


class TestWhatIsKept:
    def test_secrets_are_nowhere(self, store: SqlStore) -> None:
        run = added(store, make_run(f"suite {SECRET}"))
        assert store.newest_run(suite_name=f"suite {SECRET}") is not None
        grade = Grade(state="fail", reason=SECRET, evidence={SECRET: [SECRET]})
        transcript = Transcript(output=f"key: {SECRET}", files={SECRET: SECRET}, stderr=SECRET)
        attempt = Attempt(state="failed", reason=f"because {SECRET}", grades=(grade,), transcript=transcript)
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(attempt,)))
        store.finish(run.id, make_report(run, why=SECRET), stopped="", elapsed_s=1)
        read = [store.find_run(run.id), *store.list_runs(1), *store.trials(run.id), *store.outcomes(run.id)]
        for shown in map(repr, read):
            assert repr(SECRET)[1:-1] not in shown
            assert "ключ" not in shown
            assert "[redacted:API_KEY]" in shown

    def test_half_a_character_in_a_run_is_mended_and_in_a_name_is_unknown(self, store: SqlStore) -> None:
        run = added(store, make_run().model_copy(update={"root": "/caf\udce9"}))
        assert store.find_run(run.id).root == "/caf?"
        with pytest.raises(UnknownName):
            store.find_run("caf\udce9")

    def test_a_case_whose_id_is_a_secret_is_refused_without_telling_it(self, store: SqlStore) -> None:
        run = make_run()
        [case, *_] = run.suite.cases
        telling = run.suite.model_copy(update={"cases": (case.model_copy(update={"id": f"x-{SECRET}"}),)})
        with pytest.raises(UsageError, match=r"x-\[redacted:API_KEY\]") as refusal:
            store.add_runs([make_run(), run.model_copy(update={"suite": telling})])
        assert "ключ" not in str(refusal.value) + refusal.value.hint
        assert store.list_runs(5) == []

    @pytest.mark.parametrize(
        ("output", "kept"),
        [
            ("half \ud83d a pair", "half ? a pair"),
            ({"\udc00": ["\ud800"]}, {"?": ["?"]}),
            (dict.fromkeys(("\ud800", "\ud801"), 1), {"?": 1, "?'": 1}),
            (10**30, 10**30),
            (10**5000, hex(10**5000)),
            (b"\xff", r"b'\xff'"),
        ],
        ids=["text", "data", "equal keys", "large number", "huge number", "not JSON"],
    )
    def test_what_is_not_quite_text_or_json_is_mended(self, store: SqlStore, output: object, kept: object) -> None:
        run = added(store)
        odd = Attempt(state="passed", reason="\udcff", transcript=Transcript.model_construct(output=output))
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(odd,)), make_trial("b", reason="\udcff"))
        first, second = store.trials(run.id)
        assert first.output == kept
        assert first.reason == second.reason == "?"

    @pytest.mark.parametrize("depth", [100, 190, 210, 500, 3000])
    def test_a_deeply_nested_output_does_not_break_the_store(self, store: SqlStore, depth: int) -> None:
        output: object = "core"
        for _ in range(depth):
            output = [output]
        run = added(store)
        deep = Attempt(state="failed", reason="deep", transcript=Transcript(output=output))
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(deep,)))
        [trial] = store.trials(run.id)
        assert trial.reason == "deep"
        assert ("core" if depth == 100 else "") in str(trial.output)

    def test_more_tokens_than_a_column_holds(self, store: SqlStore) -> None:
        run = added(store)
        transcript = Transcript(output="x", usage=Usage(input_tokens=10**30))
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(Attempt(state="passed", transcript=transcript),)))
        assert [trial.input_tokens for trial in store.trials(run.id)] == [10**30]
        assert [row[8] for row in store.outcomes(run.id)] == [2**63 - 1]

    def test_of_a_huge_output_head_and_tail_are_kept(self, store: SqlStore) -> None:
        run = added(store)
        output = "head " + 50_000_000 * "x" + " tail"
        attempt = Attempt(state="passed", transcript=Transcript(output=output))
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(attempt,)))
        [trial] = store.trials(run.id)
        assert isinstance(trial.output, str)
        assert trial.output.startswith("head xxx")
        assert trial.output.endswith("xxx tail")
        assert "characters cut" in trial.output
        assert len(trial.output) < 3_000_000
        assert trial.last.transcript is not None
        assert trial.last.transcript.truncated
