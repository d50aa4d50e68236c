"""Flags of the commands that run trials: how many of each case, and how long each may take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalharness.cli.command import EXECUTION
from evalharness.cli.flags import option
from evalharness.cli.numbers import Integer, Number

LONGEST_TIMEOUT_S = 10_000_000


def repeat_option(what: str) -> Callable[[Any], Any]:
    return option(
        "--repeat",
        "--trials",
        "--epochs",
        "trials",
        type=Integer(1),
        metavar="N",
        heading=EXECUTION,
        help=f"Number of trials per {what}.",
    )


def timeout_option(detail: str = "") -> Callable[[Any], Any]:
    return option(
        "--timeout",
        type=Number(0, LONGEST_TIMEOUT_S, least_open=True),
        metavar="SECONDS",
        heading=EXECUTION,
        help=f"Time limit for each trial{detail}.  [default: 300]",
    )
