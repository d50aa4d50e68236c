"""What came of recorded sessions that were asked again: one Result each, an EvalRun in all, by the documented names.

Only data; how results are reached is the business of the engine, how they are told of `session_checks.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, StrictBool

from evalharness.documents.session import GoRecord, Session
from evalharness.domain.record import Record
from evalharness.domain.trial import TrialState
from evalharness.values.json_value import Json

# Durations as programs written in Go print them and keep them: `1.5s`, `2m0s`, and whole nanoseconds in JSON.

MICROSECOND = timedelta(microseconds=1)


def duration_text(duration: timedelta, precision: timedelta = MICROSECOND) -> str:
    """Rounded to `precision`; halves go away from zero."""
    microseconds = abs(duration) // MICROSECOND
    step = precision // MICROSECOND
    microseconds = (microseconds + step // 2) // step * step
    sign = "-" if duration < timedelta(0) and microseconds else ""
    if microseconds == 0:
        return "0s"
    if microseconds < 1000:
        return f"{sign}{microseconds}µs"
    if microseconds < 1_000_000:
        return f"{sign}{_decimal(microseconds, 1000)}ms"
    minutes, rest = divmod(microseconds, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    return f"{whole}.{part:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".") if part else str(whole)


def _from_nanoseconds(written: Any) -> Any:
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    return timedelta(microseconds=written / 1000) if is_number else written


def _to_nanoseconds(duration: timedelta) -> int:
    return duration // MICROSECOND * 1000


GoDuration = Annotated[timedelta, BeforeValidator(_from_nanoseconds), PlainSerializer(_to_nanoseconds, return_type=int)]


NOT_RUN = "not run: the run was stopped before"
"""The error of an eval that was never asked."""


class Config(Record):
    """What to evaluate, and how.

    `agent_filename` is a file that describes a target, or anything else that `--target` takes.
    """

    agent_filename: str = ""
    evals_dir: str = "evals"
    judge_model: str = ""
    concurrency: Annotated[int, Field(ge=0)] = 0
    """0 means the number of CPUs."""
    tty_fd: int = 0
    """Nothing is drawn here; the command line asks its own terminal."""
    only: tuple[str, ...] = ()
    base_image: str = ""
    """With it, `agent_filename` is the file of an agent of docker-agent, which runs in containers."""
    agent_image: str = ""
    """The image with its program, or `none` if the base has it; empty for docker-agent's own."""
    keep_containers: bool = False
    env_vars: tuple[str, ...] = ()
    """`KEY` passes the variable on, `KEY=VALUE` sets it."""
    repeat: int = 1
    """Less than 1 means 1."""


class SessionCheck(ABC):
    """Options of a grader for whose findings a Result has fields of its own."""

    @abstractmethod
    def result_fields(self, evidence: Json, called: Sequence[str]) -> Mapping[str, Any]:
        """Fields of the Result, from the evidence of its grade (None without one) and the tools that were called."""


class InputSession(Session):
    """A session as it is asked, with its file. `repeat_index` counts from 1; it is 0 where each is asked once."""

    source_path: str = Field(default="", exclude=True)
    repeat_index: int = Field(default=0, exclude=True)


class RelevanceResult(GoRecord):
    criterion: str
    passed: StrictBool
    reason: str = ""


class AssertionResult(GoRecord):
    name: str = ""
    type: str
    passed: StrictBool
    reason: str = ""


class SizeCheck(GoRecord):
    actual: str = ""
    expected: str = ""


class ToolCallsCheck(GoRecord):
    score: float = 0.0


class RelevanceCheck(GoRecord):
    passed_count: int = 0
    total: int = 0
    results: tuple[RelevanceResult, ...] = ()


class AssertionsCheck(GoRecord):
    results: tuple[AssertionResult, ...] = ()


class Checks(GoRecord):
    """Those that were made."""

    size: SizeCheck = SizeCheck()
    tool_calls: ToolCallsCheck | None = None
    relevance: RelevanceCheck = RelevanceCheck()
    assertions: AssertionsCheck = AssertionsCheck()


class EvalResult(GoRecord):
    """The `eval_result` of a saved session, as far as it is read again; `session_checks.eval_result` writes it."""

    passed: StrictBool = False
    error: str = ""
    cost: float = 0.0
    output_tokens: int = 0
    checks: Checks = Checks()


