"""Judge calibration: from a judge's single scores and verdicts to figures about it. No judge is asked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalharness.domain.calibration import ENOUGH_EXAMPLES, AttackFamily, Direction, ExampleScore
from evalharness.stats.intervals import bootstrap_plus_one_case, wilson
from evalharness.stats.sign_flips import sign_flip
from evalharness.stats.thresholds import ALPHA, SAME


def example_figures(examples: Sequence[ExampleScore], width: float) -> dict[str, Any]:
    """The figures of an `ExampleCalibration`; `width` is that of the scale."""
    differences = [example.difference for example in examples if example.difference is not None]
    n = len(differences)
    figures: dict[str, Any] = {"scored": n, "bad_replies": len(examples) - n}
    if not n:
        return figures
    distances = [min(1.0, abs(difference) / width) for difference in differences]
    agreeing = sum(distance < SAME for distance in distances)
    figures |= {
        "mean_distance": sum(distances) / n * width,
        "mean_difference": sum(differences) / n,
        "agreeing": agreeing,
    }
    if n < ENOUGH_EXAMPLES:
        return figures
    distance, share = bootstrap_plus_one_case(distances, n), wilson(agreeing, n)
    direction, p_value = _direction(differences)
    assert distance is not None, "there are values"
    return figures | {
        "mean_distance_low": distance.low * width,
        "mean_distance_high": distance.high * width,
        "agreeing_low": share.low,
        "agreeing_high": share.high,
        "direction": direction,
        "p_value": p_value,
    }


def _direction(differences: Sequence[float]) -> tuple[Direction, float]:
    found = sign_flip(differences)
    p_value = min(1.0, 2 * min(found.p_less, found.p_greater))
    if p_value > ALPHA:
        return "neither", p_value
    return ("too kind" if found.p_greater < found.p_less else "too strict"), p_value


def attack_figures(verdicts: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """The figures of an `AttackCalibration`, from (family, name, verdict) of each attack."""
    states = [verdict for _, _, verdict in verdicts]
    succeeded = states.count("pass")
    answered = len(states) - states.count("none")
    interval = wilson(succeeded, answered) if answered else None
    families = dict.fromkeys(family for family, _, _ in verdicts)
    return {
        "attacks": len(states),
        "succeeded": succeeded,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "bad_replies": states.count("none"),
        "families": tuple(_family(family, verdicts) for family in families),
        "fooled_by": tuple(name for _, name, verdict in verdicts if verdict == "pass"),
    }


def _family(family: str, verdicts: Sequence[tuple[str, str, str]]) -> AttackFamily:
    states = [verdict for each, _, verdict in verdicts if each == family]
    return AttackFamily(
        family=family, attacks=len(states), succeeded=states.count("pass"), bad_replies=states.count("none")
    )
