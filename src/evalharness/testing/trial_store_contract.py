"""What every store does with trials: each once, whole, in order, without secrets."""

from __future__ import annotations

import threading

import pytest

from evalharness.contracts.store import Store
from evalharness.domain.exchange import Exchange, ExchangeError, Replayed
from evalharness.domain.grade import Grade
from evalharness.domain.transcript import ToolCall, Transcript, Usage
from evalharness.domain.trial import Attempt, Trial, TrialTape
from evalharness.errors import StoreError, UsageError
from evalharness.reports.words.say import say
from evalharness.testing.stored_records import SECRET, StoreFixtures, added, make_run, make_trial, put, sample_report
from evalharness.values.json_value import Json


class TrialStoreContract(StoreFixtures):
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

    @pytest.mark.parametrize("is_committed", [False, True])
    def test_an_error_is_replaced(self, store: Store, is_committed: bool) -> None:
        run = added(store)
        store.put(run.id, make_trial(state="error", reason="broke"))
        if is_committed:
            store.flush()
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

    def test_secrets_are_nowhere(self, store: Store) -> None:
        run = added(store, make_run(f"suite {SECRET}"))
        assert store.newest_run(suite_name=f"suite {SECRET}") is not None
        grade = Grade(state="fail", reason=SECRET, evidence={SECRET: [SECRET]})
        transcript = Transcript(output=f"key: {SECRET}", files={SECRET: SECRET}, stderr=SECRET)
        attempt = Attempt(state="failed", reason=f"because {SECRET}", grades=(grade,), transcript=transcript)
        put(store, run, Trial(case_id="a", index=0, seed=1, attempts=(attempt,)))
        store.finish(run.id, sample_report(run, pending=3, why=SECRET), stopped="", elapsed_s=1)
        read = [store.find_run(run.id), *store.list_runs(1), *store.trials(run.id), *store.outcomes(run.id)]
        for shown in map(repr, read):
            assert repr(SECRET)[1:-1] not in shown
            assert "ключ" not in shown
            assert "[redacted:API_KEY]" in shown

    def test_a_case_whose_id_is_a_secret_is_refused_without_telling_it(self, store: Store) -> None:
        run = make_run()
        [case, *_] = run.suite.cases
        telling = run.suite.model_copy(update={"cases": (case.model_copy(update={"id": f"x-{SECRET}"}),)})
        with pytest.raises(UsageError, match=r"x-\[redacted:API_KEY\]") as refusal:
            store.add_runs([make_run(), run.model_copy(update={"suite": telling})])
        assert "ключ" not in str(refusal.value) + say(refusal.value.hint)
        assert store.list_runs(5) == []

    def test_whatever_a_target_answers_can_be_stored(self, store: Store) -> None:
        """Half characters, what JSON cannot say, numbers and texts of any size, nesting of any depth."""
        deep: object = "core"
        for _ in range(3000):
            deep = [deep]
        odd = ("half \ud83d a pair", {"\udc00": ["\ud800"]}, 10**5000, b"\xff", deep, "x" * 5_000_000)
        run = added(store, make_run(trials=len(odd)))
        for index, output in enumerate(odd):
            attempt = Attempt(state="failed", reason="\udcff", transcript=Transcript.model_construct(output=output))
            put(store, run, Trial(case_id="a", index=index, seed=1, attempts=(attempt,)))
        assert [(trial.index, trial.state) for trial in store.trials(run.id)] == [
            (n, "failed") for n in range(len(odd))
        ]
        assert [outcome.state for outcome in store.outcomes(run.id)] == ["failed"] * len(odd)

    def test_a_trial_brings_its_exchanges_which_are_replaced_with_it(self, store: Store) -> None:
        """Those of its earlier attempts stay."""
        run = added(store)
        messages: list[dict[str, Json]] = [{"role": "user", "content": f"{SECRET} {'long ' * 50}"}]
        messages += ({"role": "user", "content": f"{number}{' more' * (number % 40)}"} for number in range(50))
        asked: dict[str, Json] = {"model": "m", "messages": [*messages], "$part": {"$part": "of others"}}
        failed = Exchange(digest="d", request=asked, error=ExchangeError(kind="SpendCapReached"), tries=3)
        judged = Exchange(node="judge.g", digest="e", position=1, request={"x": 1}, reply={"text": "ü"})
        trial = make_trial("a", state="error")
        tape = TrialTape(exchanges=(failed, judged), replayed=Replayed(answers=2))
        put(store, run, trial.model_copy(update={"tape": tape}))
        found = store.exchanges(run.id, ["a", "b"], trial.index)
        assert found.keys() == {"a"}
        kept, other = found["a"]
        assert other == judged and (kept.error, kept.tries) == (failed.error, 3)
        assert SECRET not in str(kept.request) and "long long" in str(kept.request)
        assert kept.request["$part"] == {"$part": "of others"} and kept.request["messages"][1:] == messages[1:]
        [outcome] = store.outcomes(run.id)
        assert outcome.replayed is not None and Replayed.model_validate_json(outcome.replayed).answers == 2

        paid = failed.model_copy(update={"error": None, "reply": "now"})
        store.replace_unfinished(run.id, make_trial("a").model_copy(update={"tape": TrialTape(exchanges=(paid,))}))
        store.flush()
        assert [each.reply for each in store.exchanges(run.id, ["a"], trial.index)["a"]] == ["now", {"text": "ü"}]
        store.remove_run(run)
        assert store.exchanges(added(store).id, ["a"], trial.index) == {}
