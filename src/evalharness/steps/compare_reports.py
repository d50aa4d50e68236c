"""Compare reports: one with others, each paired case by case, and where the transcripts of worse cases part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from evalharness.contracts.store import Store
from evalharness.domain.comparison import CaseChange, Comparison, asked_at_once
from evalharness.domain.gate import Gate, Quarantine, RegressionRule
from evalharness.domain.trial import Attempt, TrialState
from evalharness.engine.comparing.comparison import compare
from evalharness.engine.comparing.divergence import first_divergence, without_answer
from evalharness.engine.verifying.reported_comparison import reported_rule
from evalharness.errors import UsageError
from evalharness.steps.apply_gate import same_run
from evalharness.steps.find_reports import FoundReport
from evalharness.steps.recall_answers import with_flips

DIVERGENCES = 10
"""How many worse cases are looked into, the worst first."""
Gated: TypeAlias = tuple[FoundReport, Gate]


def compare_reports(
    old: FoundReport, new: Sequence[Gated], asked: Mapping[str, Any], store: Store, today: date
) -> list[Comparison]:
    """The old one with each of the new ones, each by itself; a note tells what that means for all of them.

    Each by the gate of the new run, without the cases that are quarantined today; fields of its rule that are `asked`
    for win over it.
    """
    comparisons = [_compared(old, each, gate, asked, today) for each, gate in new]
    several = asked_at_once(comparisons)
    return [
        comparison.model_copy(
            update={
                "cases": _with_divergences(old, each, comparison.cases, store),
                "notes": (*comparison.notes, *same_run(comparison), *several),
            }
        )
        for (each, _), comparison in zip(new, comparisons, strict=True)
    ]


def with_gates(found: Iterable[FoundReport], store: Store) -> list[Gated]:
    """Each with what its run was started with; of a file, as much as its report tells.

    That is its quarantine, and how it compared. Raises UsageError where no gate can say so.
    """
    return [(each, (store.gate_of(each.run.id) or Gate()) if each.run else _reported_gate(each)) for each in found]


def _reported_gate(found: FoundReport) -> Gate:
    held = found.report.gate.quarantined if found.report.gate else ()
    reported = found.report.comparison
    about = {"reason": "reported", "owner": "reported", "expires": date.max}
    try:
        return Gate(
            regression=RegressionRule.model_validate(dict(reported_rule(reported))) if reported else None,
            quarantine=tuple(Quarantine.model_validate({"case": case, **about}) for case in held),
        )
    except ValidationError:
        raise UsageError(
            f"{found.source}: its gate cannot be read", hint="write the report again with this version"
        ) from None


def overridden_rule(gate: Gate, asked: Mapping[str, Any]) -> RegressionRule:
    """That of a gate, with the fields that are asked for in place of its own."""
    return RegressionRule.model_validate((gate.regression or RegressionRule()).model_dump() | dict(asked))


def with_lost_cases(
    comparison: Comparison, new: FoundReport, gate: Gate, asked: Mapping[str, Any], store: Store
) -> Comparison:
    """Single cases that are lost, as a gate with this rule would judge them."""
    if new.report.sequential is not None:
        return comparison
    rule = overridden_rule(gate, asked).model_copy(update={"baseline": ""})
    return with_flips(comparison, gate.model_copy(update={"regression": rule}), store)


def comparison_exit_code(comparison: Comparison, inconclusive: Literal["pass", "fail"]) -> int:
    if comparison.flips is not None and comparison.flips.cases:
        return 1
    return {"REGRESSION": 1, "INCONCLUSIVE": 4 if inconclusive == "fail" else 0}.get(comparison.verdict, 0)


def _compared(old: FoundReport, new: FoundReport, gate: Gate, asked: Mapping[str, Any], today: date) -> Comparison:
    rule = overridden_rule(gate, asked)
    ignored = gate.quarantined_on(today)
    return compare(old.reports, new.report, rule, old_source=old.source, new_source=new.source, ignored=ignored)


def _with_divergences(
    old: FoundReport, new: FoundReport, cases: tuple[CaseChange, ...], store: Store
) -> tuple[CaseChange, ...]:
    """Only where all runs are stored here: a file holds no transcripts."""
    before = [each.run.id for each in (old, *old.others) if each.run is not None]
    if not before or new.run is None:
        return cases
    parts = list(cases)
    for position in [number for number, case in enumerate(cases) if case.delta < 0][:DIVERGENCES]:
        case = cases[position]
        tried = (_attempt(run_id, case.case_id, "passed", store) for run_id in before)
        passing = next((attempt for attempt in tried if attempt), None)
        failing = _attempt(new.run.id, case.case_id, "failed", store)
        if passing and passing.transcript and failing:
            found = (
                first_divergence(passing.transcript, failing.transcript)
                if failing.transcript
                else without_answer(passing.transcript, failing.reason)
            )
            parts[position] = case.model_copy(update={"divergence": found})
    return tuple(parts)


def _attempt(run_id: str, case_id: str, state: TrialState, store: Store) -> Attempt | None:
    """The first that ended so, of those with a transcript if there is any."""
    bare = None
    for attempt in (attempt for trial in store.trials(run_id, case_id) for attempt in trial.attempts):
        if attempt.state == state and attempt.transcript is not None:
            return attempt
        bare = attempt if attempt.state == state and bare is None else bare
    return bare
