"""Stopping: when a sequential run has been decided. Pure: finished trials in, a decision out.

Trials are heard in whatever order they finish and counted strictly in the order in which they were planned: if quick
answers counted first, and failures are slow, the rule would see too few failures. A trial in error decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Literal

from evalharness.domain.measurement import Measurement
from evalharness.domain.plain_numbers import count, percent, points
from evalharness.domain.sequential import NOT_NEEDED, SequentialPlan, SequentialResult
from evalharness.domain.trial import GRADED, Outcome
from evalharness.engine.planning import trial_seed
from evalharness.stats.sequential import Sprt, confidence_sequence, e_value_discordant_pairs
from evalharness.stats.thresholds import SAME

FEW = 20
"""Fewer cases than this, tried several times each, say little about others like them."""
Key = tuple[str, int]


def planned_order(case_ids: Iterable[str], trials: int, seed: int) -> list[Key]:
    """Round by round, each round in an order of its own that stays the same whichever other cases there are."""
    ids = sorted(case_ids)
    return [
        (case_id, index)
        for index in range(trials)
        for _, case_id in sorted((trial_seed(seed, f"order {case_id}", index), case_id) for case_id in ids)
    ]


class FloorRule:
    """Wald's test: does the rate asked for explain the trials, or one that is too low? The first decision counts."""

    name = "SPRT"

    def __init__(self, floor: float, effect: float, alpha: float, beta: float) -> None:
        self.test = Sprt(floor, floor - effect, alpha, beta)
        self.met: bool | None = None
        self.ratio = 0.0
        self._passed = self._failed = 0
        self._at_the_end = ""

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
        told = f"all trials are done, {self._passed:,} of {judged:,} passed ({percent(self._passed / judged)})"
        if found.low > floor:
            self.met, self._at_the_end = True, f"{told}, more than the {percent(floor)} asked for"
        elif self._passed / judged < floor - SAME:
            by_chance = "" if found.high < floor else "; with so few trials that may be chance"
            self.met, self._at_the_end = False, f"{told}, fewer than the {percent(floor)} asked for{by_chance}"

    @property
    def why(self) -> str:
        if self._at_the_end:
            return self._at_the_end
        floor, too_low = percent(self.test.p0), percent(self.test.p1)
        if self.met is None:
            return f"the pass rate may be {floor}, and may be {too_low}"
        short = f"{points(self.test.p0 - self.test.p1)} short of the {floor} asked for"
        return f"more than {too_low} pass, so it is not {short}" if self.met else f"fewer than {floor} pass"


class PairRule:
    """Each new trial against one trial of the same case in the baseline: how surely do more get worse than better?"""

    name = "e-process of pairs"

    def __init__(self, plan: SequentialPlan, order: Iterable[Key]) -> None:
        self._limit, self._tolerance = 1 / plan.alpha, plan.tolerance
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
        if self.e_value >= self._limit and (self.worse - self.better) / self.pairs > self._tolerance:
            self.is_worse = True

    @property
    def why(self) -> str:
        turned = f"{self.worse:,} got worse and {self.better:,} better"
        told = f"of {self.pairs:,} trials, each paired with one of the baseline, {turned}"
        return f"worse than the baseline: {told}" if self.is_worse else f"no loss against the baseline is shown: {told}"


