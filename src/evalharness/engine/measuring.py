"""Measuring: from finished trials to a summary with honest intervals. Pure: rows in, numbers out."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic_core import from_json

from evalharness.domain.case import Case
from evalharness.domain.measurement import Measurement
from evalharness.domain.report import CaseState, Failure, Group, SlowTrial, Summary, TrialCounts
from evalharness.domain.suite import Suite
from evalharness.domain.trial import GRADED, TRIAL_STATES, Outcome
from evalharness.stats.intervals import clustered_wilson
from evalharness.stats.means import weighted_mean
from evalharness.stats.pass_k import pass_at_k, pass_hat_k, printed_k
from evalharness.stats.thresholds import reaches

SLOWEST = 3
REASONS_FROM = ("failed", "error", "awaiting", "skipped")
Number = TypeVar("Number", int, float)


@dataclass(slots=True)
class CaseTally:
    """One case's trials, counted. Memory grows with cases, not with trials."""

    planned: int
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TRIAL_STATES, 0))
    first_graded: int = 0
    first_passed: int = 0
    score_sum: float = 0.0
    scored: int = 0
    reasons: dict[str, str] = field(default_factory=dict)
    by_type: dict[str, list[int]] = field(default_factory=dict)

    @property
    def graded(self) -> int:
        return self.counts["passed"] + self.counts["failed"]

    @property
    def is_skipped(self) -> bool:
        return self.counts["skipped"] == self.planned

    @property
    def pending(self) -> int:
        return self.planned - sum(self.counts.values())

    @property
    def reason(self) -> str:
        """Why the case did not pass: the first reason of a failed trial, else of one in error, and so on."""
        return next((self.reasons[state] for state in REASONS_FROM if state in self.reasons), "")

    @property
    def share(self) -> float | None:
        return self.counts["passed"] / self.graded if self.graded else None

    def state(self, threshold: float) -> CaseState:
        if self.pending:
            return "pending"
        if self.counts["awaiting"]:
            return "awaiting"
        if self.share is not None:
            return "passed" if reaches(self.share, threshold) else "failed"
        return "error" if self.counts["error"] else "skipped"


@dataclass(slots=True)
class Measured:
    """Everything counted in one pass over a run's trials."""

    tallies: dict[str, CaseTally]
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    slowest: list[tuple[float, str, int]] = field(default_factory=list)
    without_score: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By grader, of those that are not required: how many trials it could not score, and why not the first of them."""


def count_trials(suite: Suite, trials: int, outcomes: Iterable[Outcome]) -> Measured:
    """One pass over a run's trials."""
    measured = Measured({case.id: CaseTally(trials) for case in suite.cases})
    for outcome in outcomes:
        _count(measured, outcome)
    measured.slowest.sort(reverse=True)
    return measured


def _count(measured: Measured, outcome: Outcome) -> None:
    case_id, index, state, first_state, score, reason, duration_s, cost, tokens_in, tokens_out, grades = outcome
    tally = measured.tallies[case_id]
    tally.counts[state] += 1
    if first_state in GRADED:
        tally.first_graded += 1
        tally.first_passed += first_state == "passed"
    if score is None and state == "failed":
        score = 0.0  # no answer is worth nothing: leaving it out would reward a target for crashing
    if score is not None:
        tally.score_sum += score
        tally.scored += 1
    if state != "passed":
        tally.reasons.setdefault(state, reason)
    _count_grades(measured, tally, grades)
    measured.cost_usd = _plus(measured.cost_usd, cost)
    measured.input_tokens = _plus(measured.input_tokens, tokens_in)
    measured.output_tokens = _plus(measured.output_tokens, tokens_out)
    push = heapq.heappush if len(measured.slowest) < SLOWEST else heapq.heappushpop
    push(measured.slowest, (duration_s, case_id, index))


