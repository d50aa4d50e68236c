"""Recorded sessions in Python: evaluate a folder of them, rebuild a session from events, save what came of it.

Names in Python are in snake_case; what is read and written as JSON keeps the documented names. Runs, their store and
their reports are those of `evalharness.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from uuid import uuid4

from evalharness.actions import evaluate_sessions as evaluating
from evalharness.actions import save_sessions
from evalharness.actions.evaluate_sessions import DEFAULT_SANDBOX, input_sessions
from evalharness.contracts.model import Llm
from evalharness.documents.session import EvalCriteria, Session
from evalharness.documents.session_results import (
    Config,
    EvalRun,
    InputSession,
    RelevanceResult,
    Repeats,
    Result,
    RunOutput,
    RunOutputConfig,
    Summary,
)
from evalharness.domain import run
from evalharness.errors import IncompleteVerdict, UsageError
from evalharness.formats.recorded_sessions import rebuilt_sessions
from evalharness.graders.judges.question import Asking
from evalharness.graders.judges.relevance import check_each, failures_in
from evalharness.graders.judges.validation import try_judge
from evalharness.harness import MEMORY, Harness
from evalharness.redaction import Redactor
from evalharness.reports import session_database, session_files
from evalharness.settings import Settings, now, timestamp
from evalharness.steps.judge_outputs import opened_judge
from evalharness.values.json_value import Json

__all__ = [
    "Config",
    "EvalCriteria",
    "EvalRun",
    "InputSession",
    "Judge",
    "RelevanceResult",
    "Repeats",
    "Result",
    "RunOutput",
    "RunOutputConfig",
    "Runner",
    "Session",
    "Summary",
    "evaluate_sessions",
    "generate_run_name",
    "new_judge",
    "save",
    "save_run_json",
    "save_run_log",
    "save_run_sessions",
    "save_run_sessions_json",
    "save_session",
    "session_from_events",
    "summary_text",
]


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks a language model whether statements about a response hold: `provider/model`, or one that is open already."""

    model: str | Llm
    concurrency: int = 1
    """How many statements at once; less than 1 means 1."""
    settings: Settings = field(default_factory=Settings.here, repr=False, compare=False)
    """In place of the environment and the `.env` file, which are read once, when the judge is made."""

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) and not hasattr(self.model, "chat"):
            raise UsageError("a judge must be `provider/model`, or a model that is already open")
        if not isinstance(self.concurrency, int):
            raise UsageError(f"the concurrency of a judge must be a whole number, not {self.concurrency!r}")
        object.__setattr__(self, "concurrency", max(1, self.concurrency))

    async def check_relevance(self, response: str, criteria: Sequence[str]) -> list[RelevanceResult]:
        """A result with a reason for each criterion, in their order.

        Where any has none, raises IncompleteVerdict: with the reasons why, and with the results of the others.
        """
        if not isinstance(response, str):
            raise UsageError(f"the response must be text, not {type(response).__name__}")
        is_list = isinstance(criteria, Sequence) and not isinstance(criteria, str)
        if not is_list or not all(isinstance(each, str) and each.strip() for each in criteria):
            raise UsageError("criteria must be a list of statements, none of them empty", hint='write ["It is polite"]')
        async with opened_judge(self.model, self.settings, self.concurrency) as llm:
            answers = await check_each(Asking(llm), response, criteria, self.concurrency)
        results = [answer for answer in answers if isinstance(answer, RelevanceResult)]
        if failures := failures_in(criteria, answers):
            raise IncompleteVerdict(f"relevance check failed: {'; '.join(failures)}", results)
        return results

    async def validate(self) -> None:
        """One trivial question; raises UsageError or ModelUnavailable where this model cannot judge."""
        async with opened_judge(self.model, self.settings) as llm:
            await try_judge(llm)


def evaluate_sessions(
    config: Config,
    run_name: str = "",
    *,
    store: str | None = None,
    sandbox: str = DEFAULT_SANDBOX,
    settings: Settings | None = None,
) -> EvalRun:
    """Every session of `config.evals_dir`, asked `config.repeat` times. Works inside a running event loop, too.

    `config.judge_model` judges their criteria; without one these stay open. Without `run_name` a name is made up.
    """
    with Harness.open(store, settings=settings) as harness:
        return harness.call(evaluating.evaluate_sessions, config, sandbox, run_name)


def new_judge(model: str | Llm, concurrency: int = 1, *, settings: Settings | None = None) -> Judge:
    return Judge(model, concurrency, settings or Settings.here())


@dataclass(frozen=True, slots=True)
class Runner:
    """A configuration, ready to be run as often as one likes; each run is kept in `store`."""

    config: Config
    store: str | None = None
    settings: Settings | None = field(default=None, repr=False, compare=False)

    def sessions(self) -> list[InputSession]:
        """What is going to be asked, in this order."""
        with Harness.open(MEMORY, settings=self.settings) as harness:
            return harness.call(input_sessions, self.config)

    def run(self, run_name: str = "") -> EvalRun:
        return evaluate_sessions(self.config, run_name, store=self.store, settings=self.settings)


def generate_run_name() -> str:
    """A name people can remember: `brave-otter-042`."""
    return run.generate_run_name(Random())


def session_from_events(
    events: Iterable[Mapping[str, Json]],
    title: str,
    questions: Sequence[str],
    *,
    clock: Callable[[], datetime] = now,
) -> Session:
    """The conversation behind the JSON events of `docker agent run --exec --json`, which was asked these questions."""
    made_at = timestamp(clock())
    return rebuilt_sessions.session_from_events(events, title, questions, session_id=str(uuid4()), now=made_at)


def save_session(
    session: Session, filename: str = "", folder: str | Path = "evals", *, settings: Settings | None = None
) -> Path:
    """Keep a session as an eval, under `filename` or its id; a name that is taken gets `_1`, `_2`, …"""
    with Harness.open(MEMORY, settings=settings) as harness:
        return harness.call(save_sessions.save_session, session, filename, Path(folder))


save = save_session


def save_run_json(run: EvalRun, output_dir: str | Path, *, settings: Settings | None = None) -> Path:
    """`<run>.json`: every result, with what the agent printed."""
    return session_files.save_run_json(run, Path(output_dir), _redactor(settings))


def save_run_sessions_json(run: EvalRun, output_dir: str | Path, *, settings: Settings | None = None) -> Path:
    """`<run>-sessions.json`: a `RunOutput`, every session with its criteria and its result."""
    return session_files.save_run_sessions_json(run, Path(output_dir), _redactor(settings))


def save_run_sessions(run: EvalRun, output_dir: str | Path, *, settings: Settings | None = None) -> Path:
    """`<run>.db`: an SQLite file that session tools can open."""
    return session_database.save_run_sessions(run, Path(output_dir), _redactor(settings))


def save_run_log(run: EvalRun, output_dir: str | Path, *, settings: Settings | None = None) -> Path:
    """`<run>.log`: every check and the summary, for people."""
    return session_files.save_run_log(run, Path(output_dir), _redactor(settings))


def summary_text(run: EvalRun, *, settings: Settings | None = None) -> str:
    return _redactor(settings).redact("\n".join(session_files.summary_lines(run.summary, run.duration)))


def _redactor(settings: Settings | None) -> Redactor:
    return (settings or Settings.here()).redactor()
