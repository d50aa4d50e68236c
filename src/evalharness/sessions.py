"""Recorded sessions in Python: evaluate a folder of them, rebuild a session from events, save what came of it.

Names in Python are in snake_case; what is read and written as JSON keeps the documented names. Runs, their store and
their reports are those of `evalharness.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

from evalharness import settings
from evalharness.actions import save_sessions
from evalharness.actions.evaluate_sessions import evaluate_sessions, input_sessions
from evalharness.domain import run_names, session_events
from evalharness.domain.record import Json
from evalharness.domain.session import EvalCriteria, Session
from evalharness.domain.session_results import (
    Config,
    EvalRun,
    InputSession,
    RelevanceResult,
    Result,
    RunOutput,
    RunOutputConfig,
    Summary,
)
from evalharness.redaction import Redactor
from evalharness.reports import session_database, session_files

__all__ = [
    "Config",
    "EvalCriteria",
    "EvalRun",
    "InputSession",
    "RelevanceResult",
    "Result",
    "RunOutput",
    "RunOutputConfig",
    "Runner",
    "Session",
    "Summary",
    "evaluate_sessions",
    "generate_run_name",
    "save",
    "save_run_json",
    "save_run_log",
    "save_run_sessions",
    "save_run_sessions_json",
    "save_session",
    "session_from_events",
    "summary_text",
]

LATER = ("Judge", "new_judge")
"""Names of the document that need a model to judge with; they come with the models."""


def __getattr__(name: str) -> Any:
    """`from … import` shows the words of an ImportError, but replaces those of an AttributeError with its own."""
    if name in LATER:
        raise ImportError(f"evalharness.sessions has no {name} yet: it comes with the models that judge")
    raise AttributeError(f"module 'evalharness.sessions' has no attribute '{name}'")


@dataclass(frozen=True, slots=True)
class Runner:
    """A configuration, ready to be run as often as one likes; each run is kept in `store`."""

    config: Config
    store: str | None = None

    def sessions(self) -> list[InputSession]:
        """What is going to be asked, in this order."""
        return input_sessions(self.config)

    def run(self) -> EvalRun:
        return evaluate_sessions(self.config, store=self.store)


def generate_run_name() -> str:
    """A name people can remember: `brave-otter-042`."""
    return run_names.generate_run_name(Random())


def session_from_events(events: Iterable[Mapping[str, Json]], title: str, questions: Sequence[str]) -> Session:
    """The conversation behind the JSON events of `docker agent run --exec --json`, which was asked these questions."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return session_events.session_from_events(events, title, questions, session_id=str(uuid4()), now=now)


def save_session(session: Session, filename: str = "", folder: str | Path = "evals") -> Path:
    """Keep a session as an eval, under `filename` or its id; a name that is taken gets `_1`, `_2`, …"""
    return save_sessions.save_session(session, filename, Path(folder))


save = save_session


def save_run_json(run: EvalRun, output_dir: str | Path) -> Path:
    """`<run>.json`: every result, with what the agent printed."""
    return session_files.save_run_json(run, Path(output_dir), _redactor())


def save_run_sessions_json(run: EvalRun, output_dir: str | Path) -> Path:
    """`<run>-sessions.json`: a `RunOutput`, every session with its criteria and its result."""
    return session_files.save_run_sessions_json(run, Path(output_dir), _redactor())


def save_run_sessions(run: EvalRun, output_dir: str | Path) -> Path:
    """`<run>.db`: an SQLite file that session tools can open."""
    return session_database.save_run_sessions(run, Path(output_dir), _redactor())


def save_run_log(run: EvalRun, output_dir: str | Path) -> Path:
    """`<run>.log`: every check and the summary, for people."""
    return session_files.save_run_log(run, Path(output_dir), _redactor())


def summary_text(run: EvalRun) -> str:
    return "\n".join(session_files.summary_lines(run.summary, run.duration))


def _redactor() -> Redactor:
    return Redactor(settings.secrets())