def _count_grades(measured: Measured, tally: CaseTally, grades: str) -> None:
    """Per grader type: in how many trials it gave its verdict, and in how many every verdict was a pass."""
    verdicts: dict[str, bool] = {}
    for grade in from_json(grades):
        if not grade.get("required", True) and _has_no_score(grade):
            grader = grade.get("grader", "")
            number, first = measured.without_score.get(grader, (0, grade.get("reason", "")))
            measured.without_score[grader] = (number + 1, first)
        elif grade["state"] in ("pass", "fail"):
            kind = grade.get("type", "code")
            verdicts[kind] = verdicts.get(kind, True) and grade["state"] == "pass"
    for kind, passed in verdicts.items():
        counted = tally.by_type.setdefault(kind, [0, 0])
        counted[0] += 1
        counted[1] += passed


def _has_no_score(grade: Mapping[str, Any]) -> bool:
    """Unscored, or a scorer that raised and counts as 0."""
    if grade["state"] == "unscored":
        return True
    evidence = grade.get("evidence")
    metadata = evidence.get("metadata") if isinstance(evidence, dict) else None
    return grade["state"] == "fail" and isinstance(metadata, dict) and "error" in metadata


def _plus(total: Number | None, value: Number | None) -> Number | None:
    return total if value is None else value if total is None else total + value


def summarise(suite: Suite, measured: Measured) -> Summary:
    threshold = suite.case_threshold
    tallies = measured.tallies
    states = {case.id: tallies[case.id].state(threshold) for case in suite.cases}
    number = dict.fromkeys((*TRIAL_STATES, "pending"), 0)
    for state in states.values():
        number[state] += 1
    shares = [tally.share for tally in tallies.values() if tally.share is not None]
    decided = number["passed"] + number["failed"]

    def groups(label: Callable[[Case], str]) -> dict[str, Group]:
        members: dict[str, list[Case]] = {}
        for case in suite.cases:
            if label(case):
                members.setdefault(label(case), []).append(case)
        return {name: _group(cases, states, tallies) for name, cases in sorted(members.items())}

    return Summary(
        total_evals=len(suite.cases),
        passed=number["passed"],
        failed=number["failed"],
        errors=number["error"],
        skipped=number["skipped"],
        awaiting=number["awaiting"],
        pending=number["pending"],
        pass_rate=_mean(shares),
        case_pass_rate=number["passed"] / decided if decided else None,
        by_category=groups(lambda case: case.eval_type or suite.eval_type or case.category),
        by_topic=groups(lambda case: case.category),
        by_grader=_grader_groups(tallies, threshold),
        trials=count_states(tallies),
    )


def count_states(tallies: Mapping[str, CaseTally]) -> TrialCounts:
    totals = {state: sum(tally.counts[state] for tally in tallies.values()) for state in TRIAL_STATES}
    planned = sum(tally.planned for tally in tallies.values())
    return TrialCounts(planned=planned, pending=planned - sum(totals.values()), **totals)


def _group(cases: list[Case], states: Mapping[str, str], tallies: Mapping[str, CaseTally]) -> Group:
    shares = [share for case in cases if (share := tallies[case.id].share) is not None]
    passed = sum(states[case.id] == "passed" for case in cases)
    return Group(total=len(cases), passed=passed, pass_rate=_mean(shares))


def _grader_groups(tallies: Mapping[str, CaseTally], threshold: float) -> dict[str, Group]:
    """A case counts under each type of grader that judged it, and passes there by that type's verdicts alone."""
    shares: dict[str, list[float]] = {}
    for tally in tallies.values():
        for kind, (judged, passed) in tally.by_type.items():
            shares.setdefault(kind, []).append(passed / judged)
    return {
        kind: Group(total=len(values), passed=sum(reaches(v, threshold) for v in values), pass_rate=_mean(values))
        for kind, values in sorted(shares.items())
    }


