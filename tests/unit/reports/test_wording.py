"""Texts of others on a terminal."""

from __future__ import annotations

import pytest

from evalharness.reports.wording import harmless


@pytest.mark.parametrize("order", ["\u202e", "\u2066", "\x1b[2J", "\x07"])
def test_what_a_terminal_would_obey_is_taken_out(order: str) -> None:
    assert harmless(f"a{order}b") == "ab"


def test_letters_of_any_script_stay() -> None:
    assert harmless("ü 通 شكرا\n") == "ü 通 شكرا\n"
