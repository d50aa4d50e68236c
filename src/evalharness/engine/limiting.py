"""Limiting: what a run may cost and how long its trials may take at most, as a gate says. Pure.

Below a limit is within it, equal to it is not. What was not measured for every judged trial cannot be judged, unless
what is known is too much already. While grades are due, what was not judged yet leaves a limit open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evalharness.domain.gate import Gate, GateCheck
from evalharness.domain.plain_numbers import beside_limit, count
from evalharness.engine.measuring import measure
from evalharness.engine.thresholding import Counted


def limit_checks(gate: Gate, counted: Counted) -> Iterator[GateCheck]:
    """Single trials and medians are those of the cases that count; the whole cost is that of the whole run."""
    tallies = [counted.measured.tallies[case.id] for case in counted.suite.cases]
    judged = [(case.id, tally) for case, tally in zip(counted.suite.cases, tallies, strict=True) if tally.graded]
    awaiting = sum(tally.counts["awaiting"] for tally in tallies)
    if gate.max_cost_usd is not None:
        everything = counted.measured.tallies.values()
        lacking = sum(tally.graded - tally.priced for tally in everything)
        given_up = counted.measured.given_up
        label = f"cost (without {count(given_up, 'trial')} begun and given up)" if given_up else "cost"
        cost = _cost("max_cost_usd", label, counted.measured.cost_usd, gate.max_cost_usd, lacking)
        yield cost if cost.computable or judged else _open(cost, awaiting)
    if gate.max_cost_usd_per_trial is not None:
        dearest, named = _most([(tally.dearest_usd, id_) for id_, tally in judged if tally.priced])
        lacking = sum(tally.graded - tally.priced for _, tally in judged)
        cost = _cost("max_cost_usd_per_trial", f"dearest trial{named}", dearest, gate.max_cost_usd_per_trial, lacking)
        yield cost if cost.passed is False or (judged and not cost.computable) else _open(cost, awaiting)
    if gate.max_latency_s is not None:
        longest, named = _most([(tally.longest_s, id_) for id_, tally in judged])
        time = _time("max_latency_s", f"slowest trial{named}", longest, gate.max_latency_s)
        yield time if time.passed is False else _open(time, awaiting)
    if gate.max_median_latency_s is not None:
        found = measure(counted.suite, counted.trials, counted.measured).get("latency_s")
        value = found.value if found else None
        yield _open(_time("max_median_latency_s", "median latency", value, gate.max_median_latency_s), awaiting)


def _most(cases: Sequence[tuple[float, str]]) -> tuple[float | None, str]:
    """The largest value, and its case in brackets: of several, the one that recommendations name first."""
    value, id_ = min(cases, key=lambda case: (-case[0], case[1]), default=(None, ""))
    return value, f" ({id_})" if id_ else ""


def _open(check: GateCheck, awaiting: int) -> GateCheck:
    """Undecided while grades are due that may decide it."""
    if not awaiting:
        return check
    text = f"{check.text}; {count(awaiting, 'trial')} still to be graded"
    return check.model_copy(update={"passed": None, "computable": True, "text": text})


def _cost(name: str, label: str, value: float | None, limit: float, lacking: int) -> GateCheck:
    if value is None:
        return _unknown(name, label, limit, "no trial said what it cost")
    if lacking and value < limit:
        trials = count(lacking, "judged trial")
        return _unknown(name, label, limit, f"{trials} did not say what {'it' if lacking == 1 else 'they'} cost")
    untold = f" ({count(lacking, 'judged trial')} did not say)" if lacking else ""
    shown, most = beside_limit(value, limit, 4)
    return _check(name, label, value, limit, f"${shown}{untold}", f"${most}")


def _time(name: str, label: str, value: float | None, limit: float) -> GateCheck:
    if value is None:
        return _unknown(name, label, limit, "no trial was judged")
    shown, most = beside_limit(value, limit, 3)
    return _check(name, label, value, limit, f"{shown} s", f"{most} s")


def _check(name: str, label: str, value: float, limit: float, shown: str, most: str) -> GateCheck:
    text = f"{label} {shown}, less than {most} needed"
    is_less = value < limit and not math.isclose(value, limit)  # sums of costs end a last bit below or above
    return GateCheck(name=name, passed=is_less, text=text, value=value, wanted=limit)


def _unknown(name: str, label: str, limit: float, why: str) -> GateCheck:
    text = f"{label} cannot be judged: {why}"
    return GateCheck(name=name, passed=None, text=text, wanted=limit, computable=False)
