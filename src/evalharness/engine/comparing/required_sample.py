"""Required sample: how much more of the same would decide an inconclusive difference. Pure.

What was found is made larger, by more trials of these cases or by more cases like these, and judged by the very rule
that judged it: so what is said is what that rule would answer if nothing but the size changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalharness.domain.case import observation
from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import Change, Difference
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import RegressionRule
from evalharness.engine.comparing.comparison_verdict import is_hidden, loss_of, verdict_of
from evalharness.engine.comparing.metric_difference import Evidence, metric_differs
from evalharness.engine.comparing.pairs import OldRuns, Pair, weighing
from evalharness.engine.planning.smallest_loss import MOST_TRIALS, fewest
from evalharness.stats.thresholds import SAME, exceeds, reaches

MOST_CASES = 2**13
"""The largest number of cases that is recommended."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A metric whose difference is inconclusive."""

    found: Difference
    evidence: Evidence
    pairs: Sequence[Pair]
    rule: RegressionRule
    runs: OldRuns = ()

    def verdict(self, pairs: Sequence[Pair], times: float) -> Change:
        """By the same rule, whatever the other figures of its family would show; so much larger than it was."""
        evidence = metric_differs(self.found.metric, pairs, self.rule, self.runs, times)
        assert evidence is not None  # what had figures still has them
        difference, p = evidence.difference, evidence.difference.p
        adjusted = None if p is None else min(1.0, p * self.evidence.family)
        return verdict_of(difference.model_copy(update={"p_adjusted": adjusted}), self.rule)

    def lacks(self, decided: Change) -> str | None:
        """What no trial may lack for that: a loss is one whatever they lack; that there is none takes all of them."""
        return self.found.metric if decided != "REGRESSION" and self.found.lacking else None


def required_sample(undecided: Undecided) -> Finding:
    """What would settle it, by construction; or why nothing is known to."""
    found, rule = undecided.found, undecided.rule
    if found.unit == "points":  # more of what weighs nothing settles no rate and no score
        undecided = replace(undecided, pairs=weighing(undecided.pairs))
    loss = loss_of(found)
    if found.incomparable:
        return finding("settle.missing_in_cases", metric=found.metric, in_all_trials=found.lacking > 0)
    if is_hidden(found, rule):
        return finding("settle.missing_in_trials", metric=found.metric)
    if found.metric in ("pass_rate", "critical") and undecided.evidence.smallest_p >= 1 - SAME:
        return finding("settle.nothing_to_lose")
    if loss > SAME and not exceeds(loss, rule.tolerance) and reaches(loss, rule.least_loss):
        return finding("settle.accepted", unit=found.unit, accepted=rule.tolerance, margin=rule.least_loss)
    return _by_trials(undecided) or _by_cases(undecided)


def _by_trials(undecided: Undecided) -> Finding | None:
    """Where each case keeps its share of passes, more trials can only make a loss more certain."""
    found, pairs = undecided.found, undecided.pairs
    if found.metric not in ("pass_rate", "critical") or not exceeds(loss_of(found), undecided.rule.tolerance):
        return None
    if len(pairs) > MOST_CASES:  # it would take longer than the comparison did
        return None
    numbers = {case.trials for pair in pairs for case in pair}
    times = fewest(
        lambda times: times > 1 and undecided.verdict(_with_trials(pairs, times), times) == "REGRESSION",
        MOST_TRIALS // max(numbers),
    )
    if times is None:
        return None
    return finding("settle.more_trials", times=times, now=numbers.pop() if len(numbers) == 1 else None)


def _by_cases(undecided: Undecided) -> Finding:
    pairs = undecided.pairs
    number = len(pairs)

    def verdict(cases: int) -> Change:
        return undecided.verdict(_like(pairs, cases), cases / number)

    # Whole copies first: they alone keep all shares as they are. Then as few of the last copy as lead to the same.
    copies = fewest(lambda copies: copies > 1 and verdict(copies * number) != "INCONCLUSIVE", -(-MOST_CASES // number))
    if copies is None and undecided.evidence.spread is not None:
        return finding("settle.runs_vary", runs=len(undecided.runs))
    if copies is None:
        return finding("settle.too_many_cases", most=max(number, MOST_CASES), now=number)
    decided, whole, now = verdict(copies * number), (copies - 1) * number, _clusters(pairs)
    meaning: dict[str, Any] = {"now": number, "verdict": decided, "lacks": undecided.lacks(decided)}
    if undecided.found.unit != "points":  # as in earlier reports, in which this must stay the same finding
        meaning["unit"] = undecided.found.unit
    if now < number:  # a part of a cluster is not like it
        clusters = {"clusters": copies * now, "clusters_now": now}
        return finding("settle.more_clusters", cases=copies * number, **clusters, **meaning)
    more = fewest(lambda more: more == number or verdict(whole + more) == decided, number)
    return finding("settle.more_cases", cases=whole + (more or number), **meaning)


def _clusters(pairs: Sequence[Pair]) -> int:
    return len({observation(new.case_id, new.cluster) for _, new in pairs})


def _with_trials(pairs: Sequence[Pair], times: int) -> list[Pair]:
    def more(case: CaseResult) -> CaseResult:
        return replace(case, trials=case.trials * times, passed=case.passed * times)

    return [Pair(more(old), more(new)) for old, new in pairs]


def _like(pairs: Sequence[Pair], number: int) -> list[Pair]:
    """So many pairs: each of these as often as any other, but for one copy, and these spread over losses and gains."""
    ordered = sorted(pairs, key=lambda pair: pair.new.passed / pair.new.trials - pair.old.passed / pair.old.trials)
    has_clusters = any(pair.new.cluster for pair in pairs)
    made: list[Pair] = []
    last, copy = -1, 0
    for place in range(number):
        position = place * len(ordered) // number
        last, copy = position, copy + 1 if position == last else 0
        made.append(_copied(ordered[position], copy) if has_clusters else ordered[position])
    return made


def _copied(pair: Pair, copy: int) -> Pair:
    """Cases of one cluster stay together; a copy of the cluster is another one."""
    cluster = f"{pair.new.cluster} {copy}" if pair.new.cluster else ""
    return Pair(pair.old, replace(pair.new, case_id=f"{pair.new.case_id} {copy}", cluster=cluster))