def measure(suite: Suite, trials: int, measured: Measured) -> dict[str, Measurement]:
    """Pass rate, pass@k and pass^k over cases, the score, each with its interval."""
    graded = [(case, measured.tallies[case.id]) for case in suite.cases if measured.tallies[case.id].graded]
    found = {}
    if graded:
        estimates = [(case, tally.counts["passed"] / tally.graded) for case, tally in graded]
        found["pass_rate"] = _measurement(estimates, sum(tally.graded for _, tally in graded))
    scored = [(case, tally) for case, tally in graded if tally.scored and case.weight > 0]
    if scored:
        scores = [(case, tally.score_sum / tally.scored) for case, tally in scored]
        found["score"] = _measurement(scores, sum(tally.scored for _, tally in scored), weighted=True)
    meant = [(case, measured.tallies[case.id]) for case in suite.cases]
    return found | _measure_k([(case, tally) for case, tally in meant if not tally.is_skipped], trials)


def _measure_k(meant: list[tuple[Case, CaseTally]], trials: int) -> dict[str, Measurement]:
    """Left out where a case has fewer judged trials than k: dropping that case would bias the mean."""
    found = {}
    first = [(case, tally.first_graded, tally.first_passed) for case, tally in meant]
    n_trials = sum(n for _, n, _ in first)
    for k in printed_k(trials):
        for name, estimator in (("pass_at", pass_at_k), ("pass_hat", pass_hat_k)):
            if k == 1 and name == "pass_hat":
                continue  # the same number as pass@1
            values = [(case, estimator(n, c, k)) for case, n, c in first]
            estimates = [(case, value) for case, value in values if value is not None]
            if estimates and len(estimates) == len(values):
                found[f"{name}_{k}"] = _measurement(estimates, n_trials)
    return found


def _measurement(estimates: list[tuple[Case, float]], n_trials: int, *, weighted: bool = False) -> Measurement:
    """Cases that share a `cluster` count as one observation: their mean. Clusters weigh what their cases weigh."""
    clusters: dict[str, list[tuple[float, float]]] = {}
    for case, value in estimates:
        key = f"cluster {case.cluster}" if case.cluster else f"case {case.id}"
        clusters.setdefault(key, []).append((value, case.weight if weighted else 1.0))
    weights = [sum(weight for _, weight in members) for members in clusters.values()]
    values = [weighted_mean(members) for members in clusters.values()]
    even = len(set(weights)) <= 1
    interval = clustered_wilson(values, max(n_trials, len(values)), weights=None if even else weights)
    mean = weighted_mean(zip(values, weights, strict=True))
    return Measurement(
        value=min(1.0, max(0.0, mean)),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        level=interval.level if interval else 0.95,
        method=interval.method if interval else "",
        n_cases=len(estimates),
        n_trials=n_trials,
        n_eff=interval.n_eff if interval else None,
    )


def failures(suite: Suite, measured: Measured) -> list[Failure]:
    """The cases that neither passed nor wait, in the suite's order."""
    return [
        _failure(case, tally, state)
        for case, tally, state in _states(suite, measured)
        if state in ("failed", "error") or (state == "pending" and (tally.counts["failed"] or tally.counts["error"]))
    ]


def unjudged(suite: Suite, measured: Measured) -> list[Failure]:
    """The cases that were skipped or still await a grade, in the suite's order."""
    states = _states(suite, measured)
    return [_failure(case, tally, state) for case, tally, state in states if state in ("skipped", "awaiting")]


def _states(suite: Suite, measured: Measured) -> Iterator[tuple[Case, CaseTally, CaseState]]:
    for case in suite.cases:
        tally = measured.tallies[case.id]
        yield case, tally, tally.state(suite.case_threshold)


def _failure(case: Case, tally: CaseTally, state: CaseState) -> Failure:
    details = {name: count for name, count in tally.counts.items() if count}
    return Failure(eval_id=case.id, name=case.title, state=state, reason=tally.reason, details=details)


def slowest_trials(measured: Measured) -> tuple[SlowTrial, ...]:
    return tuple(SlowTrial(case_id=c, index=i, duration_s=d) for d, c, i in measured.slowest)


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None
