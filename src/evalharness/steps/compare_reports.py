"""Compare reports: one with others, each paired case by case, and where the transcripts of worse cases part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from evalharness.contracts.store import Store
from evalharness.domain.comparison import ORDER, CaseChange, Comparison, ComparisonVerdict, asked_at_once
from evalharness.domain.gate import Gate, Quarantine, RegressionRule
from evalharness.engine.comparing.comparison import compare
from evalharness.engine.gating.gate_checks import flips_check
from evalharness.engine.verifying.reported_comparison import reported_rule
from evalharness.errors import UsageError
from evalharness.steps.apply_gate import replayed_notes, same_run
from evalharness.steps.find_divergences import find_divergences
from evalharness.steps.find_reports import FoundReport
from evalharness.steps.recall_answers import with_flips

BROKE = 3
"""The exit code of a run that broke."""
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
                "notes": (
                    *comparison.notes,
                    *same_run(comparison),
                    *replayed_notes(old.reports, each.report),
                    *several,
                ),
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
    """Single cases that are lost, as a gate with this rule would judge them, and a note that names them."""
    if new.report.sequential is not None:
        return comparison
    rule = overridden_rule(gate, asked).model_copy(update={"baseline": ""})
    judged = with_flips(comparison, gate.model_copy(update={"regression": rule}), store)
    if judged.flips is None or not (judged.flips.cases or judged.flips.excused):
        return judged
    return judged.model_copy(update={"notes": (flips_check(judged, judged.flips).text, *judged.notes)})


def judge_comparisons(
    comparisons: Sequence[Comparison], new: Sequence[Gated], inconclusive: Literal["pass", "fail"] | None = None
) -> tuple[ComparisonVerdict | Literal["FAILED"], list[int]]:
    """The worst verdict (FAILED if only lost cases decide), and the exit code of each; without any, nothing is known.

    `inconclusive` is asked for in place of what each gate says.
    """
    found = {comparison.verdict for comparison in comparisons}
    codes = [
        _exit_code(comparison, inconclusive or gate.inconclusive)
        for comparison, (_, gate) in zip(comparisons, new, strict=True)
    ]
    if "REGRESSION" not in found and any(comparison.lost for comparison in comparisons):
        return "FAILED", codes
    return next((verdict for verdict in ORDER if verdict in found), "INCONCLUSIVE"), codes


def _exit_code(comparison: Comparison, inconclusive: Literal["pass", "fail"]) -> int:
    if comparison.lost:
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
    found = find_divergences(before, new.run.id, cases, store)
    return tuple(
        case.model_copy(update={"divergence": found[case.case_id]}) if case.case_id in found else case for case in cases
    )
