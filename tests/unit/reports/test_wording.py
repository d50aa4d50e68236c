"""Untrusted text on a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evalharness.domain.stored import Baseline, BaselineRun
from evalharness.reports.wording import baseline_text, duration, harmless, money
from evalharness.reports.words.gates import metric_label


@pytest.mark.parametrize("order", ["\u202e", "\u2066", "\x1b[2J", "\x07", "\x84", "\x9b2J", "\x9d0;title\x9c", "\x7f"])
def test_what_a_terminal_would_obey_is_taken_out(order: str) -> None:
    assert harmless(f"a{order}b") == "ab"


def test_letters_of_any_script_stay() -> None:
    assert harmless("ü 通 شكرا\n") == "ü 通 شكرا\n"


@pytest.mark.parametrize(
    ("cost_usd", "told"),
    [
        (0.0, "$0"),
        (1e-300, "$1e-300"),
        (0.000012, "$0.000012"),
        (0.00003, "$0.00003"),
        (0.25, "$0.25"),
        (0.01234, "$0.012"),
        (1.234, "$1.20"),
        (12.34, "$12"),
        (3, "$3.00"),
    ],
)
def test_a_little_money_never_reads_as_none(cost_usd: float, told: str) -> None:
    assert money(cost_usd) == told


def test_money_beyond_all_reason_fits_on_a_line() -> None:
    assert (money(1e200), money(123456.5)) == ("$1e+200", "$120,000")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 ms"),
        (0.00036, "0.36 ms"),
        (0.0164, "16 ms"),
        (0.9999, "1.0 s"),
        (1.26, "1.3 s"),
        (45.3, "45 s"),
        (125, "2 min 5 s"),
        (1260, "21 min"),
        (12000, "3 h 20 min"),
    ],
)
def test_times_have_two_digits(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_a_baseline_of_one_run_or_several() -> None:
    one = Baseline("capitals", "default", "id-1", "brave-otter-042", "")
    two = replace(one, added=(BaselineRun("id-2", "calm-heron-007"),))
    assert baseline_text(one) == "brave-otter-042 is the baseline 'default' of capitals"
    gone = "brave-otter-042, calm-heron-007 are no longer the baseline 'default' of capitals"
    assert baseline_text(two, is_removed=True) == gone


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("pass_at_1", "pass@1"),
        ("pass_hat_3_plugin", "pass^3 (plug-in)"),
        ("pass_rate", "pass rate"),
        ("case_pass_rate", "share of cases passed"),
    ],
)
def test_metrics_as_people_read_them(metric: str, label: str) -> None:
    assert metric_label(metric) == label
