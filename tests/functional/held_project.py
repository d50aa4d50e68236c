"""A project whose agent can be paused: five cases, commands run as processes, and what they leave behind."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from driving import Outcome, Started, drive, start, wait_until

# Each execution writes a line to `log`; the cases that `hold` names wait for as long as that file exists.
AGENT = """
import asyncio, os, time
from pathlib import Path
from evalharness import TargetUnavailable

def note(text):
    with open("log", "a") as log:
        log.write(f"{text}\\n")

async def answer(text):
    note(text)
    while os.path.exists("hold") and Path("hold").read_text() in ("", text):
        await asyncio.sleep(0.01)
    return "yes"

async def other(text):
    note(f"other {text}")
    while os.path.exists("hold-other"):
        await asyncio.sleep(0.01)
    return "yes"

def sync(text):
    note(text)
    while os.path.exists("hold"):
        time.sleep(0.01)
    return "yes"

def unsteady(text):
    note(text)
    if os.path.exists("broken") and text == "q2":
        raise TargetUnavailable("the line is down")
    return "yes"

async def reluctant(text):
    note(text)
    try:
        await asyncio.sleep(600)
    finally:
        note("tidying up")
        await asyncio.sleep(600)

async def blocking(text):
    note(text)
    time.sleep(600)

def wrong(text):
    note(text)
    return "no"

def coloured(text):
    note(f"{os.environ['COLOUR']} {os.environ['SHAPE']}")
    return "no"
"""
GRADER = "def judged(context):\n    return context.text == 'yes'\n"


class Project:
    """A folder with a suite of five cases, an agent and a grader; commands run in it as processes."""

    def __init__(self, folder: Path, **suite: Any) -> None:
        self.folder = folder
        (folder / "agent.py").write_text(AGENT)
        (folder / "grader.py").write_text(GRADER)
        cases = [{"id": f"case-{n}", "input": f"q{n}", "graders": ["grader.py:judged"]} for n in range(5)]
        written = {"name": "five", "target": "agent.py:answer", "test_cases": cases, "config": {"retries": 0}, **suite}
        (folder / "suite.json").write_text(json.dumps(written))

    def call(self, *words: str) -> Outcome:
        return drive(self.folder, *words, "--store", "store.db")

    def started(self, *words: str) -> AbstractContextManager[Started]:
        return start(self.folder, *words, *(() if "--store" in words else ("--store", "store.db")))

    def executed(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    def rows(self) -> list[tuple[Any, ...]]:
        """Run, case, index, state, attempts of every committed trial."""
        connection = sqlite3.connect(f"file:{self.folder / 'store.db'}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(
                "SELECT run_seq, case_id, idx, state, attempts FROM trials ORDER BY 1, 2, 3"
            ).fetchall()
        finally:
            connection.close()

    def run_names(self) -> list[str]:
        connection = sqlite3.connect(f"file:{self.folder / 'store.db'}?mode=ro", uri=True, timeout=10)
        try:
            return [name for (name,) in connection.execute("SELECT name FROM runs ORDER BY seq")]
        finally:
            connection.close()

    def hold(self, text: str = "", file: str = "hold") -> None:
        (self.folder / file).write_text(text)

    def let_go(self, file: str = "hold") -> None:
        (self.folder / file).unlink()


def interrupted(project: Project, number: signal.Signals = signal.SIGINT, held: str = "q4") -> Outcome:
    """A run with four committed trials when the signal arrives; the fifth is still running."""
    project.hold(held)
    with project.started("run", "suite.json", "-j", "2") as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        process.send_signal(number)
        done = process.wait()
    project.let_go()
    return done
