"""What an unquoted YAML scalar means: the YAML 1.2 core schema, with whole numbers bounded and floats finite.

So `NO`, `on`, `1:30` and `2024-01-15` are text, `017` is seventeen and `1e3` is a thousand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from evalharness.domain.problem import quoted
from evalharness.formats.syntax import limits

MAY_NOT_BE_TEXT = frozenset("~nNtTfF-+.0123456789")
"""The first characters of every scalar that is something other than text."""

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_PREFIXED = re.compile(r"0o([0-7]+)|0x([0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


@dataclass(frozen=True, slots=True)
class Refused:
    """A scalar that has a meaning, but one that no file may use."""

    message: str


def plain_scalar(text: str) -> Any:
    """None, bool, int, float or str; or `Refused`."""
    if text and text[0] not in MAY_NOT_BE_TEXT:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _DECIMAL.fullmatch(text):
        return _integer(text, limits.bounded_int(text))
    if prefixed := _PREFIXED.fullmatch(text):
        octal, hexadecimal = prefixed.groups()
        return _integer(text, limits.bounded_int(octal, 8) if octal else limits.bounded_int(hexadecimal, 16))
    if _FLOAT.fullmatch(text):
        number = limits.finite_float(text)
        return _not_finite(text) if number is None else number
    return _not_finite(text) if _NOT_FINITE.fullmatch(text) else text


def _integer(text: str, number: int | None) -> int | Refused:
    return Refused(f"{quoted(text)} is too large: {limits.INT_RANGE}") if number is None else number


def _not_finite(text: str) -> Refused:
    return Refused(f"{quoted(text)} is not allowed: {limits.FLOAT_RANGE}; quote it if text is meant")
