"""Flags that several commands share: when a run counts as worse, what it must reach, who judges and what that may cost.

Each group comes as one decorator, with a function that turns its flags into the fields of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from evalharness.cli.options import NumberType, VisiblePoints, option, refuse
from evalharness.domain.bounds import LEAST_ALPHA

MOST_USD = 1_000_000
_FIELDS = {
    "metrics": "metrics",
    "alpha": "alpha",
    "power": "power",
    "margin": "margin",
    "regression_tolerance": "tolerance",
}
tolerance_option = option(
    "--regression-tolerance",
    type=NumberType(0, 1),
    metavar="SHARE",
    help="A loss up to this share (0.02 is 2 points) is accepted even where it is certain.",
)
_RULE = (
    option(
        "--metric",
        "metrics",
        multiple=True,
        type=click.Choice(["pass_rate", "score", "latency", "cost"]),
        help="What may not get worse. May be repeated.  [default: as the gate says, else pass_rate and score]",
    ),
    option(
        "--alpha",
        type=NumberType(LEAST_ALPHA, 0.5, max_open=True),
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
        type=NumberType(0.5, 1, min_open=True, max_open=True),
        metavar="P",
        help="How surely a loss should be found, for the least one told.  [default: as the gate says, else 0.8]",
    ),
    tolerance_option,
)


def rule_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag in reversed(_RULE):
        command = flag(command)
    return command


def rule_overrides(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was given, as the fields of a `RegressionRule`; the rest is as the gate of the new run says."""
    given = {field: flags[flag] for flag, field in _FIELDS.items() if flags[flag] not in (None, ())}
    return {field: value / 100 if field == "margin" else value for field, value in given.items()}


def _pass_rate(_context: click.Context, _option: click.Parameter, written: str | None) -> float | None:
    """0.9, 90 and 90% are the same."""
    if written is None:
        return None
    text = written.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    share = number / 100 if text.endswith("%") or number > 1 else number
    if not 0 <= share <= 1:
        raise click.BadParameter(f"'{written}' is no pass rate; write 0.9, 90 or 90%")
    return share


_GATE = (
    option(
        "--gate",
        "gate_preset",
        type=click.Choice(["development", "staging", "production", "critical"]),
        help="What pass@1, pass@3 and pass^3 must reach; needs --repeat 3.",
    ),
    option("--fail-under", callback=_pass_rate, metavar="X", help="The least pass rate: 0.9, 90 or 90%."),
    option(
        "--baseline",
        metavar="B",
        help="Must not be worse than this baseline, run or JSON report; none: no such check.",
    ),
    tolerance_option,
    option(
        "--strict-flips/--no-strict-flips",
        default=None,
        help="Fail if a case that always passed in the baseline fails once; or never because of a single case.  "
        "[default: fail if a case that always passed does not pass now, in 1 trial or in 5]",
    ),
    option(
        "--inconclusive",
        type=click.Choice(["pass", "fail"]),
        help="What a gate counts as that the data do not decide: exit code 0 or 4.  [default: pass]",
    ),
)


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for add in reversed(_GATE):
        command = add(command)
    return command


def gate_overrides(flags: Mapping[str, Any]) -> Any:
    from evalharness.domain.gate import NO_BASELINE, GateOverrides

    strict_flips = flags["strict_flips"]
    if flags["baseline"] == NO_BASELINE and strict_flips:
        refuse("strict_flips", "--baseline none leaves --strict-flips nothing to compare with")
        strict_flips = None
    return GateOverrides(
        preset=flags["gate_preset"],
        fail_under=flags["fail_under"],
        baseline=flags["baseline"],
        tolerance=flags["regression_tolerance"],
        strict_flips=strict_flips,
        inconclusive=flags["inconclusive"],
    )


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
_SPENDING = (
    option(
        "--max-cost",
        type=NumberType(min=0, max=MOST_USD, min_open=True),
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
    for decorate in reversed(_SPENDING):
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
