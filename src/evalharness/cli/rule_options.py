"""The flags that say when a run counts as worse than another, and the fields of a rule that they stand for.

What is not given is as the gate of the new run says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from evalharness.cli.options import Number, VisiblePoints, option
from evalharness.domain.bounds import LEAST_ALPHA

_FIELDS = {
    "metrics": "metrics",
    "alpha": "alpha",
    "power": "power",
    "margin": "margin",
    "regression_tolerance": "tolerance",
}
tolerance_option = option(
    "--regression-tolerance",
    type=Number(0, 1),
    metavar="SHARE",
    help="A loss up to this share (0.02 is 2 points) is accepted even where it is certain.",
)
_FLAGS = (
    option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(["pass_rate", "score", "latency", "cost"]),
        help="What may not get worse. May be repeated.  [default: as the gate says, else pass_rate and score]",
    ),
    option(
        "--alpha",
        type=Number(LEAST_ALPHA, 0.5, max_open=True),
        metavar="P",
        help="How often an unchanged agent may be called worse.  [default: as the gate says, else 0.05]",
    ),
    option(
        "--margin",
        type=VisiblePoints(0, 100, min_open=True),
        metavar="POINTS",
        help="A loss of fewer points than this (5: from 90 % to 85 %) does not matter.  "
        "[default: as the gate says, else 5]",
    ),
    option(
        "--power",
        type=Number(0.5, 1, min_open=True, max_open=True),
        metavar="P",
        help="How surely a loss should be found, for the least one told.  [default: as the gate says, else 0.8]",
    ),
    tolerance_option,
)


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


def asked_rule(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was given, as the fields of a `RegressionRule`: points become shares."""
    given = {field: flags[flag] for flag, field in _FIELDS.items() if flags[flag] not in (None, ())}
    return {field: value / 100 if field == "margin" else value for field, value in given.items()}
