"""Items: only runs of several targets count, and only a limited number is examined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalharness.domain.case import Case
from evalharness.domain.run import Run
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.harness import evaluate
from evalharness.redaction import Redactor
from evalharness.steps.make_report import MOST_TRIALS, analyse_items
from evalharness.stores.sql_store import SqlStore
from evalharness.testing.stored_records import make_run, make_trial, sample_report


@pytest.fixture
def store() -> Iterator[SqlStore]:
    made = SqlStore(":memory:", redactor=Redactor({}))
    yield made
    made.close()


def tried(store: SqlStore, variant: str, kind: str = "function", trials: int = 1) -> Run:
    """Both cases once; `trials` is only what was planned."""
    planned = make_run(trials=trials)
    [run] = store.add_runs([planned.model_copy(update={"variant": variant, "target": TargetSpec(kind=kind)})])
    for case_id in ("a", "b"):
        store.put(run.id, make_trial(case_id, 0, "passed" if case_id < variant else "failed"))
    store.finish(run.id, sample_report(run), stopped="", elapsed_s=1.0)
    return run


def test_five_targets_make_an_analysis_and_an_oracle_is_none(store: SqlStore) -> None:
    for variant in "abcd":
        tried(store, variant)
    oracle = tried(store, "e", "oracle")
    assert analyse_items(store, oracle) is None
    found = analyse_items(store, tried(store, "f"))
    assert found is not None
    assert sorted(found.runs) == list("abcdf")


def test_runs_that_do_not_count_are_looked_at_all_the_same(store: SqlStore) -> None:
    for variant in "abcdf":
        tried(store, variant)
    newest = tried(store, "e", "oracle", trials=MOST_TRIALS // 4)
    assert analyse_items(store, newest) is not None
    newest = tried(store, "e", "oracle", trials=MOST_TRIALS // 4)
    assert analyse_items(store, newest) is None, "every examined run costs time, used or not"


def test_reports_of_python_callers_have_it_too(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text("\n".join(f"def up_to_{letter}(x): return x if x <= '{letter}' else '?'" for letter in "abcde"))
    suite = Suite(name="letters", cases=tuple(Case(id=letter, input=letter, expected=letter) for letter in "abcde"))
    place = str(tmp_path / "store.db")
    found = []
    for letter in "abcde":
        run = evaluate(suite, f"{agent}:up_to_{letter}", store=place)
        assert run.report is not None
        found.append(run.report.items)
    assert found[:4] == [None] * 4
    assert found[4] is not None and len(found[4].runs) == 5
