"""Stopping rules: what lets a sequential run stop early. Each is told of trials in the planned order, one by one."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any, TypeAlias

from evalharness.domain.finding import Finding, finding
from evalharness.domain.sequential import SequentialPlan
from evalharness.stats.sequential import Sprt, confidence_sequence, e_value_discordant_pairs
from evalharness.stats.thresholds import SAME

Key: TypeAlias = tuple[str, int]
"""A case and the index of its trial."""


class FloorRule:
    """Wald's test: does the rate asked for explain the trials, or one that is too low? The first decision counts."""

    name = "SPRT"

    def __init__(self, floor: float, effect: float, alpha: float, beta: float) -> None:
        self.test = Sprt(floor, floor - effect, alpha, beta)
        self.met: bool | None = None
        self.ratio = 0.0
        self.why_at_the_cap: Finding | None = None
        self._passed = self._failed = 0

    @property
    def is_over(self) -> bool:
        return self.met is not None

    @property
    def fails(self) -> bool:
        return self.met is False

    def figures(self) -> dict[str, Any]:
        return {"floor_met": self.met, "floor_why": self.why, "log_likelihood_ratio": self.ratio}

    def count(self, passed: bool) -> None:
        if self.is_over:
            return
        self._passed += passed
        self._failed += not passed
        self.ratio = self.test.log_likelihood_ratio(self._passed, self._failed)
        self.met = {"p0": True, "p1": False, "continue": None}[self.test.decision(self._passed, self._failed)]

    def close(self) -> None:
        """No trial is left: what the rule left open, the interval decides, or the count where it falls short."""
        if self.is_over or not (judged := self._passed + self._failed):
            return
        found, floor = confidence_sequence(self._passed, self._failed), self.test.p0
        counts = {"passed": self._passed, "judged": judged, "floor": floor}
        if found.low > floor:
            self.met = True
            self.why_at_the_cap = finding("sequential.cap_above", **counts)
        elif self._passed / judged < floor - SAME:
            self.met = False
            may_be_chance = found.high >= floor
            self.why_at_the_cap = finding("sequential.cap_below", "error", **counts, may_be_chance=may_be_chance)

    @property
    def why(self) -> Finding:
        rates = {"floor": self.test.p0, "too_low": self.test.p1}
        if self.why_at_the_cap is not None:
            return self.why_at_the_cap
        if self.met:
            return finding("sequential.floor_met", **rates)
        if self.met is None:
            return finding("sequential.floor_open", "warning", **rates)
        return finding("sequential.floor_missed", "error", floor=self.test.p0)


class PairRule:
    """Each new trial against one trial of the same case in the baseline: how surely do more get worse than better?"""

    name = "e-process of pairs"

    def __init__(self, plan: SequentialPlan, order: Iterable[Key]) -> None:
        self._limit = 1 / plan.alpha
        self._before = {id_: _shuffled(counts, plan.seed, id_) for id_, counts in plan.baseline.items()}
        self._left = sum(self._has_pair(key) for key in order)
        self.worse = self.better = self.pairs = 0
        self.e_value = 1.0
        self.is_worse: bool | None = None

    @property
    def fails(self) -> bool:
        return self.is_worse is True

    def figures(self) -> dict[str, Any]:
        counted = {name: getattr(self, name) for name in ("is_worse", "pairs", "worse", "better", "e_value")}
        return {"pairs_why": self.why, **counted}

    def _has_pair(self, key: Key) -> bool:
        return key[1] < len(self._before.get(key[0], ()))

    @property
    def is_over(self) -> bool:
        """Decided, or not even losses alone could decide it any more."""
        if self.is_worse is not None or not self._left:
            return True
        return e_value_discordant_pairs(self.worse + self._left, self.better) < self._limit

    def count(self, key: Key, passed: bool | None) -> None:
        """None for a trial that was not judged: its partner is used up all the same."""
        if self.is_worse is not None or not self._has_pair(key):
            return
        self._left -= 1
        if passed is None:
            return
        before = self._before[key[0]][key[1]]
        self.pairs += 1
        self.worse += before and not passed
        self.better += passed and not before
        if before != passed:
            self.e_value = e_value_discordant_pairs(self.worse, self.better)
        if self.e_value >= self._limit:
            self.is_worse = True

    @property
    def why(self) -> Finding:
        counts = {"pairs": self.pairs, "worse": self.worse, "better": self.better}
        return finding("sequential.pairs", "error" if self.is_worse else "info", is_worse=bool(self.is_worse), **counts)


def _shuffled(counts: tuple[int, int], seed: int, case_id: str) -> list[bool]:
    """The baseline's trials of a case in an order that nobody chose."""
    trials, passed = counts
    results = [True] * passed + [False] * (trials - passed)
    Random(f"{seed} {case_id}").shuffle(results)
    return results
