"""The contract of every store, and how SQLite handles values that it cannot keep unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from evalharness.contracts.store import Store
from evalharness.domain.transcript import Transcript, Usage
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import RunBusy, UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.reports.words.say import say
from evalharness.stores.sql_store import SqlStore
from evalharness.testing.store import FakeStore
from evalharness.testing.store_contract import StoreContract
from evalharness.testing.stored_records import added, make_run, make_trial, put


class TestSqliteFile(StoreContract):
    def build(self, folder: Path, redactor: Redactor) -> Store:
        return SqlStore(str(folder / "store.db"), redactor=redactor)


class TestSqliteInMemory(StoreContract):
    def build(self, folder: Path, redactor: Redactor) -> Store:
        return SqlStore(":memory:", redactor=redactor)


class TestFakeStore(StoreContract):
    def build(self, folder: Path, redactor: Redactor) -> Store:
        return FakeStore(redactor=redactor)


class TestSqlite:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqlStore(str(tmp_path / "store.db"), redactor=Redactor.none())
        yield store
        store.close()

    def test_runs_of_the_same_second_and_the_same_dice_have_ids_and_names_of_their_own(self) -> None:
        dice = Random(3)
        start = dice.getstate()
        store = SqlStore(":memory:", redactor=Redactor.none(), rng=dice)
        runs = []
        for _ in range(20):
            dice.setstate(start)
            runs += store.add_runs([make_run(), make_run()])
        assert len({run.id for run in runs}) == len({run.name for run in runs}) == 40
        assert [line.id for line in store.list_runs(40)] == [run.id for run in reversed(runs)]
        store.close()

    def test_half_a_character_in_a_run_is_repaired_and_in_a_name_is_unknown(self, store: Store) -> None:
        run = added(store, make_run().model_copy(update={"root": "/caf\udce9"}))
        assert store.find_run(run.id).root == "/caf?"
        with pytest.raises(UnknownName):
            store.find_run("caf\udce9")

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
    def test_what_is_not_quite_text_or_json_is_repaired(self, store: Store, output: object, kept: object) -> None:
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

    def test_more_tokens_than_a_column_can_store(self, store: Store) -> None:
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

    def test_a_refusal_says_why_and_what_to_do(self, store: Store) -> None:
        run = added(store)
        with store.claim(run), pytest.raises(RunBusy, match=f"{run.name} is running in another"), store.claim(run):
            pytest.fail("claimed twice")
        store.set_baseline(run.id, "default")
        with pytest.raises(UsageError, match="belongs to the baseline 'default' of capitals") as refusal:
            store.remove_run(run)
        assert "baseline rm default --suite capitals" in say(refusal.value.hint)
