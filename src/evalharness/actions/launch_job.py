"""Launch the process of a job, or find it again: the same program, in a session of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.domain.job import Job, ProcessMark
from evalharness.reports.words.job_command import process_words
from evalharness.sandboxes.detached import DetachedProcess, start_detached

__all__ = ["DetachedProcess", "adopt_process", "launch_job"]

NOT_INHERITED = ("EVALHARNESS_OPEN", "EVALHARNESS_STORE", "EVALHARNESS_JSON")
"""Flags of whoever started the server that are not meant for runs."""


async def launch_job(context: Context, job: Job, store: str, output: Path) -> DetachedProcess:
    """`store` is what the process is given as its store; what it prints is added to `output`. Raises OSError."""
    environment = {name: value for name, value in context.settings.environment.items() if name not in NOT_INHERITED}
    command = [sys.executable, "-m", "evalharness", *process_words(job, store)]
    return start_detached(command, Path.cwd(), output, environment)


async def adopt_process(context: Context, mark: ProcessMark) -> DetachedProcess:
    """The process that another server started; it may have ended."""
    return DetachedProcess(mark)
