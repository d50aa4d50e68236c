"""Advice on a suite as people read it: cases by finding, never case by case; then the metric, the gate, what next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from evalharness.domain.advice import Advice, Choice
from evalharness.domain.plain_numbers import count
from evalharness.reports.terminal.screen import MARKS, Screen
from evalharness.reports.wording import listed, naming
from evalharness.reports.words.say import say

NAMED = 5
SIGNS = {"warning": ("!", "yellow"), "info": ("–", "bright_black"), "error": ("✗", "red")}


class AdviceReport:
    """`store` is the one that was asked for, where one was: the next command needs it, too."""

    def __init__(self, screen: Screen, store: str | None = None) -> None:
        self._screen, self._store = screen, store

    def show(self, advice: Sequence[Advice]) -> None:
        for position, each in enumerate(advice):
            if position:
                self._screen.say()
            self._one(each)

    def _one(self, advice: Advice) -> None:
        screen = self._screen
        screen.say((advice.suite_name, "bold"), f" · {count(advice.cases, 'case')}")
        screen.say()
        for choice in advice.of("grader"):
            self._graders(choice)
        if advice.fitting:
            screen.say(MARKS["passed"], f" {_fitting(advice)}")
        screen.say()
        for about in ("metric", "gate"):
            for position, choice in enumerate(advice.of(about)):
                screen.labelled("" if position else about, say(choice.finding))
        screen.labelled("next", f"{screen.command} selftest {shlex.quote(advice.source)}{naming(self._store)}")

    def _graders(self, choice: Choice) -> None:
        number = count(len(choice.cases), "case")
        self._screen.entry([SIGNS[choice.finding.severity], f" {number}: "], say(choice.finding))
        self._screen.entry(["    "], (listed(choice.cases[:NAMED], len(choice.cases)), "dim"))


def _fitting(advice: Advice) -> str:
    if advice.fitting == advice.cases:
        return "the graders of every case fit" if advice.cases > 1 else "the graders of the only case fit"
    return f"{count(advice.fitting, 'case')} with graders that fit"
