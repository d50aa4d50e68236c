"""Compare runs: one with others, each paired case by case, with the step at which transcripts of worse cases part."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalharness.actions.find_reports import FoundReport
from evalharness.domain.comparison import CaseChange, Comparison, asked_at_once
from evalharness.domain.gate import RegressionRule
from evalharness.domain.trial import Attempt, TrialState
from evalharness.engine.comparing import compare
from evalharness.engine.diverging import first_divergence, without_answer
from evalharness.stores.sql_store import SqlStore

SAME_RUN = "this is a run held against itself, so nothing can differ; name another run: eval-harness runs"
DIVERGENCES = 10
"""How many worse cases are looked into, the worst first."""


def compare_runs(
    old: FoundReport,
    new: Sequence[FoundReport],
    rule: RegressionRule,
    store: SqlStore,
    ignored: Collection[str] = frozenset(),
) -> list[Comparison]:
    """The old one with each of the new ones, each by itself; a note tells what that means for all of them."""
    comparisons = [
        compare(old.report, each.report, rule, old_source=old.source, new_source=each.source, ignored=ignored)
        for each in new
    ]
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
