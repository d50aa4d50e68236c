"""Sequential decision: when a sequential run has been decided. Pure: finished trials in, a decision out.

Trials are heard in whatever order they finish and counted strictly in the order in which they were planned: if quick
answers counted first, and failures are slow, the rule would see too few failures. A trial in error decides nothing;
one that awaits its grade may decide anything, so nothing after it counts yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Literal, TypeAlias

from evalharness.domain.finding import Finding, finding, joined
from evalharness.domain.measurement import Measurement
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import ErrorBounds
from evalharness.domain.sequential import SequentialPlan, SequentialResult
from evalharness.domain.trial import GRADED, Outcome
from evalharness.engine.planning.planned_cases import trial_seed
from evalharness.stats.sequential import Sprt, confidence_sequence, e_value_discordant_pairs
from evalharness.stats.thresholds import SAME

FEW = 20
"""Fewer cases than this, tried several times each, say little about others like them."""


def planned_order(case_ids: Iterable[str], trials: int, seed: int) -> list[Key]:
    """Round by round, each round in an order of its own that stays the same whichever other cases there are."""
    ids = sorted(case_ids)
    return [
        (case_id, index)
        for index in range(trials)
        for _, case_id in sorted((trial_seed(seed, f"order {case_id}", index), case_id) for case_id in ids)
    ]


class Stopping:
    """The rules of one run, which get its trials one by one."""

    def __init__(self, plan: SequentialPlan, case_ids: Iterable[str], trials: int) -> None:
        self.order = planned_order(case_ids, trials, plan.seed)
        self.is_over = False
        self._plan = plan
        self._floor = FloorRule(plan.floor, plan.effect, plan.alpha, plan.beta) if plan.floor is not None else None
        counting = (key for key in self.order if key[0] not in plan.ignored)
        self._pairs = PairRule(plan, counting) if plan.baseline else None
        self._waiting: dict[Key, tuple[str, str]] = {}
        self._next = 0
        self._run = self._passed = self._judged = self._errors = 0
        self._cases: set[str] = set()

    def hear(self, case_id: str, index: int, state: str, first_state: str) -> bool:
        """A finished trial; True once nothing more is needed."""
        self._waiting[case_id, index] = (state, first_state)
        self._run += state != "skipped"
        while not self.is_over and (key := self._next_heard) and not self._is_due(key):
            self._next += 1
            self._count(key, *self._waiting.pop(key))
        if self._floor and self._next == len(self.order):
            self._floor.close()
        return self.is_over

    @property
    def _next_heard(self) -> Key | None:
        """The trial whose turn it is, once it has been heard."""
        key = self.order[self._next] if self._next < len(self.order) else None
        return key if key in self._waiting else None

    def _is_due(self, key: Key) -> bool:
        """Whether its grade is still to come, and will count."""
        return self._waiting[key][0] == "awaiting" and key[0] not in self._plan.ignored

    def _count(self, key: Key, state: str, first_state: str) -> None:
        """The pass rate follows last answers, comparisons follow first ones, as everywhere."""
        if key[0] in self._plan.ignored:
            return
        self._errors += state == "error"
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
        text = "nothing more could be decided" if self._decision() == "UNDECIDED" else "decided"
        return f"{text} after {count(self._judged, 'trial')}"

    def result(self, not_needed: int = 0, given_up: int = 0) -> SequentialResult:
        decision = self._decision()
        parts = [rule for rule in self._rules if rule.fails or decision != "FAILED"]
        why = [rule.why for rule in parts]
        if not self.is_over and (due := self._next_heard):
            why.append(finding("sequential.awaits_grade", "warning", case=due[0]))
        at_the_cap = bool(self._floor and self._floor in parts and self._floor.why_at_the_cap)
        is_by_rule = decision != "UNDECIDED" and not at_the_cap
        fixed = self._plan.fixed_n  # the cap would be no measure of what was saved: it is twice that or so
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
            why=joined(why),
            is_over=self.is_over,
            trials_used=self._judged,
            cap=len(self.order),
            errors=self._errors,
            trials_run=self._run,
            given_up=given_up,
            not_needed=not_needed,
            at_the_cap=at_the_cap,
            saved=1 - (self._run + given_up) / fixed if fixed and is_by_rule else 0.0,
            passed=self._passed,
            cases=len(self._cases),
        )


def follow(plan: SequentialPlan, case_ids: Iterable[str], trials: int, outcomes: Iterable[Outcome]) -> SequentialResult:
    """What the finished trials of a run decide."""
    stopping = Stopping(plan, case_ids, trials)
    not_needed = given_up = 0
    for outcome in outcomes:
        stopping.hear(outcome.case_id, outcome.trial_index, outcome.state, outcome.first_state)
        not_needed += outcome.is_not_needed
        given_up += outcome.cause == "given_up"
    return stopping.result(not_needed, given_up)


def error_bounds_of(result: SequentialResult) -> ErrorBounds | None:
    """How far errors could have moved the pass rate of the trials that counted; None where there were none."""
    whole = result.trials_used + result.errors
    if not result.errors:
        return None
    return ErrorBounds(
        trials=result.errors,
        pass_rate_if_failed=result.passed / whole,
        pass_rate_if_passed=(result.passed + result.errors) / whole,
    )


def measured_sequentially(found: Mapping[str, Measurement], result: SequentialResult) -> dict[str, Measurement]:
    """The measurements of a run that was allowed to stop early.

    The pass rate is that of the trials which counted, with an interval that holds whenever one stops. Intervals for a
    number of trials fixed before, and what needs so many trials of every case, are not reported.
    """
    kept = {name: measured for name, measured in found.items() if not name.startswith("pass_")}
    if _only_repeats(found):
        kept.pop("score")
    for name in kept.keys() - {"latency_s", "cost_usd"}:
        kept[name] = kept[name].model_copy(update={"low": None, "high": None, "method": "", "n_eff": None})
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
        n_eff=float(result.trials_used),  # trials are counted one by one, whichever case they are of
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
    """Whether the score says what the pass rate of all finished trials said, which is not reported here."""
    return "score" in found and "pass_rate" in found and abs(found["score"].value - found["pass_rate"].value) < SAME


# Stopping rules: what lets a sequential run stop early. Each is told of trials in the planned order, one by one.

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
