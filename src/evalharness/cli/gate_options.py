"""The flags that say what a run must reach: the same for `run`, `regrade` and `gate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from evalharness.cli.options import option, refuse
from evalharness.cli.rule_options import tolerance_option


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


OPTIONS = (
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
    option("--strict-flips", is_flag=True, help="No case that always passed in the baseline may fail now."),
    option(
        "--inconclusive",
        type=click.Choice(["pass", "fail"]),
        help="What a gate counts as that the data do not decide: exit code 0 or 4.  [default: pass]",
    ),
)


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for add in reversed(OPTIONS):
        command = add(command)
    return command


def gate_overrides(flags: Mapping[str, Any]) -> Any:
    from evalharness.domain.gate import NO_BASELINE, GateOverrides

    if flags["baseline"] == NO_BASELINE and flags["strict_flips"]:
        refuse("strict_flips", "--baseline none leaves --strict-flips nothing to compare with")
    return GateOverrides(
        preset=flags["gate_preset"],
        fail_under=flags["fail_under"],
        baseline=flags["baseline"],
        tolerance=flags["regression_tolerance"],
        strict_flips=flags["strict_flips"],
        inconclusive=flags["inconclusive"],
    )