class Result(GoRecord):
    """One session asked once. Where there is an `error` the rest says nothing about the agent."""

    model_config = ConfigDict(extra="ignore")
    omitempty = (
        "state", "last_message_output_tokens", "relevance_results", "assertion_results", "error", "raw_output",
    )  # fmt: skip

    input_path: str = ""
    title: str = ""
    question: str = ""
    response: str = ""
    state: TrialState | None = None
    """What the run says; None where the checks alone decide."""
    cost: float = 0.0
    output_tokens: int = 0
    """In all, sub-agents included."""
    last_message_output_tokens: int = 0
    """Of the last message alone, where the agent reports it."""
    size: str = ""
    size_expected: str = ""
    tool_calls_score: float = 0.0
    tool_calls_expected: float = Field(default=0.0, alias="tool_calls_score_expected")
    """1 where tool calls were recorded, so that others fail; else 0, and the score is only reported."""
    relevance_passed: float = Field(default=0.0, alias="relevance")
    relevance_expected: float = 0.0
    relevance_results: tuple[RelevanceResult, ...] = ()
    assertion_results: tuple[AssertionResult, ...] = ()
    error: str = ""
    raw_output: tuple[dict[str, Json], ...] = ()
    session: Session | None = Field(default=None, exclude=True)

    @property
    def is_judged(self) -> bool:
        """Whether the criteria have been looked at; without a judge nobody has."""
        return bool(self.relevance_results or self.relevance_passed)


RepeatStatus = Literal["stable", "flaky", "failing", "incomplete"]
"""All repeats passed, some, none; fewer ended than were asked for."""


class CostOutlier(GoRecord):
    """`ratio` is its cost in medians."""

    title: str
    cost: float
    ratio: float


class RepeatCost(GoRecord):
    """Of the repeats that ended without an error."""

    samples: int
    median: float
    min: float
    max: float
    outliers: tuple[CostOutlier, ...] = ()


class RepeatedEval(GoRecord):
    """One session asked several times. `reasons` says by the title of a repeat, `TITLE #2`, why it did not pass."""

    omitempty = ("cost",)

    input_path: str
    title: str = ""
    status: RepeatStatus
    passed: int = 0
    total: int = 0
    errors: int = 0
    failed_runs: tuple[str, ...] = ()
    reasons: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    cost: RepeatCost | None = None


class Repeats(GoRecord):
    """Shares of evals: `pass_at_k` passed at least once, `pass_hat_k` every time."""

    k: int
    pass_at_k: float
    pass_hat_k: float
    evals: tuple[RepeatedEval, ...] = ()


class Summary(GoRecord):
    """`failed_evals` are those with an error. They and those that were skipped enter no other number but the cost."""

    model_config = ConfigDict(extra="ignore")
    omitempty = ("assertions_passed", "assertions_total", "repeats")

    total_evals: int = 0
    failed_evals: int = 0
    total_cost: float = 0.0
    sizes_passed: int = 0
    sizes_total: int = 0
    tools_f1_sum: float = 0.0
    tools_count: int = 0
    relevance_passed: float = 0.0
    relevance_total: float = 0.0
    assertions_passed: int = 0
    assertions_total: int = 0
    repeats: Repeats | None = None
    """Where each session was asked more than once."""


class EvalRun(GoRecord):
    model_config = ConfigDict(extra="ignore")

    name: str
    timestamp: datetime
    duration: GoDuration
    config: Config = Field(default_factory=Config, exclude=True)
    results: tuple[Result, ...] = ()
    summary: Summary = Summary()


class RunOutputConfig(GoRecord):
    omitempty = ("judge_model", "base_image", "agent_image")

    agent: str = ""
    judge_model: str = ""
    concurrency: int = 0
    evals_dir: str = ""
    base_image: str = ""
    agent_image: str = ""


class RunOutput(GoRecord):
    """A run with its sessions, each with its criteria and its result."""

    name: str
    timestamp: datetime
    duration: str
    """As text: `42s`."""
    config: RunOutputConfig = RunOutputConfig()
    summary: Summary = Summary()
    sessions: tuple[Session, ...] = ()
