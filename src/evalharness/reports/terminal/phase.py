"""What became of a phase, below the reports of its runs: each step on a line, the verdict last."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalharness.domain.phase_result import PhaseResult, StepResult
from evalharness.domain.plain_numbers import count
from evalharness.reports.terminal.next_steps import NextStep
from evalharness.reports.terminal.screen import MARKS, Part, Screen
from evalharness.reports.terminal.verdict import COLOURS, STATES
from evalharness.reports.words.say import say

WIDTH = 14


class PhaseScreen:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, result: PhaseResult, files: Sequence[Path], steps: Sequence[NextStep]) -> None:
        """`files` were written; `steps` are what to do next."""
        screen = self._screen
        if result.runs:
            screen.say()
        screen.labelled("phase", (result.name, "bold"), width=WIDTH)
        if result.changes is not None:
            changes = result.changes
            counted = f"{count(changes.files, 'file')}, +{changes.added:,} −{changes.removed:,}"
            screen.line("changes", f"{counted} since {changes.since}", width=WIDTH)
        if result.tests is not None:
            failed = f", {result.tests.failed:,} failed" if result.tests.failed else ""
            screen.line("tests", f"{result.tests.passed:,} of {result.tests.total:,} passed{failed}", width=WIDTH)
        for each in result.steps:
            self._step(each, is_waived=each in result.not_blocking)
        screen.say()
        self.verdict(result)
        for label, text in (*(("wrote", str(path)) for path in files), *steps):
            screen.labelled(label, text, width=len(result.verdict) + 3)

    def verdict(self, result: PhaseResult) -> None:
        begin = f"{result.verdict}   "
        evals = sum(bool(each.runs) for each in result.steps)
        about = f"phase {result.phase_id}   {count(evals, 'eval') if evals else 'no eval'} run"
        why = say(result.why)
        self._screen.entry([(begin, f"bold {COLOURS[result.verdict]}")], f"{about}   {why}" if why else about)

    def _step(self, each: StepResult, *, is_waived: bool) -> None:
        verdict = each.verdict if each.runs else None
        mark = MARKS[STATES.get(verdict, "awaiting")] if verdict else MARKS["skipped"]
        head: list[Part] = [mark, f" {each.step.type} ".ljust(WIDTH - 1)]
        why = f": {say(each.why_not_run)}" if each.why_not_run else ""
        outcome = f"{verdict or f'not run{why}'}{', does not block' if is_waived else ''}"
        self._screen.entry(head, f"{each.step.title}   {outcome}")
