"""Flags of the commands that ask cases: how often each is tried, and for how long at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalharness.cli.command import EXECUTION
from evalharness.cli.flags import option
from evalharness.cli.numbers import Integer, Number

LONGEST_TIMEOUT_S = 10_000_000


def repeat_of(what: str) -> Callable[[Any], Any]:
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


def timeout_of(detail: str = "") -> Callable[[Any], Any]:
    return option(
        "--timeout",
        type=Number(0, LONGEST_TIMEOUT_S, least_open=True),
        metavar="SECONDS",
        heading=EXECUTION,
        help=f"Time limit for each trial{detail}.  [default: 300]",
    )
