"""How tests run the real command: one process in its own folder, with a controlled environment."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from warm_command import WarmCommand, WarmProcess

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

    @property
    def run_name(self) -> str:
        return str(self.report["metadata"]["run_name"])

    def states(self) -> dict[str, list[str]]:
        """Case id → the states of its trials."""
        found: dict[str, list[str]] = {}
        for trial in self.report["trials"]:
            found.setdefault(trial["case_id"], []).append(trial["state"])
        return found


def texts(findings: list[dict[str, Any]]) -> list[str]:
    return [found["text"] for found in findings]


def kept_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}


def clean_environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**kept_environment(), "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **(more or {})}


@functools.cache
def warm_command() -> WarmCommand:
    command = WarmCommand(kept_environment())
    atexit.register(command.close)
    return command


class Started:
    """A running command: a process that a test can inspect and send signals to."""

    def __init__(self, process: WarmProcess, out: IO[bytes], err: IO[bytes]) -> None:
        self._process, self._out, self._err = process, out, err
        self.pid = process.pid
        self.poll, self.kill, self.send_signal = process.poll, process.kill, process.send_signal

    def wait(self, timeout_s: float = LONGEST_WAIT_S) -> Outcome:
        """The result, as soon as the process has ended."""
        code = self._process.wait(timeout_s)
        self._out.seek(0)
        self._err.seek(0)
        return Outcome(code, self._out.read().decode(), self._err.read().decode(errors="replace"))


@contextmanager
def start(
    folder: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    whole_shutdown: bool = True,
    command: WarmCommand | None = None,
) -> Iterator[Started]:
    """The command, ended when the block is left. Output to a given stream is not part of the outcome."""
    with TemporaryFile() as out, TemporaryFile() as err, Path(os.devnull).open("rb") as nothing:
        streams = [
            nothing.fileno() if stdin is None else stdin,
            out.fileno() if stdout is None else stdout,
            err.fileno() if stderr is None else stderr,
        ]
        process = (command or warm_command()).start(
            words, folder, clean_environment(folder, env), streams, whole_shutdown=whole_shutdown
        )
        try:
            yield Started(process, out, err)
        finally:
            process.kill()
            process.wait(LONGEST_WAIT_S)


def drive(
    folder: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 120,
    whole_shutdown: bool = False,
    command: WarmCommand | None = None,
) -> Outcome:
    """`whole_shutdown`: for tests that leave threads or objects behind, which could disturb the shutdown of Python."""
    with start(folder, *words, env=env, whole_shutdown=whole_shutdown, command=command) as started:
        return started.wait(timeout_s)


def drive_run(
    folder: Path, *words: str, suite: str = "suite.yaml", target: str = "", env: Mapping[str, str] | None = None
) -> Outcome:
    """`eval-harness run`, with a report to inspect."""
    asked = ("--target", target) if target else ()
    return drive(folder, "run", suite, *asked, *words, "--json", env=env)


def succeed(folder: Path, *words: str, code: int = 0) -> Outcome:
    """Runs a command that must end with this code; otherwise the test fails with its output."""
    done = drive(folder, *words)
    assert done.code == code, done.both
    return done


def drive_fresh(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Outcome:
    """Runs in its own interpreter: half a second slower, but with everything that happens when one starts."""
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
    """`write(folder, agent_py=…, suite_yaml=…)`: the last underscore becomes the dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        stem, _, ending = name.rpartition("_")
        (folder / f"{stem}.{ending}").write_text(text, encoding="utf-8")
    return folder


def line_of(outcome: Outcome, label: str) -> str:
    return next(line for line in outcome.out.splitlines() if line.startswith(label))


def printed_name(outcome: Outcome) -> str:
    """The name of the run, from its verdict line."""
    found = re.search(r"^(?:PASSED|FAILED|IN[A-Z]+|UNDECIDED) .*?([a-z]+-[a-z]+-\d+)", outcome.out, re.M)
    assert found is not None, outcome.both
    return found[1]


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not happened():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)  # polling takes time from the processes that the test waits for
