"""Limit checks: what a run may cost and how long its trials may take, as a gate says. Pure.

Below a limit is within it, equal to it is not. What was not measured for every judged trial cannot be judged, unless
what is known is too much already. While grades are outstanding, what was not judged yet leaves a limit open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evalharness.domain.finding import Finding, Severity, finding
from evalharness.domain.gate import Gate, GateCheck
from evalharness.engine.gating.threshold_checks import Counted
from evalharness.engine.measuring.measurements import measure


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
    awaiting = sum(tally.counts["awaiting"] for tally in tallies)
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
