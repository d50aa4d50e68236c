"""How tests drive the real command: one process in a folder of its own, with an environment that holds no surprises."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warm_command import WarmCommand

COMMAND = (sys.executable, "-m", "evalharness")
LONGEST_WAIT_S = 60.0


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def both(self) -> str:
        return self.out + self.err

    @property
    def json(self) -> Any:
        """Fails unless stdout is exactly one JSON document."""
        return json.loads(self.out)

    @property
    def report(self) -> Any:
        return self.json["eval_report"]

    def states(self) -> dict[str, list[str]]:
        """Case id → the states of its trials."""
        found: dict[str, list[str]] = {}
        for trial in self.report["trials"]:
            found.setdefault(trial["case_id"], []).append(trial["state"])
        return found


def kept_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}


def clean_environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**kept_environment(), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **(more or {})}


@functools.cache
def warm_command() -> WarmCommand:
    command = WarmCommand(kept_environment())
    atexit.register(command.close)
    return command


def drive(folder: Path, *words: str, env: Mapping[str, str] | None = None, timeout_s: float = 120) -> Outcome:
    return Outcome(*warm_command().run(words, folder, clean_environment(folder, env), timeout_s))


def drive_fresh(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Outcome:
    """In an interpreter of its own: half a second slower, and it obeys what is read when an interpreter starts."""
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=folder,
        env=clean_environment(folder, env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LONGEST_WAIT_S,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace"))


def write(folder: Path, **files: str) -> Path:
    """`write(folder, agent_py=…, suite_yaml=…)`: the last underscore stands for the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    return folder


def line_of(outcome: Outcome, label: str) -> str:
    return next(line for line in outcome.out.splitlines() if line.startswith(label))


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not happened():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.001)
