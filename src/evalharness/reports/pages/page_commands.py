"""The commands that do in a terminal what pages do, and how to register what is missing; each names the store."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from evalharness.domain.job import JobRequest
from evalharness.reports.wording import naming, removal_command
from evalharness.reports.words.job_command import run_command

REGISTER = "start the server with --allow-target NAME=SPEC to register one"


class PageCommands:
    """`store` is the one that was named, if any."""

    def __init__(self, store: str | None) -> None:
        self._named = naming(store)

    def run(self, request: JobRequest) -> str:
        return self._words(*run_command(request))

    def validate(self, file: str) -> str:
        return f"eval-harness validate {shlex.quote(file)}"

    def resume(self, run: str) -> str:
        return self._words("resume", run)

    def delete(self, run: str) -> str:
        return self._words("runs", "rm", run)

    def cancel(self, process: int | None) -> str:
        return f"kill -INT {process or 'PID'}"

    def show(self, run: str, case_id: str) -> str:
        return self._words("show", run, case_id)

    def compare(self, old: str, new: str) -> str:
        return self._words("compare", old or "RUN", new or "RUN")

    def invite(self) -> str:
        return self._words("reviewers", "invite", "NAME")

    def promote(self, run: str) -> str:
        return self._words("baseline", "set", run)

    def promote_any(self) -> str:
        return self._words("baseline", "set", "RUN", "--name", "NAME")

    def remove_baseline(self, name: str, suite: str) -> str:
        return f"{removal_command(name, suite)}{self._named}"

    def _words(self, *words: str) -> str:
        return f"eval-harness {shlex.join(words)}{self._named}"


def registered_targets(names: Iterable[str]) -> str:
    """For somebody who named another one."""
    known = ", ".join(names)
    return f"registered are: {known}" if known else REGISTER
