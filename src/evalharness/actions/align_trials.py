"""Align trials: what two runs did in the same case, step by step."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.actions.show_run import show_cases
from evalharness.contracts.context import Context
from evalharness.domain.alignment import Alignment
from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.engine.comparing.divergence import aligned_steps
from evalharness.errors import UnknownName, UsageError
from evalharness.steps.find_runs import find_run


async def align_trials(context: Context, run: Run, names: Sequence[str], reference: str) -> list[Alignment]:
    """Of each case the first trials that left a transcript. Raises UsageError where there is none."""
    other = find_run(reference, context.store)
    found: list[Alignment] = []
    for shown in await show_cases(context, run, names):
        case_id = shown.case.id
        if all(case.id != case_id for case in other.suite.cases):
            raise UnknownName(f"case in run {other.name}", case_id, [case.id for case in other.suite.cases])
        now = _with_transcript(shown.trials, run, case_id)
        before = _with_transcript(tuple(context.store.trials(other.id, case_id)), other, case_id)
        assert before.last.transcript is not None and now.last.transcript is not None
        found.append(
            Alignment(
                case_id=case_id,
                before=other.name,
                now=run.name,
                trial_before=before.index + 1,
                trial_now=now.index + 1,
                steps=aligned_steps(before.last.transcript, now.last.transcript),
            )
        )
    return found


def _with_transcript(trials: Sequence[Trial], run: Run, case_id: str) -> Trial:
    for trial in trials:
        if trial.last.transcript is not None:
            return trial
    raise UsageError(f"run {run.name} has no transcript of case {case_id}")
