"""Writes the store and the JSON reports that later versions must still read: one run of each kind.

    faketime "2024-05-05 10:00:00" python tests/goldens/write_store.py

A store of an older schema is never written again. If the schema has a new version, copy the project into a folder of
that name, set STORED in `stored.py`, and write that one. The clock is set back, so that no time is today's.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from stored import PROJECT, REPORTS, STORED, move_store

COMMANDS = """
    run passing.yaml
    run flaky.yaml
    run flaky.yaml -o flaky-report.json
    run gated.yaml --baseline none
    baseline @4 -o baseline.json
    run gated.yaml
    run gated.yaml --target agent.py:moody --strict-flips -o gated-report.json
    run sequential.yaml --sequential --fail-under 0.9
    run broken.yaml
    run crashing.yaml
    run due.yaml
    run judged.yaml -j 1 --judge-model scripted/judge.yaml
    run bakery.json --target agent.py:workflow
    run sessions --target session_target.yaml
    run matrix.yaml
    run priced.yaml -j 1 --max-cost 0.02
    regrade @2 --fail-under 0.5
"""
INTERRUPTED = "run interrupted.yaml -j 1"
LONGEST_WAIT_S = 60.0


def main() -> None:
    with TemporaryDirectory() as place:
        folder = Path(place).resolve() / "project"
        shutil.copytree(PROJECT, folder)
        (folder / "pyproject.toml").write_text("")
        store = folder / ".evalharness" / "store.db"
        for line in filter(None, map(str.strip, COMMANDS.splitlines())):
            started(folder, line).wait(LONGEST_WAIT_S)
        interrupt(folder, store)
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA journal_mode = DELETE")
        move_store(store, folder)
        with closing(sqlite3.connect(store)) as connection:
            connection.execute("VACUUM")
        shutil.copy(store, STORED / "store.db")
        for name in REPORTS:
            shutil.copy(folder / name, STORED / name)


def started(folder: Path, line: str) -> subprocess.Popen[bytes]:
    words = [names(folder)[int(word[1:]) - 1] if word.startswith("@") else word for word in line.split()]
    env = {**os.environ, "EVALHARNESS_PRICES": "prices.json", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen([sys.executable, "-m", "evalharness", *words], cwd=folder, env=env)


def names(folder: Path) -> list[str]:
    return [name for (name,) in rows(folder / ".evalharness" / "store.db", "SELECT name FROM runs ORDER BY seq")]


def interrupt(folder: Path, store: Path) -> None:
    """After four of five trials."""
    hold = folder / "hold"
    hold.touch()
    counted = "SELECT COUNT(*) FROM trials JOIN runs ON run_seq = seq WHERE suite_name = 'interrupted'"
    process = started(folder, INTERRUPTED)
    deadline_s = time.monotonic() + LONGEST_WAIT_S
    while rows(store, counted) != [(4,)] and time.monotonic() < deadline_s:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    hold.unlink()
    process.wait(LONGEST_WAIT_S)


def rows(store: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute(sql).fetchall()


if __name__ == "__main__":
    main()
