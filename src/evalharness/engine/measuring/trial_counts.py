"""Trial counts: one pass over a run's finished trials, counted case by case. Pure: rows in, counts out."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.case_line import case_state
from evalharness.domain.exchange import Replayed
from evalharness.domain.grade import VERDICTS, GraderType, Judging, added_up, mean_figures, said_within
from evalharness.domain.report import CaseState, Difference
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import DECISIVE, GRADED, TIME_LIMIT, TRIAL_STATES, Outcome, TrialState
from evalharness.errors import Hint, StoreError, UsageError

SLOWEST = 3
REASONS_FROM = ("failed", "error", "awaiting", "skipped")
NUMBERED_TRIALS = 20
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""What most cases have none of is shared by all of them, and replaced where there is some."""
Number = TypeVar("Number", int, float)
ByType = Mapping[str, tuple[int, int]]


@dataclass(slots=True)
class Reason:
    """Why a trial did not pass, with the numbers, from 1, of the trials that ended in the same state."""

    reason: str
    grader: str = ""
    grader_type: GraderType | Literal[""] = ""
    difference: Difference | None = None
    trials: list[int] = field(default_factory=list)


@dataclass(slots=True)
class CaseTally:
    """One case's trials, counted. Memory grows with cases, not with trials."""

    planned: int
    passed: int = 0
    failed: int = 0
    error: int = 0
    skipped: int = 0
    awaiting: int = 0
    first_graded: int = 0
    first_passed: int = 0
    score_sum: float = 0.0
    scored: int = 0
    unscored: int = 0
    """Judged trials without a score, or whose score lacks what an optional grader should have said."""
    sure_sum: float = 0.0
    """What `score_sum` would be had everything that is missing been worth 0."""
    duration_sum_s: float = 0.0
    longest_s: float = 0.0
    cost_sum_usd: float = 0.0
    priced: int = 0
    dearest_usd: float = 0.0
    figure_sums: Mapping[str, tuple[float, int]] = field(default_factory=lambda: NOTHING)
    """By name of what graders measure beside the score: the sum over judged trials that have it, and their number."""
    unanswered: int = 0
    """Trials that failed without an answer to grade: they count as 0 in every figure."""
    spent_usd: float = 0.0
    """By all of its trials, judged or not."""
    reasons: Mapping[str, Reason] = field(default_factory=lambda: NOTHING)
    """By the state of its trials."""
    by_type: ByType = field(default_factory=lambda: NOTHING)
    """By type of grader: in how many trials it gave its verdict, and in how many of them all passed."""
    failed_kinds: frozenset[str] = frozenset()
    """The kinds of required graders that failed one of its trials."""
    timed_out: bool = False

    def add(self, state: TrialState) -> None:
        setattr(self, state, getattr(self, state) + 1)

    @property
    def counts(self) -> dict[str, int]:
        return {state: getattr(self, state) for state in TRIAL_STATES}

    @property
    def graded(self) -> int:
        return self.passed + self.failed

    @property
    def finished(self) -> int:
        return self.passed + self.failed + self.error + self.skipped + self.awaiting

    @property
    def is_skipped(self) -> bool:
        return self.skipped == self.planned

    @property
    def pending(self) -> int:
        return self.planned - self.finished

    @property
    def reason(self) -> str:
        return self.first_reason.reason

    @property
    def first_reason(self) -> Reason:
        """Why the case did not pass: the first reason of a failed trial, else of one in error, and so on."""
        return next((self.reasons[state] for state in REASONS_FROM if state in self.reasons), Reason(""))

    @property
    def figures(self) -> dict[str, float]:
        """What graders measure beside the score: means over judged trials."""
        return {name: total / max(1, known + self.unanswered) for name, (total, known) in self.figure_sums.items()}

    @property
    def share(self) -> float | None:
        return self.passed / self.graded if self.graded else None

    def state(self, threshold: float) -> CaseState:
        if self.passed == self.planned > 0:  # so are most cases
            return "passed"
        return case_state(self.passed, self.graded, self.error, self.awaiting, self.pending, threshold)


RANKINGS = ("ranking", "ranked")
"""Causes of grades that people give by putting answers in order."""


@dataclass(slots=True)
class Measured:
    """Everything counted in one pass over a run's trials."""

    tallies: dict[str, CaseTally]
    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    judgings: dict[str, Judging] = field(default_factory=dict)
    """What judges took, by model."""
    slowest: list[tuple[float, str, int]] = field(default_factory=list)
    without_score: dict[tuple[str, float | None], tuple[Counter[str], str]] = field(default_factory=dict)
    """By grader, and what counts instead, 0 or nothing: in how many trials of each case it found no score though that
    ends none, and why not in the first."""
    given_up: int = 0
    """Trials of a sequential run that were under way when it was decided: what they cost is not known."""
    capped: int = 0
    """Decided trials of which a grade is outstanding because the spend cap was reached: nobody resumes them."""
    awaited: set[str] = field(default_factory=set)
    """The types of graders whose grades trials wait for."""
    asks_people: bool = False
    """Whether a grade or a ranking by people is outstanding, also where no trial waits for it."""
    replayed: Replayed = field(default_factory=Replayed)
    """What replaying found, in all trials together."""
    missed: list[str] = field(default_factory=list)
    """Why calls had no recorded reply, trial by trial."""


