"""What every store does with runs and trials, whatever it is made of."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from random import Random

import pytest
from stored_records import make_report, make_run, make_trial

from evalharness.contracts.store import Store
from evalharness.domain.grade import Grade
from evalharness.domain.run import Run
from evalharness.domain.transcript import ToolCall, Transcript, Usage
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import RunBusy, StoreError, UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.reports.words import say
from evalharness.stores.sql_store import SqlStore
from evalharness.testing.store import FakeStore

SECRET = 'pa"ss\\wörd-ключ-7\n☃'


@pytest.fixture
def store(open_store: Callable[..., Store]) -> Store:
    return open_store(redactor=Redactor({"API_KEY": SECRET}), rng=Random(7))


def added(store: Store, *runs: Run) -> Run:
    return store.add_runs(runs or [make_run()])[0]


def put(store: Store, run: Run, *trials: Trial) -> None:
    for trial in trials:
        store.put(run.id, trial)
    store.flush()


class TestRuns:
    def test_a_run_is_found_by_id_and_by_name_as_it_was_planned(self, store: Store) -> None:
        run = added(store)
        assert store.find_run(run.id) == store.find_run(run.name) == run
        assert run.suite == make_run().suite

    def test_an_unknown_run_is_refused_with_a_guess(self, store: Store) -> None:
        run = added(store)
        with pytest.raises(UnknownName, match=run.name):
            store.find_run(run.name[:-1])

    def test_runs_of_the_same_second_and_the_same_dice_have_ids_and_names_of_their_own(
        self, open_store: Callable[..., Store]
    ) -> None:
        dice = Random(3)
        start = dice.getstate()
        store = open_store(rng=dice)
        runs = []
        for _ in range(20):
            dice.setstate(start)
            runs += store.add_runs([make_run(), make_run()])
        assert len({run.id for run in runs}) == len({run.name for run in runs}) == 40
        assert [line.id for line in store.list_runs(40)] == [run.id for run in reversed(runs)]

    def test_runs_stored_together_are_a_matrix_in_order(self, store: Store) -> None:
        together = store.add_runs([make_run("one"), make_run("two")])
        alone = added(store)
        assert store.matrix(together[1].matrix_id) == together
        assert store.matrix(alone.matrix_id) == [alone]

    def test_the_newest_run_of_a_suite_and_the_newest_unfinished_one(self, store: Store) -> None:
        assert store.newest_run() is None
        first, second = added(store, make_run("one")), added(store, make_run("two", trials=1))
        put(store, second, make_trial("a"), make_trial("b"))
        assert store.newest_run() == second
        assert store.newest_run(suite_name="one") == first
        assert store.newest_run(unfinished=True) == first
        assert store.newest_run(suite_name="two", unfinished=True) is None

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

    def test_a_report_is_kept_and_time_adds_up(self, store: Store) -> None:
        run = added(store)
        report = make_report(run, pending=1, why="because")
        store.finish(run.id, report, stopped="interrupted", elapsed_s=1.5)
        assert store.find_run(run.id).report == report
        assert store.find_run(run.id).finished_at is None
        assert store.progress(run.id) == ("interrupted", 1.5)
        store.finish(run.id, make_report(run), stopped="", elapsed_s=2.0)
        assert store.progress(run.id) == ("", 3.5)
        assert store.find_run(run.id).finished_at is not None

    def test_what_is_asked_of_an_unknown_run_is_refused(self, store: Store) -> None:
        for ask in (
            lambda: store.put("eval-nothing", make_trial()),
            lambda: list(store.trials("eval-nothing")),
            lambda: list(store.outcomes("eval-nothing")),
            lambda: store.progress("eval-nothing"),
            lambda: store.finish("eval-nothing", make_report(make_run()), stopped="", elapsed_s=0),
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


class TestTrials:
    def test_a_trial_comes_back_whole(self, store: Store) -> None:
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

    def test_trials_come_in_the_order_of_case_and_index_over_many_pages(self, store: Store) -> None:
        run = added(store, make_run(trials=700))
        keys = [(case_id, index) for case_id in ("a", "b") for index in range(700)]
        put(store, run, *(make_trial(*key) for key in reversed(keys)))
        assert [(trial.case_id, trial.index) for trial in store.trials(run.id)] == keys
        assert [row[:2] for row in store.outcomes(run.id)] == keys
        assert [trial.index for trial in store.trials(run.id, "b")] == list(range(700))
        assert list(store.trials(run.id, "no such case")) == []

    def test_the_first_result_of_a_trial_counts_and_counts_once(self, store: Store) -> None:
        run = added(store)
        put(store, run, make_trial(reason="first"), make_trial(reason="second"))
        put(store, run, make_trial(state="failed", reason="third"))
        assert [trial.reason for trial in store.trials(run.id)] == ["first"]
        assert [row[2] for row in store.outcomes(run.id)] == ["passed"]

    @pytest.mark.parametrize("between", [lambda store: None, lambda store: store.flush()], ids=["one group", "two"])
    def test_an_error_is_replaced(self, store: Store, between: Callable[[Store], None]) -> None:
        run = added(store)
        store.put(run.id, make_trial(state="error", reason="broke"))
        between(store)
        store.replace_unfinished(run.id, make_trial(state="passed", reason="replaced"))
        store.flush()
        assert [(trial.state, trial.reason) for trial in store.trials(run.id)] == [("passed", "replaced")]
        assert [row[2] for row in store.outcomes(run.id)] == ["passed"]

    def test_a_verdict_is_not_replaced(self, store: Store) -> None:
        run = added(store)
        put(store, run, make_trial(state="failed", reason="judged"))
        store.replace_unfinished(run.id, make_trial(state="passed", reason="replaced"))
        store.replace_unfinished(run.id, make_trial("b", state="passed", reason="new"))
        store.flush()
        assert [trial.reason for trial in store.trials(run.id)] == ["judged", "new"]

    def test_trials_of_one_run_are_not_those_of_another(self, store: Store) -> None:
        one, two = added(store), added(store)
        put(store, one, make_trial(reason="one"))
        put(store, two, make_trial(reason="two"))
        assert [trial.reason for trial in store.trials(two.id)] == ["two"]

    def test_many_threads_may_put(self, store: Store) -> None:
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

    def test_reading_goes_on_while_others_write_and_does_not_hold_them_up(self, store: Store) -> None:
        run = added(store, make_run(trials=2000))
        put(store, run, *(make_trial(index=index) for index in range(1000)))
        reading, left_open = store.trials(run.id), store.outcomes(run.id)
        seen = [next(reading).index, next(left_open)[1]]
        put(store, run, *(make_trial(index=index) for index in range(1000, 1500)))
        store.compact()
        seen += [trial.index for trial in reading]
        assert seen == [0, 0, *range(1, 1500)]

    def test_after_closing_nothing_is_accepted(self, store: Store) -> None:
        run = added(store)
        put(store, run, make_trial())
        store.close()
        for ask in (lambda: store.put(run.id, make_trial(index=1)), lambda: list(store.trials(run.id))):
            with pytest.raises(StoreError):
                ask()


class TestWhatIsKept:
    def test_secrets_are_nowhere(self, store: Store) -> None:
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

    def test_half_a_character_in_a_run_is_mended_and_in_a_name_is_unknown(self, store: Store) -> None:
        run = added(store, make_run().model_copy(update={"root": "/caf\udce9"}))
        assert store.find_run(run.id).root == "/caf?"
        with pytest.raises(UnknownName):
            store.find_run("caf\udce9")

    def test_a_case_whose_id_is_a_secret_is_refused_without_telling_it(self, store: Store) -> None:
        run = make_run()
        [case, *_] = run.suite.cases
        telling = run.suite.model_copy(update={"cases": (case.model_copy(update={"id": f"x-{SECRET}"}),)})
        with pytest.raises(UsageError, match=r"x-\[redacted:API_KEY\]") as refusal:
            store.add_runs([make_run(), run.model_copy(update={"suite": telling})])
        assert "ключ" not in str(refusal.value) + say(refusal.value.hint)
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
    def test_what_is_not_quite_text_or_json_is_mended(self, store: Store, output: object, kept: object) -> None:
        run = added(store)
        odd = Attempt(state="passed", reason="\udcff", transcript=Transcript.model_construct(output=output))
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(odd,)), make_trial("b", reason="\udcff"))
        first, second = store.trials(run.id)
        assert first.output == kept
        assert first.reason == second.reason == "?"

    @pytest.mark.parametrize("depth", [100, 190, 210, 500, 3000])
    def test_a_deeply_nested_output_does_not_break_the_store(self, store: Store, depth: int) -> None:
        output: object = "core"
        for _ in range(depth):
            output = [output]
        run = added(store)
        deep = Attempt(state="failed", reason="deep", transcript=Transcript(output=output))
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(deep,)))
        [trial] = store.trials(run.id)
        assert trial.reason == "deep"
        assert ("core" if depth == 100 else "") in str(trial.output)

    def test_more_tokens_than_a_column_holds(self, store: Store) -> None:
        run = added(store)
        transcript = Transcript(output="x", usage=Usage(input_tokens=10**30))
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(Attempt(state="passed", transcript=transcript),)))
        assert [trial.input_tokens for trial in store.trials(run.id)] == [10**30]
        assert [row[8] for row in store.outcomes(run.id)] == [2**63 - 1]

    def test_of_a_huge_output_head_and_tail_are_kept(self, store: Store) -> None:
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


class TestClaims:
    def test_a_run_has_one_claim_at_a_time(self, store: Store) -> None:
        run, other = added(store), added(store)
        with store.claim(run), store.claim(other):
            with pytest.raises(RunBusy, match=f"{run.name} is being run"), store.claim(run):
                pytest.fail("claimed twice")
            with pytest.raises(RunBusy):
                store.redacting(Redactor.none()).remove_run(run)
        with store.claim(run):
            assert store.find_run(run.id) == run
        store.remove_run(run)

    def test_a_claim_ends_where_the_work_fails(self, store: Store) -> None:
        run = added(store)
        with pytest.raises(ZeroDivisionError), store.claim(run):
            raise ZeroDivisionError
        store.remove_run(run)
        assert store.list_runs(5) == []


class TestViews:
    """One store, several redactors: the secrets of one run are not those of another."""

    def test_each_run_is_written_without_its_own_secrets(self, open_store: Callable[..., Store]) -> None:
        store = open_store()
        words = {"ONE_KEY": "correct-horse-battery", "TWO_KEY": "staple-of-another-kind"}
        said = " and ".join(words.values())
        views = {name: store.redacting(Redactor({name: value})) for name, value in words.items()}
        runs = {name: view.add_runs([make_run(f"suite {words[name]}")])[0] for name, view in views.items()}
        for index in range(50):  # in turns, so that the same commit has both
            for name, view in views.items():
                view.put(runs[name].id, make_trial(index=index, state="error", reason=said))
                view.replace_unfinished(runs[name].id, make_trial(index=index, reason=said))
        for name, view in views.items():
            asyncio.run(view.judge_cache.set(name, said))
            view.finish(runs[name].id, make_report(runs[name], why=said), stopped="", elapsed_s=1)
        for name, value in words.items():
            expected = said.replace(value, f"[redacted:{name}]")
            assert {trial.reason for trial in store.trials(runs[name].id)} == {expected}
            report = store.find_run(runs[name].id).report
            assert report is not None
            assert say(report.why) == expected
            assert asyncio.run(store.judge_cache.get(name)) == expected
            assert views[name].newest_run(suite_name=f"suite {value}") == store.find_run(runs[name].id)
            assert store.newest_run(suite_name=f"suite {value}") is None

    def test_a_view_has_its_own_redactor_and_leaves_that_of_the_store(self, store: Store) -> None:
        before, other = store.redactor, Redactor({"OTHER_KEY": "another-secret"})
        assert store.redacting(other).redactor is other
        assert store.redactor is before

    def test_all_views_are_closed_together(self, store: Store) -> None:
        run, view = added(store), store.redacting(Redactor.none())
        store.close()
        with pytest.raises(StoreError):
            view.put(run.id, make_trial())


class TestThreads:
    def test_runs_in_several_threads_share_a_store(self, open_store: Callable[..., Store]) -> None:
        """Each thread adds runs, writes, reads and finishes them, and knows a secret that the others do not."""
        store, failures, together = open_store(), list[BaseException](), threading.Barrier(6)

        def work(number: int) -> None:
            secret = f"secret-of-thread-{number}"
            view = store.redacting(Redactor({"KEY": secret}))
            together.wait(timeout=30)
            for _ in range(3):
                [run] = view.add_runs([make_run(f"suite {number}", trials=40)])
                with view.claim(run):
                    for index in range(40):
                        view.put(run.id, make_trial(index=index, state="error", reason=secret))
                        view.record_spent(run.id, index / 10, index)
                        if index % 10 == 9:
                            view.flush()
                            assert len(list(view.trials(run.id))) >= index + 1
                    for index in range(40):
                        view.replace_unfinished(run.id, make_trial(index=index, reason=f"{index} {secret}"))
                    asyncio.run(view.judge_cache.set(run.id, secret))
                    view.finish(run.id, make_report(run), stopped="", elapsed_s=1, judged=[(run.suite.cases[0], False)])
                found = [(trial.state, trial.reason) for trial in view.trials(run.id)]
                assert found == [("passed", f"{index} [redacted:KEY]") for index in range(40)]
                assert asyncio.run(view.judge_cache.get(run.id)) == "[redacted:KEY]"
                assert view.spent(run.id) == (3.9, 39)
                assert view.set_baseline(run.id, "default").run_id == run.id

        def guarded(number: int) -> None:
            try:
                work(number)
            except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
                failures.append(error)
                together.abort()

        threads = [threading.Thread(target=guarded, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert failures == []
        lines = store.list_runs(100)
        assert len({line.id for line in lines}) == len({line.name for line in lines}) == 18
        assert [line.counts for line in lines] == [{"passed": 40}] * 18
        assert len(store.baselines()) == 6
        assert [store.case_histories(f"suite {n}")["a"].failure_count for n in range(6)] == [3] * 6
        assert all("secret-of-thread" not in trial.reason for line in lines for trial in store.trials(line.id))


@pytest.mark.parametrize("implementation", [SqlStore, FakeStore])
def test_a_store_has_every_method_of_the_contract_with_its_arguments(implementation: type) -> None:
    members = [name for name in dir(Store) if not name.startswith("_")]
    assert len(members) > 30
    for name in members:
        promised, there = getattr(Store, name), getattr(implementation, name, None)
        if isinstance(promised, property):
            assert isinstance(there, property), name
        else:
            assert callable(there), name
            assert inspect.signature(there).parameters == inspect.signature(promised).parameters, name
