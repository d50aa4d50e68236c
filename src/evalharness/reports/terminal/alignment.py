"""Two trials of one case, step by step: what both did, and where they part."""

from __future__ import annotations

from evalharness.domain.alignment import Alignment
from evalharness.reports.terminal.screen import Screen

FIRST = "first difference"
WIDTH = len(FIRST) + 2


def show_alignment(screen: Screen, alignment: Alignment) -> None:
    """Steps of the run that it is compared with begin with -, those of this run with +."""
    first = alignment.first_difference
    runs = f"- {alignment.before}, trial {alignment.trial_before}   + {alignment.now}, trial {alignment.trial_now}"
    screen.say((alignment.case_id, "bold"), f" · {runs}")
    screen.say()
    for place, step in enumerate(alignment.steps):
        label = FIRST if place == first else ""
        if step.is_same:
            screen.entry([label.ljust(WIDTH), "  "], step.now or "")
            continue
        if step.before is not None:
            screen.entry([(label.ljust(WIDTH), "bold"), ("- ", "red")], step.before)
            label = ""
        if step.now is not None:
            screen.entry([(label.ljust(WIDTH), "bold"), ("+ ", "green")], step.now)
    screen.say()
    screen.say("both did the same" if first is None else f"they differ from step {first + 1} on")
