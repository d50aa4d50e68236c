"""Migrations: from nothing, from every earlier version, and how a newer or foreign file is handled."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from evalharness.domain.stored import RegisteredSuite
from evalharness.errors import StoreError
from evalharness.redaction import Redactor
from evalharness.reports.words.say import say
from evalharness.stores.migrations import MIGRATIONS
from evalharness.stores.sql_store import SqlStore
from evalharness.stores.sqlite import Database
from evalharness.testing.stored_records import sample_report

# Exactly what the first version wrote. It is never changed: stores of that version are on people's disks.
VERSION_1 = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (1);
CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    matrix_id TEXT NOT NULL,
    suite_name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    finished_at TEXT,
    planned INTEGER NOT NULL,
    elapsed_s REAL NOT NULL DEFAULT 0,
    stopped TEXT NOT NULL DEFAULT '',
    body BLOB NOT NULL,
    report BLOB
);
CREATE INDEX runs_by_matrix ON runs (matrix_id);
CREATE INDEX runs_by_suite ON runs (suite_name, seq);
CREATE TABLE trials (
    run_seq INTEGER NOT NULL REFERENCES runs (seq),
    case_id TEXT NOT NULL,
    idx INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    state TEXT NOT NULL,
    first_state TEXT NOT NULL,
    score REAL,
    reason TEXT NOT NULL,
    duration_s REAL NOT NULL,
    cost_usd REAL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    attempts INTEGER NOT NULL,
    grades TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run_seq, case_id, idx)
);
INSERT INTO runs (id, name, matrix_id, suite_name, created_at, finished_at, planned, elapsed_s, body) VALUES (
    'eval-20260102-030405-a3f9', 'brave-otter-042', 'eval-20260102-030405-a3f9', 'capitals', '2026-01-02T03:04:05Z',
    '2026-01-02T03:05:00Z', 2, 1.5,
    CAST('{"id":"","name":"","matrix_id":"","root":"/w","created_at":"","suite":{"name":"capitals","trials":2,
          "test_cases":[{"id":"a","input":"?","expected":{"kind":"exact","options":"x"}}]},
          "target":{"kind":"oracle"},"lock":{"harness_version":"1","python_version":"3","platform":"any","target":"t",
          "seed":0,"trials":2,"cases":{"a":{"case":"c","graders":"g"}}}}' AS BLOB)
);
INSERT INTO trials VALUES (
    1, 'a', 0, 7, 'failed', 'failed', 0.0, 'no', 0.5, NULL, NULL, NULL, 1, '[{"state":"fail","score":0.0}]',
    CAST('[{"state":"failed","score":0.0,"reason":"no","duration_s":0.5,"grades":[{"state":"fail","score":0.0}],
           "transcript":{"output":"y"}}]' AS BLOB)
);
"""


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.mark.parametrize(
    ("state", "reason", "cause"),
    [
        ("skipped", "not needed: decided after 14 trials", "not_needed"),
        ("skipped", "not needed: given up under way, decided after 14 trials", "given_up"),
        ("skipped", "no reference", ""),
        ("awaiting", "judge: the spend cap was reached: $1 of $1", "spend_cap"),
        ("awaiting", "human: a person's turn", ""),
        ("failed", "not needed: the spend cap was reached", ""),
    ],
)
def test_the_reasons_of_an_earlier_version_say_the_cause(place: str, state: str, reason: str, cause: str) -> None:
    grades = json.dumps([{"state": "awaiting", "reason": reason}]) if state == "awaiting" else "[]"
    body = json.dumps([{"state": state, "reason": reason, "grades": json.loads(grades)}])
    with plain(place) as connection:
        connection.executescript(VERSION_1)
        connection.execute(
            "UPDATE trials SET state = ?, reason = ?, grades = ?, body = ?", (state, reason, grades, body.encode())
        )
    store = SqlStore(place, redactor=Redactor.none())
    run = store.find_run("brave-otter-042")
    [outcome], [trial] = store.outcomes(run.id), store.trials(run.id)
    assert (outcome.cause, trial.cause, outcome.is_open) == (cause, cause, cause == "spend_cap")
    assert [grade.cause for grade in trial.grades] == [grade.get("cause", "") for grade in json.loads(outcome.grades)]
    store.put(run.id, trial.model_copy(update={"index": 1}))
    store.flush()
    assert [each.cause for each in store.outcomes(run.id)] == [cause, cause]
    store.close()


