"""Regular expressions that people, and models, write: compiled, or explained where they are wrong.

Whoever searches with one sets a time limit: what a pattern costs cannot be seen from it.
"""

from __future__ import annotations

from typing import Annotated

import regex
from pydantic import AfterValidator


def compile_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Raises ValueError, with what is wrong."""
    try:
        return regex.compile(pattern, flags)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _checked(pattern: str) -> str:
    try:
        compile_pattern(pattern)
    except ValueError as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_checked)]
"""Kept as it was written."""
