"""Cells of a store that contain what cannot be there: every command that reads them says so, and none believes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from driving import Outcome, drive, drive_run, succeed, write

from evalharness.stores.migrations import MIGRATIONS

SUITE = """
name: small
target: agent.py:answer
trials: 2
gate: {regression: {baseline: default}}
test_cases:
  - {id: a, input: hello, expected: hello}
  - {id: b, input: hello, expected: hello}
"""
AGENT = "def answer(text):\n    return text\n"
COMMANDS = {
    "runs": ("runs",),
    "show": ("show", "RUN"),
    "show of a case": ("show", "RUN", "a"),
    "compare": ("compare", "EARLIER", "RUN"),
    "gate": ("gate", "RUN"),
    "verify": ("verify", "RUN"),
    "regressions": ("regressions", "small"),
    "plan": ("plan", "suite.yaml"),
    "baselines": ("baseline", "list"),
    "list-suites": ("list-suites",),
    "resume": ("resume", "RUN"),
    "regrade": ("regrade", "RUN"),
    "baseline": ("baseline", "RUN", "--name", "other"),
    "run": ("run", "suite.yaml"),
}
CHANGING = frozenset(("resume", "regrade", "baseline", "run"))
"""Say something else each time, by names and times."""
GARBAGE = {
    "INTEGER": ("'weird'", "-1"),
    "REAL": ("'abc'", "-1"),
    "TEXT": ("'weird'", "x'ff00'"),
    "BLOB": ("'{}'", "x'7b7d'"),
}
JSON_GARBAGE = ("'[[['", "'[1]'")
JSON_COLUMNS = frozenset(("grades", "judging"))
BESIDE_RUNS = ("regressions", "baselines", "list-suites", "run")
"""Commands that read other tables than those of runs and trials."""
FOUND_BY = frozenset(
    ("runs.seq", "runs.suite_name", "runs.regrade_of", "trials.run_seq", "trials.case_id", "trials.idx")
)
"""A row with another key is not found at all: to most commands it is not there."""
FREE_TEXTS = {
    "runs": ("id", "name", "matrix_id", "suite_name", "stopped", "regrade_of"),
    "trials": ("case_id", "reason"),
    "suites": ("name", "path", "root", "format"),
    "case_history": ("suite_name", "case_id", "last_passed"),
    "baselines": ("suite_name", "name"),
    "baseline_runs": ("suite_name", "name"),
    "judge_cache": ("key",),
    "spending": ("purse",),
}
"""Another text there is another name or reason, which no reader can know to be wrong."""


WITHOUT_ROWID = frozenset(("judge_cache", "asked_cases", "case_lines"))


def columns() -> Iterator[tuple[str, str]]:
    """Of every table with their kinds, from the schema itself."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for migration in MIGRATIONS:
            for statement in migration:
                connection.execute(statement)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})"):
                yield f"{table}.{column}", kind