def count_trials(
    suite: Suite,
    trials: int,
    outcomes: Iterable[Outcome],
    figures_of: Callable[[Case], Iterable[str]] | None = None,
) -> Measured:
    """One pass over a run's trials. `figures_of` names what graders of a case measure; by default the suite says it."""
    measured = Measured({case.id: CaseTally(trials) for case in suite.cases})
    took: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for outcome in outcomes:
        _count(measured, outcome)
        if outcome.judging is not None:
            took[outcome.judging] += 1
        if outcome.replayed is not None:
            found[outcome.replayed] += 1
    measured.judgings = {judging.model: judging for judging in _judgings(took)}
    _count_replayed(measured, found)
    measured.slowest.sort(reverse=True)
    for case in suite.cases:
        tally = measured.tallies[case.id]
        if tally.unanswered and not tally.figure_sums:
            names = _declared_figures(suite.graders_for(case)) if figures_of is None else figures_of(case)
            tally.figure_sums = dict.fromkeys(names, (0.0, 0))
    return measured


def _count_replayed(measured: Measured, found: Counter[str]) -> None:
    """Most trials of a run say the same."""
    sums: Counter[str] = Counter()
    for written, times in found.items():
        replayed = Replayed.model_validate_json(written)
        if replayed.missed:
            measured.missed += [replayed.missed] * times
        for name in ("exchanges", "answers", "differing", "unasked"):
            sums[name] += getattr(replayed, name) * times
    measured.replayed = Replayed(**sums)


def _declared_figures(graders: Iterable[GraderSpec]) -> Iterator[str]:
    """What graders measure, even if none of them was asked."""
    for spec in graders:
        try:
            yield from registry.load("grader", spec.kind).figures
            yield from _declared_figures(registry.parse_options("grader", spec).parts)
        except (UsageError, ValidationError):  # of a plug-in that is not installed, or of another version
            continue


def _count(measured: Measured, outcome: Outcome) -> None:
    case_id, index, state, first_state, score, reason, duration_s, cost, tokens_in, tokens_out, grades, *_ = outcome
    tally = measured.tallies.get(case_id)
    if tally is None:
        what = f"trial {index} is of case {case_id}, which its run does not have"
        hint = Hint("hint.other_store", first="restore it from a backup")
        raise StoreError(f"the store is damaged: {what}", hint=hint)
    tally.add(state)
    if first_state in GRADED:
        tally.first_graded += 1
        tally.first_passed += first_state == "passed"
    if state in GRADED:
        tally.duration_sum_s = _sum(tally.duration_sum_s, duration_s)
        tally.longest_s = max(tally.longest_s, duration_s)
        if cost is not None:
            tally.priced += 1
            tally.cost_sum_usd += cost
            tally.dearest_usd = max(tally.dearest_usd, cost)
    measured.given_up += outcome.cause == "given_up"
    tally.spent_usd += cost or 0.0
    if score is None and state == "failed":
        score = 0.0  # no answer is worth nothing: leaving it out would reward a target for crashing
    missing = _count_grades(measured, case_id, state, grades)
    if score is not None:
        tally.score_sum = _sum(tally.score_sum, score)
        tally.sure_sum = _sum(tally.sure_sum, score * (1 - missing) if missing else score)
        tally.scored += 1
    tally.unscored += state in GRADED and (score is None or missing > 0)
    if state != "passed":
        if state not in tally.reasons:
            tally.reasons = {**tally.reasons, state: _reason(state, reason, grades)}
        if len(numbers := tally.reasons[state].trials) < NUMBERED_TRIALS:
            numbers.append(index + 1)
        tally.timed_out |= reason.startswith(TIME_LIMIT)
    measured.cost_usd = _plus(measured.cost_usd, cost)
    measured.input_tokens = _plus(measured.input_tokens, tokens_in)
    measured.output_tokens = _plus(measured.output_tokens, tokens_out)
    push = heapq.heappush if len(measured.slowest) < SLOWEST else heapq.heappushpop
    push(measured.slowest, (duration_s, case_id, index))


