"""Strengths and agreement from rankings: Bradley-Terry and Kendall's W.

Wins are a square table: `wins[i][j]` is how often i came before j; a tie is half a win for both. Strengths exist only
if nobody is unbeaten as a group: else they would be infinite, and the players are not rankable. Online Elo is left out
on purpose: it depends on the order of the games.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist

from evalharness.stats.agreement import percentile_bounds
from evalharness.stats.intervals import upper_probability
from evalharness.stats.thresholds import LEVEL

Wins = Sequence[Sequence[float]]
Tiers = Sequence[Sequence[int]]
"""A ranking: the best first; players in one tier are tied."""

_MOST_ROUNDS = 10_000
_CLOSE = 1e-13


@dataclass(frozen=True, slots=True)
class Strength:
    """A log strength, relative to a mean of 0 over all players, with its interval."""

    value: float
    low: float
    high: float
    standard_error: float


def wins_of(rankings: Sequence[Tiers], players: int) -> list[list[float]]:
    """How often each player came before each other one, over all rankings."""
    wins = [[0.0] * players for _ in range(players)]
    for tiers in rankings:
        for place, tier in enumerate(tiers):
            for player in tier:
                for other in tier:
                    if other != player:
                        wins[player][other] += 0.5
                for lower in tiers[place + 1 :]:
                    for other in lower:
                        wins[player][other] += 1
    return wins


def is_rankable(wins: Wins) -> bool:
    """Whether each player is connected with each other one by a chain of wins, in both directions."""
    size = len(wins)
    if size < 2:
        return False
    beaten = [[j for j in range(size) if wins[i][j]] for i in range(size)]
    beat = [[j for j in range(size) if wins[j][i]] for i in range(size)]
    return len(_reached(beaten)) == len(_reached(beat)) == size


def _reached(neighbours: Sequence[Sequence[int]]) -> set[int]:
    seen, left = {0}, [0]
    while left:
        for other in neighbours[left.pop()]:
            if other not in seen:
                seen.add(other)
                left.append(other)
    return seen


def bradley_terry(wins: Wins, level: float = LEVEL) -> list[Strength] | None:
    """The strengths with intervals from the inverse Fisher information; None if the players are not rankable."""
    if not is_rankable(wins):
        return None
    logs = _log_strengths(wins)
    errors = [math.sqrt(variance) for variance in _variances(wins, logs)]
    z = NormalDist().inv_cdf(upper_probability(level))
    return [
        Strength(value, value - z * error, value + z * error, error) for value, error in zip(logs, errors, strict=True)
    ]


def bootstrapped_strengths(
    rankings: Sequence[Sequence[Tiers]], players: int, *, level: float = LEVEL, resamples: int = 400, seed: int = 0
) -> list[Strength] | None:
    """The same, with intervals from draws of whole prompts: `rankings` has one list per prompt, one ranking per person.

    Rankings of one prompt depend on each other, which the Fisher information does not know. With a single prompt, or
    where most draws cannot be ranked, the intervals of `bradley_terry` are all there is.
    """
    by_prompt = [wins_of(prompt, players) for prompt in rankings]
    whole = bradley_terry(_added(by_prompt, players), level)
    if whole is None or len(rankings) < 2:
        return whole
    random = Random(seed)
    draws = (_added(random.choices(by_prompt, k=len(by_prompt)), players) for _ in range(resamples))
    drawn = [_log_strengths(wins) for wins in draws if is_rankable(wins)]
    if 2 * len(drawn) < resamples:
        return whole
    return [
        Strength(strength.value, *percentile_bounds(sorted(logs), level), strength.standard_error)
        for strength, logs in zip(whole, zip(*drawn, strict=True), strict=True)
    ]


def _added(tables: Sequence[Wins], players: int) -> list[list[float]]:
    return [[math.fsum(table[i][j] for table in tables) for j in range(players)] for i in range(players)]


def kendall_w(rankings: Sequence[Tiers]) -> float | None:
    """Agreement of rankings of the same players: 1 if all are equal, near 0 if they have nothing in common.

    Corrected for ties. None with fewer than two rankings or players, and if every ranking is one big tie.
    """
    ranks = [_ranks(tiers) for tiers in rankings]
    m, n = len(ranks), len(ranks[0]) if ranks else 0
    if m < 2 or n < 2 or any(each.keys() != ranks[0].keys() for each in ranks):
        return None
    sums = [math.fsum(each[player] for each in ranks) for player in ranks[0]]
    mean = math.fsum(sums) / n
    spread = math.fsum((total - mean) ** 2 for total in sums)
    ties = sum(len(tier) ** 3 - len(tier) for tiers in rankings for tier in tiers)
    largest = m * m * (n**3 - n) - m * ties
    return 12 * spread / largest if largest else None


def _ranks(tiers: Tiers) -> dict[int, float]:
    """Tied players share the middle of their ranks."""
    found: dict[int, float] = {}
    for tier in tiers:
        middle = len(found) + (len(tier) + 1) / 2
        found |= dict.fromkeys(tier, middle)
    return found


def _log_strengths(wins: Wins) -> list[float]:
    """Newton's method on the log likelihood, which has one maximum if the players are rankable."""
    size = len(wins)
    logs = [0.0] * size
    total = [math.fsum(row) for row in wins]
    for _ in range(_MOST_ROUNDS):
        expected = [
            math.fsum((wins[i][j] + wins[j][i]) * _beats(logs, i, j) for j in range(size) if j != i)
            for i in range(size)
        ]
        slope = [won - found for won, found in zip(total, expected, strict=True)]
        inverse = _inverse(_information(wins, logs))
        step = [math.fsum(row[j] * slope[j] for j in range(size)) for row in inverse]
        longest = max(map(abs, step))
        shorter = min(1.0, 2.0 / longest) if longest else 1.0
        logs = [value + shorter * change for value, change in zip(logs, step, strict=True)]
        if longest < _CLOSE:
            break
    mean = math.fsum(logs) / size
    return [value - mean for value in logs]


def _beats(logs: Sequence[float], one: int, other: int) -> float:
    return 1 / (1 + math.exp(logs[other] - logs[one]))


def _information(wins: Wins, logs: Sequence[float]) -> list[list[float]]:
    size = len(wins)
    found = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            chance = _beats(logs, i, j)
            weight = (wins[i][j] + wins[j][i]) * chance * (1 - chance)
            found[i][i] += weight
            found[j][j] += weight
            found[i][j] -= weight
            found[j][i] -= weight
    return found


def _variances(wins: Wins, logs: Sequence[float]) -> list[float]:
    inverse = _inverse(_information(wins, logs))
    return [max(0.0, inverse[i][i]) for i in range(len(logs))]


def _inverse(information: list[list[float]]) -> list[list[float]]:
    """The pseudo-inverse: strengths are known up to a constant, which is fixed by their mean of 0.

    Its rows add up to 0, so adding 1/n to every element makes it regular, and 1/n is taken away again.
    """
    size = len(information)
    scale = max(max(map(abs, row)) for row in information) or 1.0
    matrix = [[value / scale + 1 / size for value in row] for row in information]
    identity = [[float(i == j) for j in range(size)] for i in range(size)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        identity[column], identity[pivot] = identity[pivot], identity[column]
        top = matrix[column][column]
        matrix[column] = [value / top for value in matrix[column]]
        identity[column] = [value / top for value in identity[column]]
        for row in range(size):
            factor = matrix[row][column]
            if row != column and factor:
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[column], strict=True)]
                identity[row] = [a - factor * b for a, b in zip(identity[row], identity[column], strict=True)]
    return [[(value - 1 / size) / scale for value in row] for row in identity]
