"""Options of commands that may ask models: who judges, what that may cost, and whether old verdicts are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from evalharness.cli.options import Number, option

MOST_USD = 1_000_000


def _named(_context: click.Context, _option: click.Parameter, written: str | None) -> str:
    """A variable of a CI that is not set would otherwise let others judge than was meant."""
    if written is not None and not written.strip():
        raise click.BadParameter("it is empty: name provider/model, or none for grades that stay due")
    return written or ""


judge_model_option = option(
    "--judge-model",
    callback=_named,
    metavar="M",
    help="provider/model that judges, whatever the graders name; none: their grades stay due.",
)
no_cache_option = option("--no-cache", is_flag=True, help="Ask judges again, also where their verdict is known.")
_spending = (
    option(
        "--max-cost",
        type=Number(min=0, max=MOST_USD, min_open=True),
        metavar="USD",
        help="Stop once target and judges have cost so much; what is finished is kept.",
    ),
    option(
        "--max-tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop once target and judges have used so many tokens.",
    ),
)


def spending_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in reversed(_spending):
        command = decorate(command)
    return command


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (spending_options, no_cache_option, judge_model_option):
        command = decorate(command)
    return command


def spending_wishes(flags: dict[str, Any]) -> dict[str, Any]:
    return {"max_cost_usd": flags["max_cost"], "max_tokens": flags["max_tokens"]}


def model_wishes(flags: dict[str, Any]) -> dict[str, Any]:
    """As a run's options name them."""
    return {"judge_model": flags["judge_model"], "use_cache": not flags["no_cache"], **spending_wishes(flags)}
