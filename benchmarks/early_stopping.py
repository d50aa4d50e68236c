"""How many trials early stopping saves, how often it is wrong, and what peeking at a p-value does: all exact.

Every path of passes and fails is followed at once: after each trial, how likely is every count that has not stopped?
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise

from benchmarks.findings import REFERENCE_DRAWS, Finding, against_simulation
from benchmarks.options import BenchmarkOptions
from evalharness.stats.beta import regularised_beta
from evalharness.stats.paired import mcnemar_exact
from evalharness.stats.sequential import Sprt, e_value_discordant_pairs, e_value_floor, fixed_design

ALPHA = 0.05
CAP = 200
LONG_ENOUGH = 1_000
"""So long that hardly any path of the uncapped test is still going."""
SPRT = Sprt(p0=0.9, p1=0.8, alpha=ALPHA, beta=0.2)
MEAN_TRIALS = {0.95: ("21", "41"), 0.9: ("39", "103"), 0.85: ("61", "165"), 0.8: ("49", "119"), 0.7: ("24", "51"),
               0.5: ("11", "20")}  # fmt: skip
FLOOR_MEANS = {0.8: "95", 0.7: "27", 0.5: "8"}
PAIR_MEANS = {(0.9, 0.7): "59", (0.9, 0.5): "22"}


@dataclass(frozen=True, slots=True)
class Stops:
    """`chances[n]`: that it stops after n trials, including the cap. `alarm`: that it stops because of "too low"."""

    chances: list[float]
    alarm: float

    @property
    def mean(self) -> float:
        return math.fsum(n * chance for n, chance in enumerate(self.chances))

    @property
    def mean_error(self) -> float:
        """The standard error of the mean in a simulation of the published size."""
        mean = self.mean
        squares = math.fsum((n - mean) ** 2 * chance for n, chance in enumerate(self.chances))
        return math.sqrt(squares / REFERENCE_DRAWS)

    def quantile(self, share: float) -> int:
        return next(n for n, reached in enumerate(accumulate(self.chances)) if reached >= share - 1e-12)

    def quantile_error(self, share: float) -> float:
        error = math.sqrt(share * (1 - share) / REFERENCE_DRAWS)
        return max(0.5, (self.quantile(share + error) - self.quantile(share - error)) / 2)


def measure(options: BenchmarkOptions) -> Iterator[Finding]:  # noqa: ARG001
    yield Finding("fixed design for .9 against .8: trials", fixed_design(0.9, 0.8).trials, "78")
    yield Finding("fixed design for .9 against .8: too low at", fixed_design(0.9, 0.8).too_low_at, "65")
    yield from _sprt()
    yield from _floor()
    yield from _pairs()


def _sprt() -> Iterator[Finding]:
    for rate, (mean, most) in MEAN_TRIALS.items():
        stops = stopping(rate, SPRT.decision, LONG_ENOUGH)
        yield Finding(f"SPRT, true rate {rate}: mean trials", stops.mean, mean, 0.0, stops.mean_error)
        what = f"SPRT, true rate {rate}: 95 % stop by"
        yield Finding(what, stops.quantile(0.95), most, 0.0, stops.quantile_error(0.95))
        if rate == SPRT.p0:
            yield against_simulation(f"SPRT, true rate {rate}: false alarms", stops.alarm, ".039")


def _floor() -> Iterator[Finding]:
    @cache
    def decide(passes: int, fails: int) -> str:
        return "p1" if e_value_floor(passes, fails, 0.9) >= 1 / ALPHA else "continue"

    for rate, mean in FLOOR_MEANS.items():
        stops = stopping(rate, decide, CAP)
        what = f"e-process for a floor of .9, true rate {rate}: mean trials, at most {CAP}"
        yield Finding(what, stops.mean, mean, 0.0, stops.mean_error)
        if rate == 0.8:
            yield against_simulation(f"e-process for a floor of .9, true rate {rate}: power", stops.alarm, ".87")
    alarm = stopping(0.9, decide, CAP).alarm
    yield against_simulation("e-process for a floor of .9, true rate 0.9: false alarms", alarm, ".028")


def _pairs() -> Iterator[Finding]:
    @cache
    def by_e_value(worse: int, better: int) -> bool:
        return e_value_discordant_pairs(worse, better) >= 1 / ALPHA

    @cache
    def fewest_worse(pairs: int) -> int:
        """How many disagreeing pairs there must be for p to fall to the level."""
        return bisect_left(range(pairs + 1), -ALPHA, key=lambda worse: -mcnemar_exact(worse, pairs - worse).p_less)

    def by_peeking(worse: int, better: int) -> bool:
        return worse >= fewest_worse(worse + better)

    for (old, new), mean in PAIR_MEANS.items():
        stops = stopping_of_pairs(old, new, by_e_value)
        what = f"e-process on pairs, {old} → {new}: mean pairs, at most {CAP}"
        yield Finding(what, stops.mean, mean, 0.0, stops.mean_error)
        if new == 0.7:
            yield against_simulation(f"e-process on pairs, {old} → {new}: power", stops.alarm, ".99")
    alarm = stopping_of_pairs(0.9, 0.9, by_e_value).alarm
    yield against_simulation("e-process on pairs, .9 → .9: false alarms", alarm, ".020")
    # The published range does not name its rates; these two are closest to its ends.
    for rate, published in ((0.9, ".135"), (0.8, ".181")):
        alarm = stopping_of_pairs(rate, rate, by_peeking).alarm
        yield against_simulation(f"looking at McNemar's p after every pair, {rate} → {rate}: alarms", alarm, published)


def stopping(rate: float, decide: Callable[[int, int], str], cap: int) -> Stops:
    """`decide(passes, fails)` returns "continue", "p1" (too low) or anything else (good enough)."""
    going, chances, alarm = {0: 1.0}, [0.0], 0.0
    for trials in range(1, cap + 1):
        reached: dict[int, float] = {}
        for passes, chance in going.items():
            reached[passes + 1] = reached.get(passes + 1, 0.0) + chance * rate
            reached[passes] = reached.get(passes, 0.0) + chance * (1 - rate)
        decided = {passes: decide(passes, trials - passes) for passes in reached}
        going = {passes: chance for passes, chance in reached.items() if decided[passes] == "continue"}
        alarm += math.fsum(chance for passes, chance in reached.items() if decided[passes] == "p1")
        chances.append(math.fsum(reached.values()) - math.fsum(going.values()))
    chances[-1] += math.fsum(going.values())
    return Stops(chances, alarm)


def stopping_of_pairs(old: float, new: float, stops: Callable[[int, int], bool]) -> Stops:
    """Only disagreeing pairs can stop it: first in their number, then in the number of pairs drawn for them."""
    worse, better = old * (1 - new), (1 - old) * new
    share = worse + better
    if_disagreeing = stopping(
        1 - worse / share, lambda better, worse: "p1" if stops(worse, better) else "continue", CAP
    )
    # Paths that reach the cap did not stop; their chance does not count as an alarm.
    at = list(if_disagreeing.chances)
    at[-1] -= 1 - if_disagreeing.alarm
    stopped = [
        math.fsum(chance * regularised_beta(share, needed, pairs - needed + 1)
                  for needed, chance in enumerate(at[: pairs + 1]) if needed and chance)
        for pairs in range(CAP + 1)
    ]  # fmt: skip
    chances = [0.0] + [now - before for before, now in pairwise(stopped)]
    chances[-1] += 1 - stopped[-1]
    return Stops(chances, stopped[-1])
