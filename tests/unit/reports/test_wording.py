"""Untrusted text on a terminal."""

from __future__ import annotations

import pytest

from evalharness.reports.wording import harmless, money


@pytest.mark.parametrize("order", ["\u202e", "\u2066", "\x1b[2J", "\x07"])
def test_what_a_terminal_would_obey_is_taken_out(order: str) -> None:
    assert harmless(f"a{order}b") == "ab"


def test_letters_of_any_script_stay() -> None:
    assert harmless("ü 通 شكرا\n") == "ü 通 شكرا\n"


@pytest.mark.parametrize(
    ("cost_usd", "told"),
    [
        (0.0, "$0.0000"),
        (1e-300, "$1e-300"),
        (0.000012, "$0.000012"),
        (0.00003, "$0.00003"),
        (0.25, "$0.2500"),
        (3, "$3.00"),
    ],
)
def test_a_little_money_never_reads_as_none(cost_usd: float, told: str) -> None:
    assert money(cost_usd) == told


def test_money_beyond_all_reason_fits_on_a_line() -> None:
    assert (money(1e200), money(123456.5)) == ("$1e+200", "$123456.50")