@contextmanager
def plain(place: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(place)) as connection:
        yield connection
        connection.commit()


def schema_of(place: str) -> list[tuple[str, str]]:
    """Every table and index, with its text without formatting."""
    with plain(place) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return [(name, " ".join(sql.replace("(", " ( ").replace(")", " ) ").split())) for name, sql in rows]


def versions(place: str) -> list[int]:
    with plain(place) as connection:
        return [version for (version,) in connection.execute("SELECT version FROM schema_version ORDER BY version")]


def make_version(place: str, version: int) -> None:
    with plain(place) as connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for number, statements in enumerate(MIGRATIONS[:version], start=1):
            for statement in statements:
                connection.execute(statement)
            connection.execute("INSERT INTO schema_version VALUES (?)", (number,))


def opened_and_closed(place: str) -> None:
    Database(place, timeout_s=5).close()


def test_a_new_store_has_seen_every_migration_once(place: str) -> None:
    opened_and_closed(place)
    assert versions(place) == list(range(1, len(MIGRATIONS) + 1))


def test_opening_again_changes_nothing(place: str) -> None:
    opened_and_closed(place)
    before = (schema_of(place), versions(place))
    opened_and_closed(place)
    assert (schema_of(place), versions(place)) == before


@pytest.mark.parametrize("version", range(len(MIGRATIONS) + 1))
def test_every_earlier_version_becomes_what_a_new_store_is(place: str, tmp_path: Path, version: int) -> None:
    make_version(place, version)
    opened_and_closed(place)
    new = str(tmp_path / "new.db")
    opened_and_closed(new)
    assert (schema_of(place), versions(place)) == (schema_of(new), versions(new))


def test_a_store_of_version_1_is_read_and_written_as_ever(place: str, tmp_path: Path) -> None:
    with plain(place) as connection:
        connection.executescript(VERSION_1)
    store = SqlStore(place, redactor=Redactor.none())
    run = store.find_run("brave-otter-042")
    assert (run.id, run.created_at, run.suite.name) == ("eval-20260102-030405-a3f9", "2026-01-02T03:04:05Z", "capitals")
    [trial] = store.trials(run.id)
    assert (trial.index, trial.seed, trial.state, trial.reason, trial.output) == (0, 7, "failed", "no", "y")
    store.put(run.id, trial.model_copy(update={"index": 1}))
    [following] = store.add_runs([run.model_copy(update={"id": "", "name": ""})])
    store.flush()
    assert [line.counts for line in store.list_runs(5)] == [{}, {"failed": 2}]
    assert following.name != run.name
    store.register_suites([RegisteredSuite(run.suite, run.root)])
    assert [line.name for line in store.registered_suites()] == ["capitals"]
    store.finish(run.id, sample_report(run), stopped="", elapsed_s=0, judged=[(run.suite.cases[0], False)])
    assert store.case_histories("capitals", "") == {}, "the run had been finished before"
    assert store.set_baseline(run.id, "default").run_name == "brave-otter-042"
    store.close()
    new = str(tmp_path / "new.db")
    opened_and_closed(new)
    assert schema_of(place) == schema_of(new)


def test_a_newer_store_is_refused_and_left_alone(place: str) -> None:
    make_version(place, len(MIGRATIONS))
    with plain(place) as connection:
        connection.execute("INSERT INTO schema_version VALUES (?)", (len(MIGRATIONS) + 1,))
    before = Path(place).read_bytes()
    with pytest.raises(StoreError, match="newer") as refusal:
        opened_and_closed(place)
    assert "update" in say(refusal.value.hint)
    assert Path(place).read_bytes() == before


def test_the_database_of_another_program_is_refused_and_left_alone(place: str) -> None:
    with plain(place) as connection:
        connection.execute("CREATE TABLE users (name TEXT)")
    before = Path(place).read_bytes()
    with pytest.raises(StoreError, match="another program"):
        opened_and_closed(place)
    assert Path(place).read_bytes() == before


def test_a_migration_that_fails_leaves_the_store_as_it_was(place: str) -> None:
    with plain(place) as connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        connection.execute("CREATE TABLE trials (in_the_way INTEGER)")
    before = schema_of(place)
    with pytest.raises(StoreError, match="already exists"):
        opened_and_closed(place)
    assert (schema_of(place), versions(place)) == (before, [])