def _count_grades(measured: Measured, case_id: str, state: str, grades: str) -> float:
    """Per grader type: in how many trials it gave its verdict, and in how many every verdict was a pass.

    Returns how much of the weight in the trial's score belongs to grades that are missing.
    """
    tally = measured.tallies[case_id]
    verdicts: dict[str, bool] = {}
    reported = missing = 0.0
    is_capped = False
    given = from_json(grades)
    for grade in given:
        if grade.get("score") is not None:
            reported += grade.get("weight", 1.0)
        if grade.get("cause") in RANKINGS:  # no verdict, whatever becomes of it
            measured.asks_people |= grade["cause"] == "ranking"
            measured.awaited |= {"human"} if state == "awaiting" and grade["cause"] == "ranking" else set()
            continue
        lacks, required = _has_no_score(grade), grade.get("required", True)
        if lacks and (not required or grade["state"] == "pass"):
            what = (grade.get("grader", ""), None if grade.get("score") is None else 0.0)
            trials, _ = measured.without_score.setdefault(what, (Counter(), grade.get("reason", "")))
            trials[case_id] += 1
        if lacks and not required:
            missing += grade.get("weight", 1.0) if grade.get("score") is None else 0.0
        elif grade["state"] in VERDICTS and not _is_off(grade):
            kind = grade.get("type", "code")
            verdicts[kind] = verdicts.get(kind, True) and grade["state"] == "pass"
            if grade["state"] == "fail" and required:
                tally.failed_kinds |= {grade.get("kind", "")}
        is_capped |= grade.get("cause") == "spend_cap"
        measured.asks_people |= grade["state"] == "awaiting" and grade.get("type") == "human"
        if grade["state"] == state == "awaiting":
            said = said_within(grade.get("type", "code"), state, grade.get("evidence"))
            measured.awaited |= {type_ for type_, found in said if found == "awaiting"}
    measured.capped += is_capped and state in GRADED
    if state in GRADED:
        tally.unanswered += not given
        for name, value in mean_figures(grade.get("figures", {}) for grade in given).items():
            total, known = tally.figure_sums.get(name, (0.0, 0))
            tally.figure_sums = {**tally.figure_sums, name: (total + value, known + 1)}
    if verdicts:
        tally.by_type = _with_verdicts(tally.by_type, verdicts)
    return missing / (reported + missing) if missing else 0.0


def _with_verdicts(
    by_type: Mapping[str, tuple[int, int]], verdicts: Mapping[str, bool]
) -> Mapping[str, tuple[int, int]]:
    counted = dict(by_type)
    for kind, passed in verdicts.items():
        judged, all_passed = counted.get(kind, (0, 0))
        counted[kind] = (judged + 1, all_passed + passed)
    return _shared(tuple(counted.items()))


@lru_cache(maxsize=1024)
def _shared(counted: tuple[tuple[str, tuple[int, int]], ...]) -> ByType:
    """One mapping for all cases of which the same was counted."""
    return MappingProxyType(dict(counted))


def _reason(state: TrialState, reason: str, grades: str) -> Reason:
    """With the grader that gave it, and what it compared: the first of those that decided the trial."""
    wanted = DECISIVE.get(state)
    decisive = (each for each in from_json(grades) if each["state"] == wanted and each.get("required", True))
    grade = next(decisive, None)
    if grade is None:
        return Reason(reason)
    evidence = grade.get("evidence")
    is_compared = isinstance(evidence, dict) and "expected" in evidence and "actual" in evidence
    difference = Difference(expected=evidence["expected"], actual=evidence["actual"]) if is_compared else None
    return Reason(reason, grade.get("grader", ""), grade.get("type", "code"), difference)


def _judgings(took: Counter[str]) -> tuple[Judging, ...]:
    """What judges took, added up. Many trials took the same: a verdict from the cache, or one of so many tokens."""
    return added_up(
        judging.times(trials)
        for written, trials in took.items()
        for judging in map(Judging.model_validate, from_json(written))
    )


def _is_off(grade: Mapping[str, Any]) -> bool:
    """A scorer that is switched off passes without a score: nobody was asked."""
    return grade["state"] == "pass" and grade.get("score") is None and not grade.get("required", True)


def _has_no_score(grade: Mapping[str, Any]) -> bool:
    """Unscored, still outstanding, or a scorer that raised or found nothing to score, which counts as 0."""
    if grade["state"] in ("unscored", "awaiting"):
        return True
    evidence = grade.get("evidence")
    metadata = evidence.get("metadata") if isinstance(evidence, dict) else None
    return not grade.get("score") and isinstance(metadata, dict) and isinstance(metadata.get("error"), str)


def _sum(total: float, value: float) -> float:
    """The first value itself, which takes no memory of its own: most cases of a large run have one trial."""
    return total + value if total else value


def _plus(total: Number | None, value: Number | None) -> Number | None:
    return total if value is None else value if total is None else total + value
