"""What verifying found, as people read it: the verdict, every figure that differs, and what was not checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalharness.domain.finding import Finding
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import RateCheck, Verified
from evalharness.reports.terminal.screen import Part, Screen
from evalharness.reports.words.say import say

MOST_SHOWN = 20
POSSIBLE = {True: ("✓ possible  ", "green"), False: ("✗ impossible", "red"), None: ("? unchecked ", "blue")}


class VerifiedReport:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, verified: Verified) -> None:
        self._screen.say((verified.source, "bold"))
        basis = count(verified.rows, verified.basis.removesuffix("s"))
        wrong = verified.mismatches
        if not wrong and not verified.rows:
            self._screen.entry(
                [("NOT CHECKED   ", "bold yellow")], "it has no trials yet, so there is nothing to check"
            )
        elif not wrong:
            text = f"all {verified.figures:,} figures that were checked follow from its {basis}"
            self._screen.entry([("AGREES   ", "bold green")], text)
        else:
            text = f"{len(wrong):,} of {verified.figures:,} figures do not follow from its {basis}"
            self._screen.entry([("DIFFERS   ", "bold red")], text)
            rows: list[list[Part]] = [
                [each.figure, _shown(each.reported), _shown(each.found)] for each in wrong[:MOST_SHOWN]
            ]
            self._screen.table(["figure", "reported", "computed"], rows)
            if len(wrong) > MOST_SHOWN:
                self._screen.say(f"… and {len(wrong) - MOST_SHOWN:,} more")
        if verified.believed:
            self._screen.entry([("not checked: ", "dim")], ("; ".join(map(say, verified.believed)), "dim"))

    def show_rates(self, checks: Sequence[RateCheck]) -> None:
        for check in checks:
            self._screen.entry([POSSIBLE[check.possible], "  "], f"{check.label}  {say(check.text)}")
        if any(check.possible is False for check in checks):
            text = "an impossible row means a different number of tasks or trials, trials that were left out,"
            self._screen.entry([], (f"{text} or a formula other than the mean of C(c,k)/C(n,k)", "dim"))
        if checks and all(check.possible is None for check in checks):
            text = "no row has enough figures, so nothing is known about this table"
            self._screen.entry([("NOT CHECKED   ", "bold yellow")], text)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Finding):
        return say(value)
    return f"{value:.10g}" if isinstance(value, float) else str(value)