class Stopping:
    """The rules of one run, told of its trials one by one."""

    def __init__(self, plan: SequentialPlan, case_ids: Iterable[str], trials: int) -> None:
        self.order = planned_order(case_ids, trials, plan.seed)
        self.is_over = False
        self._plan = plan
        self._floor = FloorRule(plan.floor, plan.effect, plan.alpha, plan.beta) if plan.floor is not None else None
        counting = (key for key in self.order if key[0] not in plan.ignored)
        self._pairs = PairRule(plan, counting) if plan.baseline else None
        self._waiting: dict[Key, tuple[str, str]] = {}
        self._next = 0
        self._passed = self._judged = self._awaiting = 0
        self._cases: set[str] = set()

    def hear(self, case_id: str, index: int, state: str, first_state: str) -> bool:
        """A finished trial; True once nothing more is needed."""
        self._waiting[case_id, index] = (state, first_state)
        while not self.is_over and self._next < len(self.order) and self.order[self._next] in self._waiting:
            key = self.order[self._next]
            self._next += 1
            self._count(key, *self._waiting.pop(key))
        if self._floor and self._next == len(self.order) and not self._awaiting:
            self._floor.close()
        return self.is_over

    def _count(self, key: Key, state: str, first_state: str) -> None:
        """The pass rate follows last answers, comparisons follow first ones, as everywhere."""
        if key[0] in self._plan.ignored:
            return
        self._awaiting += state == "awaiting"
        if state in GRADED:
            self._judged += 1
            self._passed += state == "passed"
            self._cases.add(key[0])
            if self._floor:
                self._floor.count(state == "passed")
        if self._pairs:
            self._pairs.count(key, first_state == "passed" if first_state in GRADED else None)
        self.is_over = self._is_over()

    @property
    def _rules(self) -> list[FloorRule | PairRule]:
        return [rule for rule in (self._floor, self._pairs) if rule is not None]

    def _is_over(self) -> bool:
        return any(rule.fails for rule in self._rules) or all(rule.is_over for rule in self._rules)

    def _decision(self) -> Literal["PASSED", "FAILED", "UNDECIDED"]:
        if any(rule.fails for rule in self._rules):
            return "FAILED"
        return "PASSED" if self._floor and self._floor.met and not self._pairs else "UNDECIDED"

    @property
    def reason(self) -> str:
        """Why the trials that are left are skipped."""
        told = "nothing more could be decided" if self._decision() == "UNDECIDED" else "decided"
        return f"{NOT_NEEDED}{told} after {count(self._judged, 'trial')}"

    def _saved(self, decision: str) -> float:
        """Of the trials that a number fixed before would take. The cap is no measure: it is twice that or so."""
        fixed = self._plan.fixed_n
        return 1 - self._judged / fixed if fixed and decision != "UNDECIDED" else 0.0

    def result(self, not_needed: int = 0) -> SequentialResult:
        decision = self._decision()
        told = [rule for rule in self._rules if rule.fails or decision != "FAILED"]
        figures = {name: value for rule in self._rules for name, value in rule.figures().items()}
        if self._judged:
            interval = confidence_sequence(self._passed, self._judged - self._passed)
            figures |= {"low": interval.low, "high": interval.high, "level": interval.level}
            figures["interval_method"] = f"{interval.method}, {_holding_for(len(self._cases), self._judged)}"
        return SequentialResult(
            **dict(self._plan),
            **figures,
            rule=" and ".join(rule.name for rule in self._rules),
            decision=decision,
            why="; ".join(rule.why for rule in told),
            is_over=self.is_over,
            trials_used=self._judged,
            cap=len(self.order),
            not_needed=not_needed,
            saved=self._saved(decision),
            passed=self._passed,
            cases=len(self._cases),
        )


def follow(plan: SequentialPlan, case_ids: Iterable[str], trials: int, outcomes: Iterable[Outcome]) -> SequentialResult:
    """What the finished trials of a run decide."""
    stopping = Stopping(plan, case_ids, trials)
    not_needed = 0
    for outcome in outcomes:
        stopping.hear(outcome.case_id, outcome.trial_index, outcome.state, outcome.first_state)
        not_needed += is_not_needed(outcome)
    return stopping.result(not_needed)


def is_not_needed(outcome: Outcome) -> bool:
    """Whether a trial of a sequential run was skipped because the run had been decided."""
    return outcome.state == "skipped" and outcome.reason.startswith(NOT_NEEDED)


def measured_sequentially(found: Mapping[str, Measurement], result: SequentialResult) -> dict[str, Measurement]:
    """The measurements of a run that was allowed to stop early.

    The pass rate is that of the trials which counted, with an interval that holds whenever one stops. Intervals for a
    number of trials fixed before, and what needs so many trials of every case, are not told.
    """
    kept = {name: measured for name, measured in found.items() if not name.startswith("pass_")}
    if _only_repeats(found):
        kept.pop("score")
    if "score" in kept:
        kept["score"] = kept["score"].model_copy(update={"low": None, "high": None, "method": "", "n_eff": None})
    if not result.trials_used:
        return kept
    rate = Measurement(
        value=result.passed / result.trials_used,
        low=result.low,
        high=result.high,
        level=result.level,
        method=result.interval_method,
        n_cases=result.cases,
        n_trials=result.trials_used,
    )
    return {"pass_rate": rate, **kept}


def _holding_for(cases: int, trials: int) -> str:
    """What the interval is about: trials are counted one by one, however much those of one case are alike."""
    if cases == 1:
        return "this case only"
    if trials == cases:
        return "for cases like these"
    return "for these cases" if cases >= FEW else "for these few cases only, not for others like them"


def _only_repeats(found: Mapping[str, Measurement]) -> bool:
    """Whether the score says what the pass rate of all finished trials said, which is not told here."""
    return "score" in found and "pass_rate" in found and abs(found["score"].value - found["pass_rate"].value) < SAME


def _shuffled(counts: tuple[int, int], seed: int, case_id: str) -> list[bool]:
    """The baseline's trials of a case in an order that nobody chose."""
    trials, passed = counts
    results = [True] * passed + [False] * (trials - passed)
    Random(f"{seed} {case_id}").shuffle(results)
    return results
