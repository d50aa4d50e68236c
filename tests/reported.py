"""Reports as runs make them, built from the few values that a test gives: cases and the states of their trials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report
from evalharness.domain.run import CaseLock
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Outcome
from evalharness.engine.gating.gate_checks import judge_gate
from evalharness.engine.gating.run_verdict import may_be_gated
from evalharness.engine.measuring.trial_counts import Measured, count_trials
from evalharness.steps.apply_gate import decided
from evalharness.steps.make_report import make_report
from evalharness.testing.stored_records import make_run

P: Any
P, F, E, S, A = "passed", "failed", "error", "skipped", "awaiting"
TODAY = date(2026, 11, 16)
# What does not follow from trials: what the suite itself says, and how long the harness took.
BELIEVED = (
    "metadata/duration_seconds",
    "metadata/case_threshold",
    "metadata/max_error_rate",
    "metadata/format",
    "/weight",
)

# Sentences repeat what is found elsewhere; the limits of a gate are accepted as they are.
UNCHECKED = ("why", "settle", "notes", "not_compared", "recommendations", "asked")


def row(case_id: str, index: int, state: Any, **given: Any) -> Outcome:
    """One finished trial as the store returns it."""
    passed = state == P
    grades = [{"state": "pass" if passed else "fail", "type": "code", "kind": given.get("kind", "exact")}]
    return Outcome(
        case_id,
        index,
        state,
        given.get("first_state", state),
        None if (case_id, index) in given.get("unscored", ()) else {P: 1.0, F: 0.0}.get(state),
        given.get("reason", "" if passed else f"{case_id} {state}"),
        given.get("duration_s", 0.25 + index / 8),
        None if (case_id, index) in given.get("unpriced", ()) else given.get("cost_usd", 0.01 * (index + 1)),
        given.get("tokens", 10),
        given.get("tokens", 3),
        json.dumps(grades if state in (P, F) else []),
    )


def rows(states: Mapping[str, Sequence[str]], **given: Any) -> list[Outcome]:
    return [
        row(case_id, index, state, **given) for case_id, listed in states.items() for index, state in enumerate(listed)
    ]


def counted(states: Mapping[str, Sequence[str]], cases: Sequence[Case] = (), **given: Any) -> tuple[Suite, Measured]:
    made = tuple(cases) or tuple(Case(id=id_, input="?") for id_ in states)
    suite = Suite(name="checkout", cases=made, max_error_rate=0.1)
    return suite, count_trials(suite, max(map(len, states.values())), rows(states, **given))


def reported(
    states: Mapping[str, Sequence[str]], cases: Sequence[Case] = (), gate: Any = None, **given: Any
) -> tuple[Report, list[Outcome]]:
    """A run's report, and the rows it was made from."""
    suite, measured = counted(states, cases, **given)
    trials = max(map(len, states.values()))
    base = make_run(trials=trials)
    locks = {case.id: CaseLock(case="c", graders="g") for case in suite.cases}
    lock = base.lock.model_copy(update={"cases": locks})
    run = base.model_copy(update={"suite": suite, "lock": lock, "id": "eval-1", "name": "quiet-sparrow-023"})
    report = make_report(run, measured, stopped="", elapsed_s=2.5)
    if gate is not None and may_be_gated(report.verdict, report.summary):
        found = judge_gate(Gate.model_validate(gate), suite, trials, measured, comparison=None, today=TODAY)
        report = decided(report, found)
    return report, rows(states, **given)


def numbers(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every number of a document that is checked, with its place."""
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield place, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in UNCHECKED:
                yield from numbers(inner, f"{place}/{key}" if place else key)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from numbers(inner, f"{place}/{position}")


def changed(report: Report, place: str, value: float) -> Report:
    """The report with a different number at one place."""
    document = report.model_dump(mode="json")
    *way, last = [int(part) if part.isdecimal() else part for part in place.split("/")]
    inner: Any = document
    for part in way:
        inner = inner[part]
    inner[last] = value
    return Report.model_validate(document)


def older(report: Report) -> Report:
    """The report as it was written before cases listed which of their trials have no score or no cost."""
    cases = tuple(replace(case, unscored=0, least_score=None, unpriced=0) for case in report.cases)
    return report.model_copy(update={"cases": cases})


def told_numbers(report: Report) -> dict[str, Any]:
    """Every number that must follow from the trials, by its place; a check without a value decides nothing."""
    checks = enumerate(report.gate.checks if report.gate else ())
    vain = {f"gate/checks/{number}/wanted" for number, check in checks if check.value is None}
    found = numbers(report.model_dump(mode="json", exclude={"slowest"}))
    return {place: value for place, value in found if not place.endswith(BELIEVED) and place not in vain}
