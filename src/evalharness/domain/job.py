"""Job: a run that the server starts as a process of its own, and how it is going.

A job is about what one command starts: one run, or the runs of a matrix, under the id of the first one. What its
trials came to is in the run alone.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evalharness.domain.record import Record

JobState = Literal["queued", "running", "cancelling", "cancelled", "ended", "interrupted"]
"""`ended`: its process came to an end of its own, whatever the verdict. `interrupted`: it died; it can be resumed."""
ACTIVE: tuple[JobState, ...] = ("queued", "running", "cancelling")


class JobRequest(Record):
    """What to run: the words of `run`. `reports.words.job_command` makes the command of it."""

    suite: str
    """A path or a name."""
    format_name: str = ""
    target: str = ""
    """As `--target` takes it; empty for the suite's own."""
    trials: int | None = None
    timeout_s: float | None = None
    seed: int | None = None
    fail_under: float | None = None
    baseline: str = ""
    """Empty for the suite's own, or none."""
    judge_model: str = ""
    sandbox: str = ""
    """Empty for the usual one."""
    max_concurrency: int | None = None
    max_cost_usd: float | None = None
    failed_of: str | None = None
    """A run: only cases that did not pass in it; empty: those that did not pass when they were last run."""
    variables: dict[str, str] = Field(default_factory=dict)


class ProcessMark(Record):
    """Identifies a process even after its number has been given to another one, and after a restart of the machine."""

    pid: int
    boot_id: str = ""
    start_ticks: int | None = None
    """When it was started, in the machine's own count."""


class Job(Record):
    run_id: str
    """Of the first run."""
    suite: str
    """What it runs, for people."""
    request: JobRequest | None = None
    """None for a run that was started elsewhere and is resumed."""
    state: JobState = "queued"
    process: ProcessMark | None = None
    is_resumed: bool = False
    """Whether its process continues a run that is there already."""
    tries: int = 0
    """How often its process was started since a person last asked for it."""
    exit_code: int | None = None
    """None while it is not known, as of a process that ended while no server was running."""
    queued_at: str
    started_at: str | None = None
    ended_at: str | None = None

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE
