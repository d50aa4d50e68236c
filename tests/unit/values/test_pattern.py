"""Regular expressions from people and models: everything wrong with one is reported as a ValueError."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from evalharness.values.pattern import Pattern, compile_pattern

BROKEN = ["(", "a{99999999999999999999}", "(" * 20_000]


@pytest.mark.parametrize("pattern", BROKEN)
def test_what_is_not_a_pattern_is_reported(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        compile_pattern(pattern)
    with pytest.raises(ValidationError, match="is not a regular expression"):
        TypeAdapter(Pattern).validate_python(pattern)


def test_a_pattern_stays_as_it_was_written() -> None:
    assert TypeAdapter(Pattern).validate_python(r"\d+") == r"\d+"
    assert compile_pattern("a.c").search("xabcx")