@dataclass
class Project:
    folder: Path
    names: dict[str, str]
    said: dict[str, Outcome] = field(default_factory=dict)
    """What each command says while the store is sound."""

    def damage(self, statement: str) -> bool:
        """Makes a copy of the store with this damage; false where SQLite refuses to write such a thing."""
        for left in self.folder.glob("copy.db*"):
            left.unlink()
        with (
            closing(sqlite3.connect(self.folder / "store.db")) as store,
            closing(sqlite3.connect(self.folder / "copy.db", isolation_level=None)) as copy,
        ):
            store.backup(copy)
            copy.execute("PRAGMA foreign_keys = OFF")
            try:
                copy.execute(statement)
            except sqlite3.IntegrityError:
                return False
        return True

    def drive(self, name: str, damage: str) -> Outcome:
        """A command on such a copy."""
        assert self.damage(damage)
        return drive(self.folder, *(self.names.get(word, word) for word in COMMANDS[name]), "--store", "copy.db")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three runs of a suite, the first two of them its baseline."""
    folder = write(tmp_path_factory.mktemp("sound"), suite_yaml=SUITE, agent_py=AGENT)
    runs = [drive_run(folder, "--baseline", "none", "--store", "store.db").run_name for _ in range(3)]
    succeed(folder, "baseline", *runs[:2], "--store", "store.db")
    project = Project(folder, {"EARLIER": runs[0], "RUN": runs[2]})
    for name in COMMANDS:
        done = project.said[name] = project.drive(name, "SELECT 1")
        assert done.code == 0, done.both
    return project


@pytest.mark.parametrize("with_all", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["some", "all"])
@pytest.mark.parametrize(("column", "kind"), list(columns()))
def test_no_command_believes_what_cannot_be_there(sound: Project, column: str, kind: str, with_all: bool) -> None:
    """Every command meets garbage in every column; it meets each kind of garbage there in `make soak`."""
    table, _, name = column.partition(".")
    row = f"rowid = (SELECT MAX(rowid) FROM {table})" if table not in WITHOUT_ROWID else "1 = 1"
    damages = {
        garbage: f"UPDATE {table} SET {name} = {garbage} WHERE {row}"
        for garbage in (JSON_GARBAGE if name in JSON_COLUMNS else GARBAGE[kind])
    }
    possible = [garbage for garbage, damage in damages.items() if sound.damage(damage)]
    commands = tuple(COMMANDS if table in ("runs", "trials") else BESIDE_RUNS)
    for number, garbage in enumerate(possible):
        is_text = name in FREE_TEXTS.get(table, ()) and not garbage.startswith("x'")
        for command in commands if with_all else commands[number :: len(possible)]:
            done = sound.drive(command, damages[garbage])
            about = f"{column} = {garbage}, {command}: {done.both}"
            assert "internal error" not in done.both, about
            assert "Traceback" not in done.both, about
            if "is damaged: " in done.err:
                assert done.code == 3, about
                assert "restore it from a backup, or name another store with --store" in done.err, about
            elif command == "verify" and done.code == 1:
                assert "DIFFERS" in done.out, about
            elif not is_text and column not in FOUND_BY:
                expected = sound.said[command]
                assert done.code == expected.code, about
                assert command in CHANGING or done.out == expected.out, about


@pytest.mark.parametrize(
    ("damage", "command", "said"),
    [
        ("runs SET counts = 'weird'", "runs", "counts of run RUN is 'weird'"),
        ("trials SET state = 'weird'", "verify", "state of trial 0 of case a of run RUN is 'weird'"),
        ("trials SET score = 'abc'", "verify", "score of trial 0 of case a of run RUN is 'abc'"),
        ("trials SET grades = '[[['", "verify", "grades of trial 0 of case a of run RUN is '[[['"),
        (
            """trials SET grades = '[{"grader":"e","kind":"e","state":"pass","weight":"much"}]'""",
            "verify",
            "grades of trial 0 of case a of run RUN is ",
        ),
        ("runs SET planned = 'x'", "resume", "planned of run RUN is 'x'"),
        ("runs SET planned = 5", "runs", "run RUN has 4 trials, not the 5 that were planned"),
        ("runs SET brief = '{}'", "runs", "brief of run RUN is '{}'"),
        ("runs SET brief = x'7b7d'", "runs", "the report of run RUN cannot be read"),
        ("runs SET report = '{}'", "gate", "report of run RUN is '{}'"),
        ("runs SET report = x'7b7d'", "gate", "the report of run RUN cannot be read"),
        ("runs SET cases = x'7b7d'", "compare", "the cases of run RUN cannot be read"),
        ("runs SET body = '{'", "baseline", "body of run RUN is '{'"),
        ("runs SET body = x'7b'", "baseline", "run RUN cannot be read"),
        ("trials SET case_id = 'weird'", "verify", "trial 0 is of case weird, which its run does not have"),
    ],
)
def test_the_message_names_store_run_row_and_column(sound: Project, damage: str, command: str, said: str) -> None:
    newest = "(SELECT MAX(seq) FROM runs)"
    where = f"run_seq = {newest} AND case_id = 'a' AND idx = 0" if damage.startswith("trials") else f"seq = {newest}"
    done = sound.drive(command, f"UPDATE {damage} WHERE {where}")
    assert (done.code, said.replace("RUN", sound.names["RUN"]) in done.err) == (3, True), done.both
    assert "the store " in done.err
