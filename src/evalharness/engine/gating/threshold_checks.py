"""Threshold checks: whether measured figures reach what a gate asks for, and stay within its limits. Pure.

Below a limit is within it, equal to it is not. What was not measured for every graded trial cannot be checked, unless
what is known is already too much. While grades are outstanding, what is not graded yet leaves a limit open.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.finding import Finding, Severity, finding
from evalharness.domain.gate import Gate, GateCheck, Minimum
from evalharness.domain.measurement import RETRIEVAL_FIGURES, Measurement
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
    if metric in RETRIEVAL_FIGURES:
        return reason or finding("measure.nothing_retrieved", "error")
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


@dataclass(frozen=True, slots=True)
class _Limit:
    """`name` is its key in the gate; `case` has the trial that comes nearest to it, or goes furthest beyond."""

    name: str
    most: float
    case: str = ""
    given_up: int = 0
    """Trials whose cost is not known."""

    @property
    def params(self) -> dict[str, Any]:
        return {"limit": self.name, "case": self.case, "given_up": self.given_up}


def limit_checks(gate: Gate, counted: Counted) -> Iterator[GateCheck]:
    """Single trials and medians are those of the cases that count; the whole cost is that of the whole run."""
    tallies = [counted.measured.tallies[case.id] for case in counted.suite.cases]
    judged = [(case.id, tally) for case, tally in zip(counted.suite.cases, tallies, strict=True) if tally.graded]
    awaiting = sum(tally.awaiting for tally in tallies)
    if gate.max_cost_usd is not None:
        everything = counted.measured.tallies.values()
        lacking = sum(tally.graded - tally.priced for tally in everything)
        limit = _Limit("max_cost_usd", gate.max_cost_usd, given_up=counted.measured.given_up)
        cost = _cost(limit, counted.measured.cost_usd, lacking)
        yield cost if cost.computable or judged else _open(cost, awaiting)
    if gate.max_cost_usd_per_trial is not None:
        dearest, case = _most([(tally.dearest_usd, id_) for id_, tally in judged if tally.priced])
        lacking = sum(tally.graded - tally.priced for _, tally in judged)
        cost = _cost(_Limit("max_cost_usd_per_trial", gate.max_cost_usd_per_trial, case), dearest, lacking)
        yield cost if cost.passed is False or (judged and not cost.computable) else _open(cost, awaiting)
    if gate.max_latency_s is not None:
        longest, case = _most([(tally.longest_s, id_) for id_, tally in judged])
        time = _time(_Limit("max_latency_s", gate.max_latency_s, case), longest)
        yield time if time.passed is False else _open(time, awaiting)
    if gate.max_median_latency_s is not None:
        found = measure(counted.suite, counted.trials, counted.measured).get("latency_s")
        limit = _Limit("max_median_latency_s", gate.max_median_latency_s)
        yield _open(_time(limit, found.value if found else None), awaiting)


def _most(cases: Sequence[tuple[float, str]]) -> tuple[float | None, str]:
    """The largest value, and its case: of several, the one that recommendations name first."""
    return min(cases, key=lambda case: (-case[0], case[1]), default=(None, ""))


def _open(check: GateCheck, awaiting: int) -> GateCheck:
    """Undecided while grades are outstanding that may decide it."""
    if not awaiting:
        return check
    text = finding("gate.limit_open", "warning", found=check.text, awaiting=awaiting)
    return check.model_copy(update={"passed": None, "computable": True, "text": text})


def _cost(limit: _Limit, value: float | None, lacking: int) -> GateCheck:
    if value is None:
        return _unknown(limit, finding("limit.no_cost_reported", "error"))
    if lacking and value < limit.most:
        return _unknown(limit, finding("limit.costs_missing", "error", trials=lacking))
    return _check(limit, value, lacking)


def _time(limit: _Limit, value: float | None) -> GateCheck:
    return _unknown(limit, finding("measure.nothing_judged", "error")) if value is None else _check(limit, value)


def _check(limit: _Limit, value: float, lacking: int = 0) -> GateCheck:
    is_less = value < limit.most and not math.isclose(value, limit.most)  # sums of costs end a last bit below or above
    severity: Severity = "info" if is_less else "error"
    text = finding("gate.limit", severity, **limit.params, value=value, most=limit.most, lacking=lacking)
    return GateCheck(name=limit.name, passed=is_less, text=text, value=value, wanted=limit.most)


def _unknown(limit: _Limit, why: Finding) -> GateCheck:
    text = finding("gate.limit_unknown", "error", **limit.params, why=why)
    return GateCheck(name=limit.name, passed=None, text=text, wanted=limit.most, computable=False)
