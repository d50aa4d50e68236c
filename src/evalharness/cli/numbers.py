"""Numbers as flags take them, each with a message that says what they must be."""

from __future__ import annotations

import math
from typing import Any

import click

LARGEST_K = 1_000_000
_LONGEST_QUOTE = 40


class Integer(click.types.IntParamType):
    name = "integer"

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = self.least - 1
        if number < self.least or (self.most is not None and number > self.most):
            bounds = f"≥ {self.least}" if self.most is None else f"from {self.least:,} to {self.most:,}"
            self.fail(f"must be an integer {bounds}, not {_quoted(value)}", param, ctx)
        return number


class Number(click.types.FloatParamType):
    """Within its bounds, which are excluded where they are `open`."""

    name = "number"

    def __init__(self, least: float, most: float, *, least_open: bool = False, most_open: bool = False) -> None:
        self.least, self.most, self.least_open, self.most_open = least, most, least_open, most_open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = _float(value)
        is_above = number > self.least or (number == self.least and not self.least_open)
        is_below = number < self.most or (number == self.most and not self.most_open)
        if not (is_above and is_below):
            least, most = (f"{bound:,.9g}" for bound in (self.least, self.most))
            bounds = f"{'>' if self.least_open else '≥'} {least} and {'<' if self.most_open else '≤'} {most}"
            self.fail(f"must be a number {bounds}, not {_quoted(value)}", param, ctx)
        return number


class Points(click.types.FloatParamType):
    """A difference of rates: `5`, `5%` and `0.05` are 5 points. The value is a share, as files have it."""

    name = "points"

    def __init__(self, *, may_be_zero: bool = False, may_be_all: bool = True) -> None:
        self.may_be_zero, self.may_be_all = may_be_zero, may_be_all

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        number = _float(text.removesuffix("%"))
        is_percent = text.endswith("%")
        if not is_percent and 0.5 <= number < 1:
            self.fail(f"{number:g} can be read in two ways: write {number:g}% or {number * 100:g}%", param, ctx)
        share = number / 100 if is_percent or number >= 1 else number
        is_above = share > 0 or (share == 0 and self.may_be_zero)
        is_below = share < 1 or (share == 1 and self.may_be_all)
        if not (is_above and is_below):
            bounds = f"{'≥' if self.may_be_zero else '>'} 0 and {'≤' if self.may_be_all else '<'} 100"
            self.fail(f"must be points {bounds} (5, 5% or 0.05 for 5 points), not {_quoted(value)}", param, ctx)
        return share


class Integers(click.types.StringParamType):
    """`1,3,5`"""

    name = "integers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(word.isdecimal() and 1 <= int(word) <= LARGEST_K for word in words):
            self.fail(
                f"must be integers from 1 to {LARGEST_K:,} with commas between them (1,3,5), not {_quoted(value)}",
                param,
                ctx,
            )
        return tuple(map(int, words))


class PassRate(click.types.FloatParamType):
    """0.9, 90 and 90% are the same."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        number = _float(text.removesuffix("%"))
        share = number / 100 if text.endswith("%") or number > 1 else number
        if not 0 <= share <= 1:
            self.fail(f"must be a pass rate (0.9, 90 or 90%), not {_quoted(value)}", param, ctx)
        return share


def _float(value: Any) -> float:
    """`nan`, which is below and above nothing, where it is no number."""
    try:
        return float(value)
    except ValueError:
        return math.nan


def _quoted(value: Any) -> str:
    text = str(value)
    return f"'{text[: _LONGEST_QUOTE - 1]}…'" if len(text) > _LONGEST_QUOTE else f"'{text}'"
