"""Thresholding: whether measured shares reach what a gate asks for, and whether that is more than chance. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from evalharness.domain.case import Case
from evalharness.domain.gate import Gate, GateCheck, Minimum
from evalharness.domain.measurement import Measurement
from evalharness.domain.plain_numbers import count, digits, interval, percent
from evalharness.domain.suite import Suite
from evalharness.engine.measuring import WEIGHTLESS, measure, measurement_of, unmeasurable
from evalharness.engine.tallying import Measured
from evalharness.stats.means import weighted_mean
from evalharness.stats.thresholds import reaches

MOST_DECIMALS = 6
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


def threshold_checks(gate: Gate, counted: Counted) -> Iterator[GateCheck | str]:
    """One check for each minimum; a text for each group that has no case here."""
    for kind, name, minimum in gate.minima():
        cases = _cases_of(counted.suite, kind, name)
        if kind and minimum and not cases:
            yield f"no case of {kind} {name} counts here, so its thresholds were not checked"
            continue
        of = {"category": f" of category {name}", "criticality": f" of {name} cases", "": ""}[kind]
        yield from _checks(minimum, counted.narrowed(cases), f" {kind} {name}" if kind else "", of)


def needed_trials(gate: Gate, suite: Suite) -> dict[str, int]:
    """By metric: how many trials per case it takes to compute it. What no case belongs to asks for nothing."""
    groups = [minimum for kind, name, minimum in gate.minima() if _cases_of(suite, kind, name)]
    names = {metric for minimum in groups for metric in minimum}
    return {name: int(found[2]) for name in sorted(names) if (found := _K.fullmatch(name))}


def metric_label(name: str) -> str:
    """As people write it: `pass^3`."""
    found = _K.fullmatch(name)
    if found is None:
        return {"case_pass_rate": "share of cases passed"}.get(name, name.replace("_", " "))
    return f"pass{'@' if found[1] == 'at' else '^'}{found[2]}{' (plug-in)' if found[3] else ''}"


def _cases_of(suite: Suite, kind: str, name: str) -> tuple[Case, ...]:
    return tuple(case for case in suite.cases if _belongs(case, kind, name, suite))


def _belongs(case: Case, kind: str, name: str, suite: Suite) -> bool:
    if kind == "category":
        return name in (case.category, case.eval_type or suite.eval_type)
    return kind == "" or case.criticality == name


def _checks(minimum: Minimum, counted: Counted, where: str, of: str) -> Iterator[GateCheck]:
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
        name, label = f"{metric}{where}", f"{metric_label(metric)}{of}"
        if metric == "score" and metric in found and (open_ := _unsure_score(found[metric], wanted, counted)):
            text = f"{label} cannot be judged: {open_}"
            yield GateCheck(name=name, passed=None, text=text, wanted=wanted, computable=False)
        elif metric in found:
            yield _judged(name, label, found[metric], wanted, awaiting)
        elif awaiting and not _is_too_much(metric, counted.trials):
            text = f"{label} cannot be told yet: {count(awaiting, 'case')} still to be graded"
            yield GateCheck(name=name, passed=None, text=text, wanted=wanted)
        else:
            text = f"{label} cannot be computed: {_why_not(metric, counted.trials, why_not.get(metric, ''))}"
            yield GateCheck(name=name, passed=None, text=text, wanted=wanted, computable=False)


def _unsure_score(found: Measurement, wanted: float, counted: Counted) -> str:
    """Why a score that reaches what is wanted might not: without a verdict of its judge a trial has none."""
    tallies = [(case.weight, counted.measured.tallies[case.id]) for case in counted.suite.cases]
    judged = [(weight, tally) for weight, tally in tallies if weight > 0 and tally.graded]
    lacking = sum(tally.unscored for _, tally in judged)
    worst = weighted_mean([(tally.sure_sum / tally.graded, weight) for weight, tally in judged])
    if not lacking or not reaches(found.value, wanted) or reaches(worst, wanted):
        return ""
    of_all = f"{lacking:,} of {count(sum(tally.graded for _, tally in judged), 'judged trial')}"
    lack = "has no score, or lacks a grade in it" if lacking == 1 else "have no score, or lack a grade in it"
    return f"{_told_apart(found, wanted)} of what was scored, but {of_all} {lack}"


def _is_too_much(metric: str, trials: int) -> bool:
    found = _K.fullmatch(metric)
    return bool(found and int(found[2]) > trials)


def _why_not(metric: str, trials: int, reason: str) -> str:
    found = _K.fullmatch(metric)
    if found and _is_too_much(metric, trials):
        return f"it needs {found[2]} trials of each case, and there are {trials}; run with --repeat {found[2]}"
    if reason == WEIGHTLESS:
        return reason
    if reason:
        return f"{reason}; resume the run to try again what ended in error"
    return "no trial was judged" if metric != "score" else "nothing was scored"


def _case_pass_rate(counted: Counted) -> Measurement | None:
    """Each case is one observation: it passed or it failed."""
    states = counted.states()
    decided = [(case, float(states[case.id] == "passed")) for case in counted.suite.cases]
    decided = [(case, value) for case, value in decided if states[case.id] in ("passed", "failed")]
    return measurement_of(decided, len(decided), weighted=False) if decided else None


def _judged(name: str, label: str, found: Measurement, wanted: float, awaiting: int) -> GateCheck:
    is_met = reaches(found.value, wanted)
    text = f"{label} {_told_apart(found, wanted)}, {_exact(wanted)} % needed{_by_chance(found, wanted, is_met)}"
    if awaiting:
        text += f"; {count(awaiting, 'case')} still to be graded"
    passed = None if awaiting else is_met
    return GateCheck(name=name, passed=passed, text=text, value=found.value, wanted=wanted, basis=_basis(found))


def _basis(found: Measurement) -> str:
    parts = [count(found.n_cases, "case"), count(found.n_trials, "trial")]
    if found.low is not None and found.high is not None:
        parts.insert(0, f"{_exact(found.level)} % interval {interval(found.low, found.high)}, {found.method}")
    return ", ".join(parts)


def _by_chance(found: Measurement, wanted: float, is_met: bool) -> str:
    """What a reader must know who would take a narrow result for a certain one."""
    if found.low is None or found.high is None or not found.low < wanted <= found.high:
        return ""
    includes = "reaches below that" if is_met else "includes that"
    told = f"{_exact(found.level)} % interval {_interval_around(found.low, found.high, wanted)}"
    return f"; the {told} {includes}, so this may be chance"


def _told_apart(found: Measurement, wanted: float) -> str:
    """With as many decimals as it takes to see on which side of what is needed the value lies."""
    decimals = digits(found.half_width)
    is_met = reaches(found.value, wanted)
    while decimals < MOST_DECIMALS and (round(100 * found.value, decimals) >= 100 * wanted) != is_met:
        decimals += 1
    return percent(found.value, decimals)


def _interval_around(low: float, high: float, wanted: float) -> str:
    """The same for an interval that holds what is needed."""
    decimals = digits((high - low) / 2)
    while decimals < MOST_DECIMALS and not round(100 * low, decimals) < 100 * wanted <= round(100 * high, decimals):
        decimals += 1
    return interval(low, high, decimals)


def _exact(share: float) -> str:
    return f"{100 * share:.10g}"
