"""Capture a case: the answer it passed with becomes the baseline of a regression eval, in a file of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.domain.case import Case
from evalharness.domain.finding import Finding, finding
from evalharness.domain.run import Run
from evalharness.domain.trial import GRADED, Trial
from evalharness.errors import Hint, UsageError
from evalharness.formats.eval_harness.writer import Captured, CaptureNote, dump_regressions
from evalharness.steps.captured_files import (
    REDACTED,
    YAML,
    CapturedFile,
    check_cases,
    check_output,
    chosen_trial,
    moved_case,
    named_case,
    suite_beside,
    write_text,
)
from evalharness.steps.find_runs import find_run
from evalharness.values.json_value import Json


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """`trial` counts from 1; without it, the first trial that passed."""

    run: str
    cases: Sequence[str]
    output: Path
    trial: int | None = None
    version: str = ""
    comparison: str = ""
    criticality: str = ""
    replace: bool = False


async def capture_cases(context: Context, request: CaptureRequest) -> CapturedFile:
    store = context.store
    check_output(request.output, "regression evals", YAML, replace=request.replace)
    run = find_run(request.run, store)
    check_cases(run, request.cases)
    chosen = [named_case(run, name) for name in dict.fromkeys(request.cases)]
    captured: list[Captured] = []
    warnings: list[Finding] = []
    for case in chosen:
        trials = list(store.trials(run.id, case.id))
        trial = chosen_trial(trials, run, case, request.trial)
        assert trial.last.transcript is not None
        output = trial.last.transcript.output
        if request.comparison == "numeric" and isinstance(output, str):
            raise UsageError(
                f"{case.id} answered with text, which has no numbers to compare", hint=Hint("hint.compare_exact")
            )
        warnings += [*_useless(run, case, trial), *_doubts(case, trials, output)]
        captured.append(Captured(moved_case(case, run, request.output), output, run.finished_at or run.created_at))
    note = CaptureNote(
        version=request.version or run.suite.version or run.name,
        environment=run.environment(),
        comparison=request.comparison,
        criticality=request.criticality,
    )
    description = f"Answers of run {run.name} that must stay as they are."
    suite = suite_beside(run, request.output, "regression", description)
    text = dump_regressions(suite, captured, note)
    write_text(request.output, text)
    return CapturedFile(request.output, suite.name, tuple(case.id for case in chosen), tuple(warnings))


def _useless(run: Run, case: Case, trial: Trial) -> Iterator[Finding]:
    """Why an eval that passes from now on says nothing good."""
    if trial.state != "passed":
        yield finding("capture.not_passed", "warning", case=case.id, trial=trial.index + 1, state=trial.state)
    if (target := run.target_of(case)).is_built_in:
        yield finding("capture.built_in_target", "warning", case=case.id, target=target.kind)


def _doubts(case: Case, trials: Sequence[Trial], output: Json) -> Iterator[Finding]:
    """Why a later answer may differ from this one although nothing got worse."""
    if REDACTED in json.dumps(output):
        yield finding("capture.redacted", "warning", case=case.id, mark=REDACTED)
    judged = [trial for trial in trials if trial.state in GRADED]
    passed = sum(trial.state == "passed" for trial in judged)
    if 0 < passed < len(judged):
        yield finding("capture.flaky", "warning", case=case.id, passed=passed, trials=len(judged))
    answers = {json.dumps(t.last.transcript.output) for t in judged if t.state == "passed" and t.last.transcript}
    if len(answers) > 1:
        yield finding("capture.several_answers", "warning", case=case.id, passed=passed, answers=len(answers))
