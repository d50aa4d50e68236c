"""Imaginary agents whose true pass rates are known, task by task, so that intervals and tests can be checked.

The published tables describe them only in words ("Beta mixtures incl. tasks with p = 1", "like gpt-4o/airline").
These are the simplest agents that give the published figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp

import numpy as np
from numpy.typing import NDArray

from evalharness.stats.beta import log_beta

SIZES = (10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Agent:
    """A share `sure` of all tasks always passes; the pass rates of the others follow Beta(a, b)."""

    name: str
    a: float
    b: float
    sure: float = 0.3

    def pass_hat(self, k: int) -> float:
        """The true pass^k: the mean of p^k over tasks."""
        rest = 1.0
        for i in range(k):
            rest *= (self.a + i) / (self.a + self.b + i)
        return self.sure + (1 - self.sure) * rest

    def passes(self, trials: int) -> list[float]:
        """The chance that a task passes 0, 1, … of its trials."""
        law = [
            (1 - self.sure)
            * comb(trials, c)
            * exp(log_beta(self.a + c, self.b + trials - c) - log_beta(self.a, self.b))
            for c in range(trials + 1)
        ]
        law[-1] += self.sure
        return law

    def rates(self, random: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
        return np.where(random.random(shape) < self.sure, 1.0, random.beta(self.a, self.b, shape))


@dataclass(frozen=True, slots=True)
class TwoKinds:
    """A share `failing` of all tasks never passes; the others pass with chance `rate`."""

    failing: float
    rate: float

    @property
    def name(self) -> str:
        rate = f"{self.rate:g}".removeprefix("0")
        return f"{self.failing:.0%} always fail, the rest {rate}" if self.failing else f"all {rate}"

    def pass_hat(self, k: int) -> float:
        return (1 - self.failing) * self.rate**k

    def passes(self, trials: int) -> list[float]:
        law = [
            (1 - self.failing) * comb(trials, c) * self.rate**c * (1 - self.rate) ** (trials - c)
            for c in range(trials + 1)
        ]
        law[0] += self.failing
        return law


Law = Agent | TwoKinds

AGENTS = (
    Agent("mean .50", 1, 2.5),
    Agent("mean .75", 2.25, 1.25),
    Agent("mean .90", 3, 0.5),
    Agent("mean .97", 3.36, 0.14),
)

AIRLINE = Agent("like gpt-4o/airline", 0.606, 0.837, sure=0.0)
"""The Beta law with the mean (.42) and the variance between tasks (.0997) of the 50 published tasks × 4 trials."""

FEW_TASKS_FAIL: tuple[tuple[Law, int, int], ...] = (
    (TwoKinds(0.05, 0.995), 30, 10),
    (TwoKinds(0.03, 0.98), 50, 10),
    (TwoKinds(0.02, 0.99), 100, 10),
    (TwoKinds(0.10, 0.99), 20, 10),
    (TwoKinds(0.10, 0.99), 10, 20),
    (TwoKinds(0.05, 0.95), 30, 10),
    (TwoKinds(0.03, 0.9), 50, 10),
    (TwoKinds(0.05, 0.8), 30, 20),
    (TwoKinds(0.02, 0.95), 50, 4),
    (Agent("Beta(.5, .5)", 0.5, 0.5, sure=0.0), 3, 100),
)
"""Agents, tasks and trials where an interval made of the standard error covers too little."""
SAME_RATE: tuple[tuple[Law, int, int], ...] = (
    (TwoKinds(0.0, 0.9), 20, 4),
    (TwoKinds(0.0, 0.9), 10, 10),
    (TwoKinds(0.0, 0.9), 50, 4),
    (TwoKinds(0.0, 0.99), 30, 10),
    (TwoKinds(0.0, 0.5), 20, 4),
)
"""And where all tasks are alike, which no interval over tasks can take for granted."""
