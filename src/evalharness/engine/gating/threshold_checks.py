"""Threshold checks: whether measured shares reach what a gate asks for, and whether that is more than chance. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.finding import Finding, Severity, finding
from evalharness.domain.gate import Gate, GateCheck, Minimum
from evalharness.domain.measurement import Measurement
from evalharness.domain.suite import Suite
from evalharness.engine.measuring.measurements import measure, measurement_of, unmeasurable
from evalharness.engine.measuring.trial_counts import Measured
from evalharness.stats.means import weighted_mean
from evalharness.stats.thresholds import reaches

_K = re.compile(r"pass_(at|hat)_(\d+)(_plugin)?")


@dataclass(frozen=True, slots=True)
class Counted:
    """What a gate looks at: `suite` holds the cases that count, `trials` is how many each of them was given."""

    suite: Suite
    trials: int
    measured: Measured

    def narrowed(self, cases: tuple[Case, ...]) -> Counted:
        return Counted(self.suite.model_copy(update={"cases": cases}), self.trials, self.measured)

    def states(self) -> dict[str, str]:
        tallies, threshold = self.measured.tallies, self.suite.case_threshold
        return {case.id: tallies[case.id].state(threshold) for case in self.suite.cases}


def threshold_checks(gate: Gate, counted: Counted) -> Iterator[GateCheck | Finding]:
    """One check for each minimum; a finding for each group that has no case here."""
    for kind, name, minimum in gate.minima():
        cases = _cases_of(counted.suite, kind, name)
        if kind and minimum and not cases:
            yield finding("gate.no_case_of_group", "warning", kind=kind, group=name)
            continue
        yield from _checks(minimum, counted.narrowed(cases), kind, name)


def needed_trials(gate: Gate, suite: Suite) -> dict[str, int]:
    """By metric: how many trials per case it takes to compute it. What no case belongs to asks for nothing."""
    groups = [minimum for kind, name, minimum in gate.minima() if _cases_of(suite, kind, name)]
    names = {metric for minimum in groups for metric in minimum}
    return {name: int(found[2]) for name in sorted(names) if (found := _K.fullmatch(name))}


def _cases_of(suite: Suite, kind: str, name: str) -> tuple[Case, ...]:
    return tuple(case for case in suite.cases if _belongs(case, kind, name, suite))


def _belongs(case: Case, kind: str, name: str, suite: Suite) -> bool:
    if kind == "category":
        return name in (case.category, case.eval_type or suite.eval_type)
    return kind == "" or case.criticality == name


def _checks(minimum: Minimum, counted: Counted, kind: str, group: str) -> Iterator[GateCheck]:
    if not minimum:
        return
    wanted_k = tuple(sorted({int(match[2]) for name in minimum if (match := _K.fullmatch(name))}))
    suite = counted.suite.model_copy(update={"k": wanted_k})
    found = measure(suite, counted.trials, counted.measured)
    if "case_pass_rate" in minimum and (share := _case_pass_rate(counted)) is not None:
        found["case_pass_rate"] = share
    why_not = unmeasurable(suite, counted.trials, counted.measured)
    awaiting = sum(state == "awaiting" for state in counted.states().values())
    for metric, wanted in minimum.items():
        name = f"{metric} {kind} {group}" if kind else metric
        what = {"metric": metric, "kind": kind, "group": group}
        if metric == "score" and metric in found and (open_ := _unsure_score(found[metric], wanted, counted)):
            text = finding(
                "gate.score_uncertain", "error", **what, figure=_figure(found[metric]), **open_, wanted=wanted
            )
            yield GateCheck(name=name, passed=None, text=text, wanted=wanted, computable=False)
        elif metric in found:
            yield _judged(name, what, found[metric], wanted, awaiting)
        elif awaiting and not _is_too_much(metric, counted.trials):
            text = finding("gate.not_graded_yet", "warning", **what, awaiting=awaiting)
            yield GateCheck(name=name, passed=None, text=text, wanted=wanted)
        else:
            why = _why_not(metric, counted.trials, why_not.get(metric))
            text = finding("gate.not_computable", "error", **what, why=why)
            yield GateCheck(name=name, passed=None, text=text, wanted=wanted, computable=False)


def _unsure_score(found: Measurement, wanted: float, counted: Counted) -> dict[str, Any]:
    """Why a score that reaches what is wanted might not: without a verdict of its judge a trial has none."""
    tallies = [(case.weight, counted.measured.tallies[case.id]) for case in counted.suite.cases]
    judged = [(weight, tally) for weight, tally in tallies if weight > 0 and tally.graded]
    lacking = sum(tally.unscored for _, tally in judged)
    worst = weighted_mean([(tally.sure_sum / tally.graded, weight) for weight, tally in judged])
    if not lacking or not reaches(found.value, wanted) or reaches(worst, wanted):
        return {}
    return {"lacking": lacking, "judged": sum(tally.graded for _, tally in judged)}


def _is_too_much(metric: str, trials: int) -> bool:
    found = _K.fullmatch(metric)
    return bool(found and int(found[2]) > trials)


def _why_not(metric: str, trials: int, reason: Finding | None) -> Finding:
    found = _K.fullmatch(metric)
    if found and _is_too_much(metric, trials):
        return finding("measure.too_few_trials", "error", needed=int(found[2]), trials=trials)
    return reason or finding("measure.nothing_judged" if metric != "score" else "measure.nothing_scored", "error")


def _case_pass_rate(counted: Counted) -> Measurement | None:
    """Each case is one observation: it passed or it failed."""
    states = counted.states()
    decided = [(case, float(states[case.id] == "passed")) for case in counted.suite.cases]
    decided = [(case, value) for case, value in decided if states[case.id] in ("passed", "failed")]
    return measurement_of(decided, len(decided), weighted=False) if decided else None


def _judged(name: str, what: dict[str, Any], found: Measurement, wanted: float, awaiting: int) -> GateCheck:
    is_met = reaches(found.value, wanted)
    passed = None if awaiting else is_met
    severity: Severity = "warning" if awaiting else "info" if is_met else "error"
    text = finding("gate.threshold", severity, **what, figure=_figure(found), wanted=wanted, awaiting=awaiting)
    basis = finding(
        "gate.basis",
        low=found.low,
        high=found.high,
        level=found.level,
        method=found.method,
        cases=found.n_cases,
        trials=found.n_trials,
    )
    return GateCheck(name=name, passed=passed, text=text, value=found.value, wanted=wanted, basis=basis)


def _figure(found: Measurement) -> dict[str, Any]:
    return {"value": found.value, "low": found.low, "high": found.high, "level": found.level}
