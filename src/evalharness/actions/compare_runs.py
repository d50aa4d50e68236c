"""Compare runs: one with others, each paired case by case, with the step at which transcripts of worse cases part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from evalharness.actions.find_reports import FoundReport
from evalharness.domain.comparison import CaseChange, Comparison, asked_at_once
from evalharness.domain.gate import Gate, Quarantine, RegressionRule
from evalharness.domain.trial import Attempt, TrialState
from evalharness.engine.comparing import GATED, compare
from evalharness.engine.diverging import first_divergence, without_answer
from evalharness.stores.sql_store import SqlStore

SAME_RUN = "this is a run held against itself, so nothing can differ; name another run: eval-harness runs"
DIVERGENCES = 10
"""How many worse cases are looked into, the worst first."""


def compare_runs(
    old: FoundReport, new: Sequence[FoundReport], asked: Mapping[str, Any], store: SqlStore, today: date
) -> list[Comparison]:
    """The old one with each of the new ones, each by itself; a note tells what that means for all of them.

    Each by the gate of the new run, without the cases that are quarantined today; fields of its rule that are `asked`
    for win over it.
    """
    comparisons = [_compared(old, each, gate_of(each, store), asked, today) for each in new]
    several = asked_at_once(comparisons)
    return [
        comparison.model_copy(
            update={
                "cases": _with_divergences(old, each, comparison.cases, store),
                "notes": (*comparison.notes, *same_run(comparison), *several),
            }
        )
        for each, comparison in zip(new, comparisons, strict=True)
    ]


def gate_of(found: FoundReport, store: SqlStore) -> Gate:
    """What the run was started with; of a file, as much as its report tells: its quarantine, and how it compared."""
    if found.run is not None:
        return store.gate_of(found.run.id) or Gate()
    held = found.report.gate.quarantined if found.report.gate else ()
    told = found.report.comparison
    return Gate(
        regression=_told_rule(told) if told else None,
        quarantine=tuple(Quarantine(case=case, reason="told", owner="told", expires=date.max) for case in held),
    )


def _told_rule(told: Comparison) -> RegressionRule:
    usual = {metric for metric in told.differences if metric in GATED}
    gated = [metric for metric, difference in told.differences.items() if difference.gated]
    rule = RegressionRule(alpha=told.alpha, power=told.power, tolerance=told.tolerance)
    own = {"metrics": () if set(gated) == usual else gated, "margin": told.margin}
    if told.margin == rule.least_loss:
        del own["margin"]
    return RegressionRule.model_validate(rule.model_dump() | own)


def _compared(old: FoundReport, new: FoundReport, gate: Gate, asked: Mapping[str, Any], today: date) -> Comparison:
    rule = RegressionRule.model_validate((gate.regression or RegressionRule()).model_dump() | dict(asked))
    sources = {"old_source": old.source, "new_source": new.source}
    return compare(old.report, new.report, rule, ignored=gate.quarantined_on(today), **sources)


def same_run(comparison: Comparison) -> tuple[str, ...]:
    return (SAME_RUN,) if comparison.is_of_one_run else ()


def _with_divergences(
    old: FoundReport, new: FoundReport, cases: tuple[CaseChange, ...], store: SqlStore
) -> tuple[CaseChange, ...]:
    """Only where both runs are stored here: a file holds no transcripts."""
    if old.run is None or new.run is None:
        return cases
    told = list(cases)
    for position in [number for number, case in enumerate(cases) if case.delta < 0][:DIVERGENCES]:
        case = cases[position]
        passing = _attempt(old.run.id, case.case_id, "passed", store)
        failing = _attempt(new.run.id, case.case_id, "failed", store)
        if passing and passing.transcript and failing:
            found = (
                first_divergence(passing.transcript, failing.transcript)
                if failing.transcript
                else without_answer(passing.transcript, failing.reason)
            )
            told[position] = case.model_copy(update={"divergence": found})
    return tuple(told)


def _attempt(run_id: str, case_id: str, state: TrialState, store: SqlStore) -> Attempt | None:
    """The first that ended so, of those with a transcript if there is any."""
    bare = None
    for attempt in (attempt for trial in store.trials(run_id, case_id) for attempt in trial.attempts):
        if attempt.state == state and attempt.transcript is not None:
            return attempt
        bare = attempt if attempt.state == state and bare is None else bare
    return bare
