"""How often the 95 % interval for the difference of two runs contains the true difference, over tasks like these.

If hardly anything fails with one trial each, Student's interval is too narrow; ours is the wider of it and the margin
of equal differences. The published figures are Student's, with that margin only if all differences agree, so only
that one is compared with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from benchmarks.agents import AGENTS, SIZES, Agent
from benchmarks.coverage import Bounds
from benchmarks.findings import Finding, simulated
from benchmarks.options import BenchmarkOptions
from evalharness.stats.paired import paired_difference

DRAWS = 5_000
SEED = 9
CHANGES = (0.0, 0.1)
"""By which share every task's pass rate falls."""
PUBLISHED = (".946", ".995")
FITTING = ("mean .50", "mean .90")
"""The published 32 settings are not named. Those of these two agents are as many and give its range; all 64 do not."""
ON_THE_EDGE = 1e-9


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    shares = {
        f"{agent.name}, {tasks} tasks × {trials}, {fall:.0%} lower": held(agent, tasks, trials, fall, draws)
        for agent in AGENTS
        for tasks in SIZES
        for trials in (1, 4)
        for fall in CHANGES
    }
    ours, students = ({where: pair[side] for where, pair in shares.items()} for side in (0, 1))
    fitting = {where: share for where, share in students.items() if where.startswith(FITTING)}
    yield from _range(f"Student's, {' and '.join(FITTING)}", fitting, draws, PUBLISHED)
    yield from _range("Student's, every agent", students, draws)
    yield from _range("ours, every agent", ours, draws)


def _range(
    whose: str, shares: Mapping[str, float], draws: int, published: tuple[str | None, str | None] = (None, None)
) -> Iterator[Finding]:
    for word, pick, figure in zip(("least", "most"), (min, max), published, strict=True):
        where = pick(shares, key=shares.__getitem__)
        yield simulated(f"{whose}: {word} of {len(shares)} settings ({where})", shares[where], draws, figure)


def held(agent: Agent, tasks: int, trials: int, fall: float, draws: int) -> tuple[float, float]:
    """By our interval, and by Student's."""
    random = np.random.default_rng([SEED, *map(ord, agent.name), tasks, trials, round(100 * fall)])
    rates = agent.rates(random, (draws, tasks))
    changes = random.binomial(trials, rates * (1 - fall)) - random.binomial(trials, rates)
    truth = -fall * agent.pass_hat(1)
    found = [bounds(tuple(np.bincount(row + trials, minlength=2 * trials + 1).tolist())) for row in changes]
    ours, students = (
        sum(low - ON_THE_EDGE <= truth <= high + ON_THE_EDGE for low, high in side) / draws
        for side in zip(*found, strict=True)
    )
    return ours, students


@cache
def bounds(counts: tuple[int, ...]) -> tuple[Bounds, Bounds]:
    """Ours and Student's, for this many tasks with each possible difference, -1, …, 1 in equal steps."""
    trials = len(counts) // 2
    differences = [(step - trials) / trials for step, times in enumerate(counts) for _ in range(times)]
    ours, students = paired_difference(differences), paired_difference(differences, span=math.inf)
    assert ours is not None
    assert students is not None
    return (ours.low, ours.high), (students.low, students.high)
