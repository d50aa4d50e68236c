"""The flags that say when a run counts as worse than another, and the fields of a rule that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalharness.cli.options import Number, VisiblePoints, option
from evalharness.stats.thresholds import LEAST_ALPHA

_FIELDS = {"alpha": "alpha", "power": "power", "margin": "margin", "regression_tolerance": "tolerance"}
tolerance_option = option(
    "--regression-tolerance",
    type=Number(0, 1),
    metavar="SHARE",
    help="A loss up to this share (0.02 is 2 points) is accepted even where it is certain.",
)
_FLAGS = (
    option(
        "--alpha",
        type=Number(LEAST_ALPHA, 0.5, max_open=True),
        metavar="P",
        help="How often an unchanged agent may be called worse.  [default: 0.05]",
    ),
    option(
        "--margin",
        type=VisiblePoints(0, 100, min_open=True),
        metavar="POINTS",
        help="A loss of fewer points than this (5: from 90 % to 85 %) does not matter.  [default: 5]",
    ),
    option(
        "--power",
        type=Number(0.5, 1, min_open=True, max_open=True),
        metavar="P",
        help="How surely a loss should be found, for the least one told.  [default: 0.8]",
    ),
    tolerance_option,
)


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


def asked_rule(flags: Mapping[str, Any]) -> dict[str, float]:
    """Only what was given, as the fields of a `RegressionRule`: points become shares."""
    given = {field: flags[flag] for flag, field in _FIELDS.items() if flags[flag] is not None}
    return {field: value / 100 if field == "margin" else value for field, value in given.items()}
