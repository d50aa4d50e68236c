"""One case of a run as people read it: what was asked and expected, what happened, and what each grader said.

Texts are shown whole. Trials that are alike are shown once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby

from evalharness.domain.case import Case, as_text
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.gate import written_metric
from evalharness.domain.grade import Grade, named_apart
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import CaseState, RunSummary
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.reports.alike_trials import alike_trials, likeness, ranges
from evalharness.reports.conversation import conversation
from evalharness.reports.terminal.answer_difference import difference_lines
from evalharness.reports.terminal.screen import MARKS, Screen
from evalharness.reports.wording import duration, from_here, history_text, money, size, state_of_grade, verdict_words
from evalharness.values.json_value import Json

LABEL = 12
"""Columns of a label, so that the texts beside labels begin below each other."""
LONGEST_TEXT = 100_000
MOST_DIFFERENCES = 40


class CaseReport:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(
        self,
        case: Case,
        state: CaseState,
        graders: Sequence[GraderSpec],
        trials: Sequence[Trial],
        history: CaseHistory | None = None,
    ) -> None:
        passed = sum(trial.state == "passed" for trial in trials)
        graded = passed + sum(trial.state == "failed" for trial in trials)
        mark, colour = MARKS[_seen_state(state, passed, graded)]
        share = f"   {passed} of {count(graded, 'trial')} passed" if graded else f"   {state}"
        before = history_text(**history._asdict()) if history else ""
        name = f"   {case.name}" if case.name else ""
        about = f"{name}{share}{f'   ({before})' if before else ''}"
        self._screen.entry([(f"{mark} ", colour)], (case.id, "bold"), (about, "dim"))
        self._screen.say()
        self._block("asked", as_text(case.content))
        for spec in graders:
            self._check(spec)
        for alike in alike_trials(trials):
            self._screen.say()
            self._trials(alike, len(trials))

    def _check(self, spec: GraderSpec) -> None:
        """What a grader is asked to check, in full."""
        asked = "" if spec.options is None else _readable(spec.options)
        self._block("expected", f"{spec.label}: {asked}" if asked else spec.label)

    def _trials(self, alike: Sequence[Trial], total: int) -> None:
        trial = alike[0]
        mark, colour = MARKS[trial.state]
        several = len(alike) > 1
        head = f"{'trials' if several else 'trial'} {ranges([each.index + 1 for each in alike])}: "
        noun = "result" if trial.output is None else "answer"
        about = f"same {noun} in {len(alike)} of {total} trials" if several else _took(trial)
        self._screen.entry([(f"{mark} ", colour)], (head, "bold"), (trial.state, colour), (f"   {about}", "dim"))
        number = 1
        for _, same in groupby(trial.attempts, likeness):
            attempts = list(same)
            if len(trial.attempts) > 1:
                numbers = ranges(range(number, number + len(attempts)))
                self._screen.say((f"  attempt{'s' if len(attempts) > 1 else ''} {numbers}: ", "dim"), attempts[0].state)
            self._attempt(attempts[0])
            number += len(attempts)

    def _attempt(self, attempt: Attempt) -> None:
        if attempt.transcript is not None:
            self._transcript(attempt.transcript)
        if attempt.reason and not attempt.grades:
            self._block("reason", from_here(attempt.reason))
        for name, grade in named_apart(attempt.grades):
            self._grade(name, grade)
        if attempt.transcript is not None:
            self._streams(attempt.transcript)
        self._block("trace", attempt.trace)

    def _grade(self, name: str, grade: Grade) -> None:
        mark, colour = MARKS[state_of_grade(grade)]
        optional = "" if grade.required else " (not required)"
        found = _compared(grade)
        reason, *rest = self._lines("" if found else from_here(grade.reason))
        verdict = (f": {verdict_words(grade)}", colour)
        self._screen.entry([(f"  {mark} ", colour)], (name, "bold"), verdict, f"{optional}  {reason}")
        for line in rest:
            self._screen.entry([" " * LABEL], line)
        if found:
            width = self._screen.console.width - LABEL
            for parts in difference_lines(*found, width=width, most=MOST_DIFFERENCES):
                self._screen.say(" " * LABEL, *parts)
        evidence = _beside(grade.evidence) if found else grade.evidence
        figures = (f"{written_metric(name)} {value:.3g}" for name, value in grade.figures.items())
        self._block("figures", "   ".join(figures), indent=4)
        if evidence:
            self._block("evidence", _readable(evidence), indent=4)
        self._block("trace", grade.trace, indent=4)

    def _transcript(self, transcript: Transcript) -> None:
        for turn in conversation(transcript):
            who = f"{turn.who} ({turn.ended})" if turn.ended else turn.who
            self._block(who, turn.call_head or turn.text, always=True)
        if transcript.output is not None:
            self._block("answer", _readable(transcript.output) or "(empty)")
        if transcript.exit_code is not None:
            self._block("exit code", str(transcript.exit_code))
        for name, text in transcript.files.items():
            self._block(f"file {name}", text, always=True)
        if transcript.removed_files:
            self._block("removed", ", ".join(transcript.removed_files))
        if transcript.truncated:
            lost = f", without {size(transcript.lost_bytes)} in between" if transcript.lost_bytes else ""
            self._screen.entry(["  "], (f"(the output was cut: only its beginning and end were kept{lost})", "yellow"))

    def _streams(self, transcript: Transcript) -> None:
        self._block("stdout", transcript.stdout.rstrip("\n"))
        self._block("stderr", transcript.stderr.rstrip("\n"))

    def _block(self, label: str, text: str, *, indent: int = 2, always: bool = False) -> None:
        """A text beside its label; all further lines begin below the first, so none passes for a line of ours."""
        if not text and not always:
            return
        head = " " * indent + label.ljust(LABEL - 2)
        lines = self._lines(text)
        if len(label) > LABEL - 3:
            self._screen.say((head, "dim"))
            head = " " * (indent + LABEL - 2)
        for line in lines:
            self._screen.entry([(head, "dim")], line)
            head = " " * len(head)

    def _lines(self, text: str) -> list[str]:
        shown = self._screen.clean(text)
        left = len(shown) - LONGEST_TEXT
        cut = f"\n… {left:,} more characters (--json has them all)" if left > 0 else ""
        return (shown[:LONGEST_TEXT] + cut).splitlines() or [""]


def no_failures_text(run_name: str, summary: RunSummary) -> str:
    """`every case of good passed`; else `no case of good failed; 20 are pending`."""
    counts = {"awaiting a grade": summary.awaiting, "pending": summary.pending, "skipped": summary.skipped}
    others = [f"{number:,} {'is' if number == 1 else 'are'} {state}" for state, number in counts.items() if number]
    return f"no case of {run_name} failed; {', '.join(others)}" if others else f"every case of {run_name} passed"


def _seen_state(state: str, passed: int, graded: int) -> str:
    """A case with passing and failing trials is marked as flaky."""
    return "flaky" if 0 < passed < graded and state in ("passed", "failed") else state


def _compared(grade: Grade) -> tuple[Json, Json] | None:
    """What a failing grader expected and what it found, if it compares."""
    evidence = grade.evidence
    if grade.state != "fail" or not isinstance(evidence, Mapping) or not {"expected", "actual"} <= evidence.keys():
        return None
    return evidence["expected"], evidence["actual"]


def _beside(evidence: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in evidence.items() if key not in ("expected", "actual")}


def _took(trial: Trial) -> str:
    measured = "" if trial.measured_s is None else f" (as reported; measured {duration(trial.measured_s)})"
    cost = "" if trial.cost_usd is None else f"   {money(trial.cost_usd)}"
    return f"{duration(trial.duration_s)}{measured}   seed {trial.seed}{cost}"


def _readable(value: Json) -> str:
    """A text as it is, other values as JSON: short ones on one line."""
    short = as_text(value)
    if isinstance(value, str) or len(short) <= 60:
        return short
    return json.dumps(value, ensure_ascii=False, indent=2)
