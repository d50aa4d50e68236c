"""A selftest as people read it: what is unsound, what else there is to know, the verdict, what next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from evalharness.domain.finding import Finding
from evalharness.domain.plain_numbers import count
from evalharness.domain.selftest import Selftest
from evalharness.reports.terminal.screen import MARKS, Screen
from evalharness.reports.wording import judging_text, naming
from evalharness.reports.words.say import say

FIRST = 10
NEXT_WIDTH = 9
LABELS = {
    "selftest.guessable": "guessable",
    "selftest.not_provable": "not provable",
    "selftest.cannot_fail": "cannot fail",
    "selftest.grader_raised": "breaks",
    "selftest.judge_flips": "judges",
    "selftest.never_failed": "history",
    "selftest.never_passed": "history",
    "selftest.no_verdict": "no verdict",
}
FIX_GRADERS = "fix the graders that break"
NOTHING = {"null", "no_op"}
COLOURS = {"SOUND": "green", "UNSOUND": "red", "INVALID": "magenta", "NOT PROVABLE": "yellow"}


class SelftestReport:
    """`store` is the one that was asked for, where one was: the next command needs it, too."""

    def __init__(self, screen: Screen, store: str | None = None) -> None:
        self._screen = screen
        self._store = store

    def show(self, selftests: Sequence[Selftest]) -> None:
        for position, each in enumerate(selftests):
            if position:
                self._screen.say()
            self._one(each)

    def _one(self, tested: Selftest) -> None:
        cases, answers = count(tested.cases, "case"), count(tested.answers, "wrong answer")
        self._screen.say((tested.suite_name, "bold"), f" · {cases} · {answers} tried")
        self._screen.say()
        for found in tested.unsound[:FIRST]:
            self._screen.entry([MARKS["failed"], " "], self._screen.one_line(say(found), 300))
        if len(tested.unsound) > FIRST:
            self._screen.say((f"  {len(tested.unsound) - FIRST:,} more (--json)", "dim"))
        for note in tested.notes:
            self._screen.line(LABELS.get(note.code, "note"), self._screen.one_line(say(note), 300))
        for position, took in enumerate(tested.judging):
            self._screen.line("" if position else "cost", judging_text(took))
        self._screen.say()
        self._screen.entry([(tested.verdict, f"bold {COLOURS[tested.verdict]}"), "   "], why(tested))
        self._next(tested)

    def _next(self, tested: Selftest) -> None:
        """A command that does not fit beside what to do first has its own line: it is never split."""
        first, command = self._step(tested)
        text = f"{first}, then: {command}" if first else command
        if NEXT_WIDTH + len(text) <= self._screen.console.width or not first:
            self._screen.say(("next".ljust(NEXT_WIDTH), "dim"), text)
        else:
            self._screen.line("next", f"{first}, then:", width=NEXT_WIDTH)
            self._screen.say(" " * NEXT_WIDTH, command)

    def _step(self, tested: Selftest) -> tuple[str, str]:
        """What to do first, and the command after it."""
        named = f"{shlex.quote(tested.source)}{naming(self._store)}"
        again = f"{self._screen.command} selftest {named}"
        if tested.verdict == "UNSOUND":
            return _remedy(tested.unsound), again
        if tested.verdict == "INVALID":
            return "fix the cause or raise the cap", again
        missing = [note.params.get("why") for note in tested.notes if note.code == "selftest.not_provable"]
        if "no judge" in missing:
            return "", f"{again} --judge-model provider/model"
        if tested.verdict == "NOT PROVABLE" and any(note.params.get("always") for note in tested.notes):
            return FIX_GRADERS, again
        if tested.verdict == "NOT PROVABLE":
            return "add `reference:` to the cases", again
        return "", f"{self._screen.command} run {named}"


def why(tested: Selftest) -> str:
    """What the verdict rests on."""
    cases = count(tested.cases, "case")
    if tested.verdict == "UNSOUND":
        number = len({str(found.params.get("case")) for found in tested.unsound})
        return f"{number:,} of {cases} cannot be relied on"
    if tested.verdict == "INVALID":
        return "no fault was found, but not everything could be graded"
    if tested.verdict == "NOT PROVABLE":
        return "no fault was found, but no right answer was seen to pass"
    if tested.provable < tested.cases:
        return f"right answers pass and wrong ones fail in {tested.provable:,} of {cases}"
    return "right answers pass, wrong answers fail"


def _remedy(unsound: Sequence[Finding]) -> str:
    """`null_passes` is named where doing nothing is all that passes: it may be right."""
    codes = {found.code for found in unsound}
    passed = [{what["kind"] for what in found.params["answers"]} for found in unsound if "answers" in found.params]
    may_be_right = any(each <= NOTHING for each in passed)
    steps = [FIX_GRADERS] if "selftest.right_raises" in codes else []
    steps += ["correct the references"] if "selftest.right_fails" in codes else []
    steps += ["remove `null_passes` where doing nothing must fail"] if "selftest.nothing_fails" in codes else []
    instead = " or say `null_passes: true` where doing nothing is right" if may_be_right else ""
    steps += [f"tighten the graders{instead}"] if passed else []
    return ", ".join(steps)
