"""Compare runs: one with others, each paired case by case, with the step at which transcripts of worse cases part."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from evalharness.actions.find_reports import FoundReport
from evalharness.domain.comparison import CaseChange, Comparison
from evalharness.domain.gate import RegressionRule
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import TrialState
from evalharness.engine.comparing import compare_variants
from evalharness.engine.diverging import first_divergence
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
    """The old one with each of the new ones; the allowance for chance covers all of them together."""
    comparisons = compare_variants(old.report, [each.report for each in new], rule, ignored=ignored)
    return [_told(old, each, comparison, store) for each, comparison in zip(new, comparisons, strict=True)]


def _told(old: FoundReport, new: FoundReport, comparison: Comparison, store: SqlStore) -> Comparison:
    return comparison.model_copy(
        update={
            "old": comparison.old.model_copy(update={"source": old.source}),
            "new": comparison.new.model_copy(update={"source": new.source}),
            "cases": _with_divergences(old, new, comparison.cases, store),
            "notes": (*comparison.notes, *same_run(comparison)),
        }
    )


def same_run(comparison: Comparison) -> tuple[str, ...]:
    is_same = comparison.old.run_id and comparison.old.run_id == comparison.new.run_id
    return (SAME_RUN,) if is_same else ()


def _with_divergences(
    old: FoundReport, new: FoundReport, cases: tuple[CaseChange, ...], store: SqlStore
) -> tuple[CaseChange, ...]:
    """Only where both runs are stored here: a file holds no transcripts."""
    if old.run is None or new.run is None:
        return cases
    told = list(cases)
    for position in [number for number, case in enumerate(cases) if case.delta < 0][:DIVERGENCES]:
        case = cases[position]
        passing = _transcript(old.run.id, case.case_id, "passed", store)
        failing = _transcript(new.run.id, case.case_id, "failed", store)
        if passing is not None and failing is not None:
            told[position] = case.model_copy(update={"divergence": first_divergence(passing, failing)})
    return tuple(told)


def _transcript(run_id: str, case_id: str, state: TrialState, store: SqlStore) -> Transcript | None:
    """Of the first attempt that ended so."""
    attempts = (attempt for trial in store.trials(run_id, case_id) for attempt in trial.attempts)
    return next((each.transcript for each in attempts if each.state == state and each.transcript is not None), None)
