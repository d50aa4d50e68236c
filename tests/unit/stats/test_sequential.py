from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.intervals import wilson
from evalharness.stats.sequential import (
    FixedDesign,
    Sprt,
    confidence_sequence,
    e_value_discordant_pairs,
    e_value_floor,
    fixed_design,
)

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["e_value_discordant_pairs"], ids=str)
def test_pairs_reference(vector: dict[str, Any]) -> None:
    assert e_value_discordant_pairs(vector["b"], vector["c"]) == pytest.approx(vector["want"], rel=1e-12)


@pytest.mark.parametrize("vector", VECTORS["e_value_floor"], ids=str)
def test_floor_reference(vector: dict[str, Any]) -> None:
    assert e_value_floor(vector["s"], vector["f"], vector["p0"]) == pytest.approx(vector["want"], rel=1e-12)


def test_seven_losses_in_a_row_are_enough_and_six_are_not() -> None:
    assert e_value_discordant_pairs(6, 0) < 1 / 0.05 <= e_value_discordant_pairs(7, 0)


def test_large_counts_neither_overflow_nor_vanish() -> None:
    assert e_value_discordant_pairs(2_000_000, 1_000_000) == sys.float_info.max
    assert e_value_floor(1_000, 1_000_000, 0.9) == sys.float_info.max
    # All chances from ½ to 1 explain the wins badly, ½ the least badly: about 1 / (wins - losses).
    assert e_value_discordant_pairs(1_000_000, 2_000_000) == pytest.approx(1e-6, rel=1e-4)
    # At a tie the mixture is half a bell of height 1 and deviation 1/√(8n), doubled as the chances span ½ only.
    assert e_value_discordant_pairs(10**6, 10**6) == pytest.approx(math.sqrt(2 * math.pi / 8e6), rel=1e-4)


def test_a_kept_floor_gives_no_evidence() -> None:
    assert e_value_floor(0, 0, 0.9) == pytest.approx(1.0)
    assert e_value_floor(900_000, 100_000, 0.9) < 1e-3


@pytest.mark.parametrize("p0", [0.0, 1.0, math.nan])
def test_a_floor_is_between_0_and_1(p0: float) -> None:
    with pytest.raises(UsageError):
        e_value_floor(1, 1, p0)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(UsageError):
        e_value_discordant_pairs(-1, 0)
    with pytest.raises(UsageError):
        e_value_floor(1, -1, 0.9)
    with pytest.raises(UsageError):
        confidence_sequence(-1, 1)
    with pytest.raises(UsageError):
        Sprt(0.9, 0.8).decision(-1, 0)


@pytest.mark.parametrize(("s", "f", "want"), [(45, 5, (0.7123, 0.9843)), (270, 30, (0.8287, 0.9498))])
def test_confidence_sequence_reference(s: int, f: int, want: tuple[float, float]) -> None:
    found = confidence_sequence(s, f)
    assert (found.low, found.high) == pytest.approx(want, abs=5e-5)
    fixed = wilson(s, s + f)
    assert 1.55 < (found.high - found.low) / (fixed.high - fixed.low) < 1.85


def test_a_confidence_sequence_starts_with_everything_and_never_closes() -> None:
    assert (confidence_sequence(0, 0).low, confidence_sequence(0, 0).high) == (0.0, 1.0)
    # Without a fail the ends solve p^s = 0.05 / (s + 1).
    assert confidence_sequence(10, 0).low == pytest.approx((0.05 / 11) ** 0.1, rel=1e-12)
    assert confidence_sequence(10, 0).high == 1.0
    assert confidence_sequence(0, 10).low == 0.0
    assert 0.99 < confidence_sequence(10**6, 0).low < 1.0


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_a_confidence_sequence_refuses_what_is_not_a_level(level: float) -> None:
    with pytest.raises(UsageError):
        confidence_sequence(1, 1, level)


def test_sprt_reference() -> None:
    test = Sprt(0.9, 0.8, alpha=0.05, beta=0.2)
    assert test.upper == pytest.approx(math.log(0.8 / 0.05), rel=1e-15)
    assert test.lower == pytest.approx(math.log(0.2 / 0.95), rel=1e-15)
    assert test.log_likelihood_ratio(10, 3) == pytest.approx(10 * math.log(8 / 9) + 3 * math.log(2), rel=1e-14)


def test_sprt_decides_at_its_bounds() -> None:
    test = Sprt(0.9, 0.8)
    assert test.decision(0, 0) == "continue"
    # Each pass counts -0.1178 towards -1.558, each fail 0.6931 towards 2.773.
    assert [test.decision(13, 0), test.decision(14, 0)] == ["continue", "p0"]
    assert [test.decision(0, 3), test.decision(0, 4)] == ["continue", "p1"]
    assert test.decision(90_000, 10_000) == "p0"
    assert test.decision(80_000, 20_000) == "p1"


def test_fixed_design_reference() -> None:
    assert fixed_design(0.9, 0.8, alpha=0.05, beta=0.2) == FixedDesign(trials=78, too_low_at=65)


@pytest.mark.parametrize(
    ("p0", "p1", "alpha", "beta"),
    [(0.8, 0.9, 0.05, 0.2), (0.9, 0.9, 0.05, 0.2), (1.0, 0.9, 0.05, 0.2), (0.9, 0.0, 0.05, 0.2), (0.9, 0.8, 0.0, 0.2),
     (0.9, 0.8, 0.05, 1.0), (0.9, 0.8, 0.5, 0.5)],
)  # fmt: skip
def test_impossible_designs_are_refused(p0: float, p1: float, alpha: float, beta: float) -> None:
    with pytest.raises(UsageError):
        Sprt(p0, p1, alpha, beta)
    with pytest.raises(UsageError):
        fixed_design(p0, p1, alpha, beta)


def test_rates_too_close_to_be_distinguished_are_refused() -> None:
    with pytest.raises(UsageError, match="too close"):
        fixed_design(0.5, 0.4999)
