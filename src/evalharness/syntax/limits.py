"""How large a file may be, whatever its syntax, and the line numbers of its values.

Only what YAML and JSON share is here.
"""

from __future__ import annotations

import math
from typing import TypeAlias

from evalharness.domain.problem import FieldPath

MAX_CHARS = 50_000_000
MAX_DEPTH = 64
MAX_INT = 2**63 - 1

SHOWN_DEPTH = 4
"""How much of a path a message about too deep nesting shows; the whole would fill the screen."""

TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
INT_RANGE = "whole numbers must be between -(2^63 - 1) and 2^63 - 1"
FLOAT_RANGE = "numbers must be finite"
LONE_SURROGATE = "text contains half of a surrogate pair, which is not a character"


def bounded_int(digits: str, radix: int = 10) -> int | None:
    """The number, or None when it is out of range; never converts a text longer than the range needs."""
    if len(digits.lstrip("+-0")) > 21:  # 2**63 has 19 decimal and 21 octal digits; long texts cost quadratic time
        return None
    negative = digits.startswith("-")
    number = int(digits.lstrip("+-0") or "0", radix)
    if number > MAX_INT:
        return None
    return -number if negative else number


def finite_float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


Lines: TypeAlias = "int | tuple[int, dict[str, Lines] | list[Lines]]"


def line_at(lines: Lines, path: FieldPath) -> int:
    """The line of what `path` names, or of its nearest ancestor that exists."""
    for step in path:
        if isinstance(lines, int):
            break
        children = lines[1]
        if isinstance(children, dict):
            found = children.get(step) if isinstance(step, str) else None
        else:
            found = children[step] if isinstance(step, int) and 0 <= step < len(children) else None
        if found is None:
            break
        lines = found
    return lines if isinstance(lines, int) else lines[0]
