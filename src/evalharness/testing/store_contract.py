"""What every store promises, as a class of tests: inherit from it in a test file, and pytest runs them all."""

from __future__ import annotations

import asyncio
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalharness.contracts.store import Store
from evalharness.errors import StoreError
from evalharness.redaction import Redactor
from evalharness.reports.words.say import say
from evalharness.testing.beside_runs_contract import (
    BaselineStoreContract,
    BudgetStoreContract,
    JobStoreContract,
    MarkStoreContract,
    SuiteStoreContract,
    VerdictStoreContract,
)
from evalharness.testing.review_store_contract import ReviewStoreContract
from evalharness.testing.run_pages_contract import RunPagesContract
from evalharness.testing.run_store_contract import RunStoreContract
from evalharness.testing.stored_records import OpenStore, added, make_run, make_trial, sample_report
from evalharness.testing.trial_store_contract import TrialStoreContract


class StoreContract(
    RunStoreContract,
    TrialStoreContract,
    RunPagesContract,
    BaselineStoreContract,
    SuiteStoreContract,
    MarkStoreContract,
    VerdictStoreContract,
    BudgetStoreContract,
    JobStoreContract,
    ReviewStoreContract,
):
    """`build(folder, redactor)` makes the store under test."""

    def test_it_has_every_method_of_the_contract_with_its_arguments(self, store: Store) -> None:
        for name in (name for name in dir(Store) if not name.startswith("_")):
            promised, there = inspect.getattr_static(Store, name), inspect.getattr_static(type(store), name, None)
            assert there is not None, name
            if callable(promised):
                assert inspect.signature(there).parameters == inspect.signature(promised).parameters, name

    def test_each_run_is_written_without_its_own_secrets(self, open_store: OpenStore) -> None:
        store = open_store(Redactor.none())
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
            view.finish(runs[name].id, sample_report(runs[name], why=said), stopped="", elapsed_s=1)
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

    def test_runs_in_several_threads_share_a_store(self, open_store: OpenStore) -> None:
        """Each thread adds runs, writes, reads and finishes them, and knows a secret that the others do not."""
        store, together = open_store(Redactor.none()), threading.Barrier(6)
        keys = [(case_id, index) for case_id in "ab" for index in range(20)]

        def work(number: int) -> None:
            secret = f"secret-of-thread-{number}"
            view = store.redacting(Redactor({"KEY": secret}))
            together.wait(timeout=30)
            for _ in range(3):
                [run] = view.add_runs([make_run(f"suite {number}", trials=20)])
                with view.claim(run):
                    for place, key in enumerate(keys):
                        view.put(run.id, make_trial(*key, state="error", reason=secret))
                        view.record_spent(run.id, place / 10, place)
                        if place % 10 == 9:
                            view.flush()
                            assert len(list(view.trials(run.id))) >= place + 1
                    for place, key in enumerate(keys):
                        view.replace_unfinished(run.id, make_trial(*key, reason=f"{place} {secret}"))
                    asyncio.run(view.judge_cache.set(run.id, secret))
                    view.finish(
                        run.id, sample_report(run), stopped="", elapsed_s=1, judged=[(run.suite.cases[0], False)]
                    )
                found = [(trial.state, trial.reason) for trial in view.trials(run.id)]
                assert found == [("passed", f"{place} [redacted:KEY]") for place in range(40)]
                assert asyncio.run(view.judge_cache.get(run.id)) == "[redacted:KEY]"
                assert view.spent(run.id) == (3.9, 39)
                assert view.set_baseline(run.id, "default").run_id == run.id

        with ThreadPoolExecutor(6) as pool:
            for _ in pool.map(work, range(6)):
                pass
        lines = store.list_runs(100)
        assert len({line.id for line in lines}) == len({line.name for line in lines}) == 18
        assert [line.counts for line in lines] == [{"passed": 40}] * 18
        assert len(store.baselines()) == 6
        assert [store.case_histories(f"suite {n}", "")["a"].failure_count for n in range(6)] == [3] * 6
        assert all("secret-of-thread" not in trial.reason for line in lines for trial in store.trials(line.id))
