"""Save sessions: a session as an eval file; a run of them as database, JSON documents and log, or only its repeats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.documents.session import EvalCriteria, Session
from evalharness.documents.session_results import Config, EvalRun, Repeats, Summary
from evalharness.domain.run import Run
from evalharness.engine.running.parts import concurrency_of
from evalharness.errors import UsageError
from evalharness.graders.judges.judge_part import NO_JUDGE
from evalharness.redaction import Redactor
from evalharness.reports.session_database import save_run_sessions
from evalharness.reports.session_files import save_run_json, save_run_log, save_run_sessions_json, write_new
from evalharness.steps.collect_sessions import eval_run_of, repeats_of

WRITERS = {
    "Sessions DB": save_run_sessions,
    "Sessions JSON": save_run_sessions_json,
    "Results JSON": save_run_json,
    "Log": save_run_log,
}


async def save_session(context: Context, session: Session, filename: str, folder: Path) -> Path:
    """`<filename or the session's id>.json`, made ready to be an eval; with `_1`, `_2`, … where that is taken."""
    stem = (filename or session.id).removesuffix(".json")
    if not stem or stem.startswith(".") or any(letter in stem for letter in "/\\\0"):
        raise UsageError(f"'{stem}' cannot be the name of an eval", hint="give a file name without folders")
    ready = session if session.evals else session.model_copy(update={"evals": EvalCriteria()})
    data = context.settings.redactor().redact_value(ready.model_dump(mode="json"))
    names = (f"{stem}.json" if number == 0 else f"{stem}_{number}.json" for number in count())
    return write_new(folder, names, json.dumps(data, ensure_ascii=False, indent=2) + "\n")


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run of sessions in figures, and its files by label."""

    summary: Summary
    files: dict[str, Path]


async def diagnose_run(context: Context, run: Run) -> Repeats | None:
    """How reliable each eval of a run is; None where each was asked once. Nothing is saved."""
    return repeats_of(run, partial(context.store.trials, run.id))


async def save_run(context: Context, run: Run, redactor: Redactor, folder: Path) -> SavedRun:
    collected = _collected(run, context.store)
    return SavedRun(collected.summary, {label: write(collected, folder, redactor) for label, write in WRITERS.items()})


def _collected(run: Run, store: Store) -> EvalRun:
    target = run.target
    options = target.options if target.kind == "docker-agent" and isinstance(target.options, Mapping) else {}
    agent, base_image, agent_image = (str(options.get(name, "")) for name in ("agent", "base_image", "agent_image"))
    config = Config(
        agent_filename=agent or target.source_file or target.label,
        base_image=base_image,
        agent_image=agent_image,
        evals_dir=run.root,
        judge_model=_judge_of(run),
        concurrency=concurrency_of(run.options, run.suite.config),
        repeat=run.lock.trials,
    )
    return eval_run_of(run, store.trials(run.id), config)


def _judge_of(run: Run) -> str:
    """Who judges unless a grader names somebody; where only graders do, those who judged."""
    named = run.options.judge_model or run.suite.config.judge_model
    if named == NO_JUDGE:
        return ""
    judging = run.report.judging if run.report else ()
    return named or ", ".join(each.model for each in judging)
