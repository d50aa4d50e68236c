"""The loss that a comparison says it can show is found about as often as promised, however few figures there are."""

from __future__ import annotations

import math
from random import Random
from statistics import variance

import pytest

from evalharness.domain.gate import RegressionRule
from evalharness.engine.planning.smallest_loss import Figures
from evalharness.stats.sign_flips import sign_flip

ROUNDS = 1500


@pytest.mark.parametrize("number", [5, 6, 7, 8, 10])
def test_the_drop_reported_by_few_figures_is_found_with_the_power_asked_for(number: int) -> None:
    """The size is estimated from the spread of one comparison, and tested in another one of the same kind."""
    rule, random = RegressionRule(), Random(number)

    def drawn(shift: float) -> list[float]:
        return [random.gauss(-shift) for _ in range(number)]

    told = [Figures(number, number, variance(drawn(0.0))).detectable(rule).high or 0 for _ in range(ROUNDS)]
    found = sum(sign_flip(drawn(loss)).p_less <= rule.alpha for loss in told)
    error = math.sqrt(rule.power * (1 - rule.power) / ROUNDS)
    assert rule.power - 3 * error < found / ROUNDS < rule.power + 0.1
