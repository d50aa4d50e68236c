"""Plays a scene, which is a folder and commands run in it one after the other, and compares the output with a golden.

What differs between machines or moments is removed by `Plain`, and by a process whose stopwatch does not move
(`steady/sitecustomize.py`). Everything else is compared exactly.
"""

from __future__ import annotations

import atexit
import difflib
import functools
import os
import re
import shlex
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from driving import clean_environment, drive, kept_environment
from warm_command import WarmCommand

import evalharness

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
EXPECTED = HERE / "expected"
REWRITE = "REWRITE_GOLDENS"
LONGEST_COMMAND_S = 60.0
_RUN_NUMBER = re.compile(r"@(\d+)")


@dataclass(frozen=True)
class Scene:
    """`files` is a folder of the repository that is copied; each line of `commands` is one command.

    `@1` means the name of the first run in the store, `@2` that of the second. A line `> path` shows a file that a
    command has written. At a line `! path`, a file is replaced with the text in `edits`.
    """

    name: str
    files: str
    commands: str
    edits: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    def set_up(self, folder: Path) -> None:
        shutil.copytree(REPOSITORY / self.files, folder, dirs_exist_ok=True)
        (folder / "pyproject.toml").write_text("")  # the store is in this folder, whatever the parent folders contain
        (folder.parent / "tmp").mkdir()

    def play(self, folder: Path) -> str:
        """Everything that was printed and written, as the golden has it."""
        plain = Plain(folder)
        told = []
        for line in filter(None, map(str.strip, self.commands.splitlines())):
            if line.startswith("> "):
                file = folder / named(folder, line[2:])
                told.append(f"{line}\n{plain(file.read_text(encoding='utf-8')) if file.exists() else 'is missing'}")
            elif line.startswith("! "):
                (folder / line[2:]).write_text(self.edits[line[2:]], encoding="utf-8")
                told.append(f"{line}\n")
            else:
                told.append(f"$ {line}\n{plain(self._said(folder, line))}")
        return "\n".join(told)

    def _said(self, folder: Path, line: str) -> str:
        words = shlex.split(named(folder, line))
        # Runs of several processes have the same id here, and starting a run removes what it left behind before.
        env = clean_environment(folder, {"TMPDIR": str(folder.parent / "tmp"), **self.env})
        done = drive(folder, *words, env=env, timeout_s=LONGEST_COMMAND_S, command=steady_command())
        code, out, err = done.code, done.out, done.err
        return f"exit code {code}\n{out}" + (f"--- stderr\n{err}" if err else "")


class Plain:
    """A text without details of this machine or this moment. Lengths are kept, so that tables remain tables."""

    RULES = (
        (re.compile(r"\beval-\d{8}-\d{6}-"), "eval-YYYYMMDD-HHMMSS-"),
        (re.compile(r"/run-\d{6}\."), "/run-HHMMSS."),
        (re.compile(r"\(whole run [^)]*\)"), "(whole run …)"),
        # The verdict's line: how long the run took.
        (re.compile(r"^([A-Z]+ {3,}\d.*? {3})[\d.,]+ (?:ms|s|min|h)(?= {3})", re.MULTILINE), r"\1…"),
        (re.compile(r'("duration(?:_seconds)?": |^Total Time: )[\d.e-]+s?', re.MULTILINE), r"\1…"),
        # The plan's last column and its advice, and the same in JSON: how long a run would take.
        (re.compile(r'("duration_s": )[\d.e-]+(?=\s*\})'), r"\1…"),
        (re.compile(r"^(\d+ .*? |do this .* about )[\d.,]+ (?:ms|s|min|h) *$", re.MULTILINE), r"\1…"),
        (re.compile(r'("version": )"[^"]*",(\s*)"python": "[^"]*",(\s*)"platform": "[^"]*"'), r"\1…\2…\3…"),
        (re.compile(r'(<testsuite [^>]* time=)"[^"]*"'), r'\1"…"'),
    )
    _MOMENT = re.compile(r"\b(20\d\d-\d\d-\d\d)([T ]\d\d:\d\d(:\d\dZ?)?)?")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._today = f"{datetime.now(UTC):%Y-%m-%d}"

    def __call__(self, text: str) -> str:
        for path in {str(self._folder), str(self._folder.resolve())}:
            text = text.replace(path, "<folder>")
        for pattern, instead in self.RULES:
            text = pattern.sub(instead, text)
        return self._MOMENT.sub(self._moment, text)

    def _moment(self, found: re.Match[str]) -> str:
        """Only what the clock said: times that are written in files are older."""
        return re.sub(r"\d", "0", found[0]) if found[1] >= self._today else found[0]


@functools.cache
def steady_command() -> WarmCommand:
    package = Path(evalharness.__file__).parents[1]
    path = os.pathsep.join([str(HERE / "steady"), str(package)])
    command = WarmCommand({**kept_environment(), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})
    atexit.register(command.close)
    return command


def rows(store: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(store)) as connection:
        return connection.execute(sql).fetchall()


def store_of(folder: Path) -> Path:
    return folder / ".evalharness" / "store.db"


def run_names(folder: Path) -> list[str]:
    store = store_of(folder)
    return [name for (name,) in rows(store, "SELECT name FROM runs ORDER BY seq")] if store.exists() else []


def named(folder: Path, line: str) -> str:
    """With names of runs in place of their numbers."""
    names = run_names(folder)
    return _RUN_NUMBER.sub(lambda found: names[int(found[1]) - 1], line)


def compare(path: Path, now: str) -> None:
    """With REWRITE_GOLDENS=1 in the environment, the current output becomes the golden."""
    if os.environ.get(REWRITE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    show_difference(path.name, path.read_text(encoding="utf-8") if path.exists() else "", now)


def show_difference(what: str, golden: str, now: str) -> None:
    if now != golden:
        lines = difflib.unified_diff(golden.splitlines(), now.splitlines(), "golden", "now", lineterm="", n=2)
        raise AssertionError(f"{what} differs:\n" + "\n".join(lines))
