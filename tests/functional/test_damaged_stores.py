"""Stores that are damaged, blocked or missing: commands report it with exit code 3 and change nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from driving import Outcome, drive, wait_until
from held_project import Project
from store_writer import open_store

from evalharness.errors import HarnessError

SUITE = """
name: small
target: echo
test_cases:
  - {id: a, input: hello, expected: hello}
  - {id: b, input: hello, expected: hello}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


@pytest.fixture
def run_name(folder: Path) -> str:
    done = drive(folder, "run", "suite.yaml", "--store", "store.db", "--json")
    assert done.code == 0, done.both
    return done.run_name


def changed(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            for statement in statements:
                connection.execute(statement)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return change


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flipped(path: Path) -> None:
    """Every page but the first."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(byte ^ 0xFF for byte in content[4096:]))


def no_database(path: Path) -> None:
    path.write_text("these are my notes\n" * 100)


def a_folder(path: Path) -> None:
    path.unlink()
    (path / "store.db").mkdir(parents=True)


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (truncated, "is damaged"),
    "flipped pages": (flipped, "is damaged"),
    "not a database": (no_database, "is not a store but another kind of file"),
    "another program's": (changed("DROP TABLE schema_version"), "a database of another program"),
    "table missing": (changed("DROP TABLE trials"), "is damaged: no such table"),
    "column missing": (changed("ALTER TABLE trials RENAME COLUMN state TO was"), "is damaged: no such column"),
    "newer version": (changed("UPDATE schema_version SET version = 999"), "newer evalharness (schema 999)"),
    "version no number": (changed("UPDATE schema_version SET version = 'x'"), "is damaged: its version is 'x'"),
    "version negative": (changed("UPDATE schema_version SET version = -1"), "is damaged: its version is -1"),
    "packed body": (changed("UPDATE runs SET body = x'789c00ff'"), " cannot be read; perhaps another version"),
    "body no JSON": (changed("UPDATE runs SET body = x'7b7b'"), " cannot be read; perhaps another version"),
    "text no characters": (changed("UPDATE runs SET matrix_id = CAST(x'ff00ff' AS TEXT)"), "is damaged"),
    "a folder": (a_folder, "is a folder, not a store"),
}


def check_refused(done: Outcome, said: str) -> None:
    assert said in done.err, done.both
    assert done.code == 3
    assert "internal error" not in done.both
    assert "Traceback" not in done.both


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_has_its_words(folder: Path, run_name: str, damage: str) -> None:
    change, said = DAMAGES[damage]
    path = folder / "store.db"
    change(path)
    before = path.read_bytes() if path.is_file() else b""
    check_refused(drive(folder, "resume", run_name, "--store", "store.db"), said)
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_trial_that_cannot_be_read_names_itself(folder: Path, run_name: str) -> None:
    changed("UPDATE trials SET body = x'789c00ff' WHERE case_id = 'a'")(folder / "store.db")
    check_refused(
        drive(folder, "show", run_name, "a", "--store", "store.db"),
        f"trial 0 of case a of run {run_name} cannot be read",
    )


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_log_without_its_store_is_not_thrown_away(folder: Path, is_emptied: bool) -> None:
    assert drive(folder, "run", "suite.yaml").code == 0
    path = folder / ".evalharness" / "store.db"
    path.unlink()
    if is_emptied:
        path.touch()
    log = path.with_name("store.db-wal")
    log.write_bytes(b"\x37\x7f\x06\x82" + bytes(4096))
    for words in (("run", "suite.yaml"), ("runs",)):
        check_refused(drive(folder, *words), "its log store.db-wal is there")
    assert log.stat().st_size == 4100


def test_an_empty_file_is_a_new_store(folder: Path) -> None:
    (folder / "store.db").touch()
    assert drive(folder, "run", "suite.yaml", "--store", "store.db").code == 0
    assert len(drive(folder, "runs", "--store", "store.db", "--json").json["runs"]) == 1


def test_a_file_that_may_not_be_written(folder: Path, run_name: str) -> None:
    """On a read-only file system, because root may write to any file elsewhere."""
    command = [sys.executable, "-m", "evalharness", "run", "suite.yaml", "--store", "store.db"]
    wrapped = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(folder), str(folder), "--chdir", str(folder), *command]
    done = subprocess.run(wrapped, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "store.db cannot be opened" in done.stderr) == (3, True), done.stderr
    assert "check that its folder can be read and written" in done.stderr


@pytest.mark.parametrize("how", ["removed", "replaced", "folder removed"])
def test_a_store_that_goes_away_in_mid_run_is_an_error(tmp_path: Path, how: str) -> None:
    project = Project(tmp_path)
    (tmp_path / "hold").write_text("q4")
    inside = tmp_path / "kept"
    inside.mkdir()
    with project.started("run", "suite.json", "--store", "kept/store.db") as process:
        wait_until(lambda: len(project.executed()) == 5)
        for path in inside.iterdir():
            path.unlink()
        if how == "replaced":
            (inside / "store.db").write_bytes(b"")
        if how == "folder removed":
            inside.rmdir()
        (tmp_path / "hold").unlink()
        done = process.wait()
    check_refused(done, "store.db was removed or replaced while it was in use")


def test_flipped_bytes_anywhere_never_end_in_anything_but_words(folder: Path, run_name: str) -> None:
    """Some damaged data can still be read as something; the rest is an error of the store, or an unknown run."""
    whole = (folder / "store.db").read_bytes()
    damaged = folder / "damaged.db"
    dice = Random(17)
    refused = 0
    for _ in range(120):
        content = bytearray(whole)
        for _ in range(dice.choice((1, 5, 50))):
            content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        for left in folder.glob("damaged.db*"):
            left.unlink()
        damaged.write_bytes(content)
        try:
            with closing(open_store(str(damaged))) as store:
                store.list_runs(10)
                run = store.find_run(run_name)
                store.outline(run_name)
                list(store.outcomes(run.id))
                list(store.trials(run.id))
                store.baselines()
                store.registered_suites()
                list(store.past_runs("small"))
        except HarnessError:
            refused += 1
    assert refused > 10
