"""Regular expressions from users and models, compiled with clear error messages.

Searches must set a time limit, because the cost of a pattern cannot be seen in advance.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator


def compile_pattern(pattern: str, flags: int = 0) -> Any:
    """The pattern compiled by `regex`; raises ValueError with the problem."""
    import regex  # here: slow to load, and most runs have no patterns

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
"""A valid regular expression, kept as written."""
