"""One case of a run as a page shows it: what was asked and expected, what happened, and what each grader said.

What is shown is chosen here; how it looks is in `templates/case_panel.html`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from evalharness.domain.case import Case, as_text
from evalharness.domain.grade import Grade, named_apart
from evalharness.domain.plain_numbers import count
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.reports.alike_trials import alike_trials, likeness, ranges
from evalharness.reports.conversation import Turn, conversation
from evalharness.reports.json_difference import JsonDifference, have_parts, json_differences
from evalharness.reports.pages.word_difference import Piece, word_difference
from evalharness.reports.wording import duration, money, size, state_of_grade, verdict_words
from evalharness.values.json_value import Json

LONGEST_TEXT = 100_000
"""Characters of one text in a page; `show` prints more, and JSON has all."""
FOLDED_FROM, SHOWN_LINES, LONG_LINE = 40, 20, 200
"""Lines of a text that is folded, those that are shown of it, and the characters that count as a line."""
BRIEF_TEXT = 2_000
"""The same where only the beginning of a case is shown."""
MOST_DIFFERENCES = 200
MOST_BUTTONS = 100
"""Trials that have a button each; of more, only the groups are shown."""


class Check(NamedTuple):
    """What a grader is asked to check."""

    grader: str
    text: str


class Compared(NamedTuple):
    """An expected and an actual value: two texts word by word, or JSON values path by path."""

    grader: str
    expected: Sequence[Piece] = ()
    actual: Sequence[Piece] = ()
    is_whole: bool = False
    """Whether the actual text is the whole answer."""
    paths: Sequence[JsonDifference] = ()
    more: int = 0
    """Paths that are not shown."""


class GradeLine(NamedTuple):
    state: str
    grader: str
    kind: str
    verdict: str
    reason: str
    evidence: str
    trace: str
    is_required: bool
    is_given: bool
    """Whether there is a verdict to agree with."""


class AttemptView(NamedTuple):
    title: str
    """`attempt 2: failed`; empty where there is only one."""
    reason: str
    answer: str | None
    compared: Sequence[Compared]
    grades: Sequence[GradeLine]
    turns: Sequence[Turn]
    files: Mapping[str, str]
    removed_files: Sequence[str]
    exit_code: int | None
    stdout: str
    stderr: str
    trace: str
    lost: str
    """What of the output was not kept, in words."""


class TrialView(NamedTuple):
    """Trials that are alike."""

    numbers: Sequence[int]
    title: str
    state: str
    about: str
    attempts: Sequence[AttemptView]


class TrialButton(NamedTuple):
    number: int
    state: str
    group: int
    """Which of the groups of alike trials it is in."""


class EarlierAnswer(NamedTuple):
    """What the baseline answered, and in how many of its trials."""

    state: str
    text: str
    share: str


@dataclass(frozen=True, slots=True)
class CasePanel:
    id: str
    whose: str
    """Which run it is of, where a page has several."""
    name: str
    description: str
    question: str
    checks: Sequence[Check]
    """Except those whose expected value is shown beside the answer."""
    trials: Sequence[TrialView]
    opened: int
    """Which of them is shown first."""
    earlier: Sequence[EarlierAnswer]
    command: str
    key: str
    """Under which the page finds it."""
    run: str = ""
    """The id of its run, where that is known."""
    here: int = 0
    """The message that a link to this page points to."""
    is_alone: bool = False
    """Whether it has a page of its own."""
    buttons: Sequence[TrialButton] = ()
    """Of each trial, if there are several."""
    remark_at: str = ""
    """Where a form goes that agrees or disagrees with a grade, if there is such a place."""
    remarks: Mapping[tuple[int, str], Sequence[str]] = field(default_factory=dict)
    """What was said about grades, by the number of their trial and the name of their grader."""


def checks_of(graders: Sequence[GraderSpec]) -> list[Check]:
    return [Check(spec.label, _options_text(spec)) for spec in graders]


class PanelMaker:
    """Texts are cut to `longest` characters."""

    def __init__(self, longest: int = LONGEST_TEXT) -> None:
        self._longest = longest

    def panel(
        self,
        case: Case,
        graders: Sequence[GraderSpec],
        trials: Sequence[Trial],
        *,
        command: str,
        key: str,
        whose: str = "",
        before: Sequence[Trial] = (),
        is_brief: bool = False,
    ) -> CasePanel:
        groups = alike_trials(trials)
        compared = {grade.grader for trial in trials for grade in trial.grades if _is_compared(grade)}
        opened = next((at for at, group in enumerate(groups) if group[0].state != "passed"), 0)
        has_buttons = not is_brief and 1 < len(trials) <= MOST_BUTTONS
        if is_brief:
            groups, opened = groups[opened : opened + 1], 0
        return CasePanel(
            id=case.id,
            whose=whose,
            name=case.name,
            description=case.description,
            question=self._cut(readable(case.content)),
            checks=[
                Check(check.grader, self._cut(check.text))
                for check in checks_of(graders)
                if check.grader not in compared
            ],
            trials=[self._trials(group, len(trials)) for group in groups],
            opened=opened,
            earlier=self._earlier(before),
            command=command,
            key=key,
            buttons=_buttons(groups) if has_buttons else (),
        )

    def _trials(self, alike: Sequence[Trial], total: int) -> TrialView:
        trial = alike[0]
        numbers = [each.index + 1 for each in alike]
        several = len(alike) > 1
        noun = "result" if trial.output is None else "answer"
        same = f"same {noun} in {len(alike)} of {total} trials" if several else ""
        return TrialView(
            numbers=numbers,
            title=f"{'trials' if several else 'trial'} {ranges(numbers)}",
            state=trial.state,
            about=" · ".join(part for part in (same, _took(alike)) if part),
            attempts=self._attempts(trial),
        )

    def _attempts(self, trial: Trial) -> list[AttemptView]:
        if len(trial.attempts) == 1:  # as nearly always
            return [self.attempt(trial.attempts[0])]
        found, number = [], 1
        for _, same in groupby(trial.attempts, likeness):
            attempts = list(same)
            numbers = ranges(range(number, number + len(attempts)))
            title = f"attempt{'s' if len(attempts) > 1 else ''} {numbers}: {attempts[0].state}"
            found.append(self.attempt(attempts[0], title))
            number += len(attempts)
        return found

    def attempt(self, attempt: Attempt, title: str = "") -> AttemptView:
        transcript, grades = attempt.transcript, attempt.grades
        answer = transcript.output if transcript else None
        return AttemptView(
            title=title,
            reason="" if grades else attempt.reason,
            answer=None if answer is None else self._cut(readable(answer)),
            compared=[found for grade in grades if (found := self._compared(grade, answer))],
            grades=[self._grade(name, grade) for name, grade in named_apart(grades)],
            turns=self._turns(transcript),
            files={name: self._cut(text) for name, text in transcript.files.items()} if transcript else {},
            removed_files=transcript.removed_files if transcript else (),
            exit_code=transcript.exit_code if transcript else None,
            stdout=self._cut(transcript.stdout) if transcript else "",
            stderr=self._cut(transcript.stderr) if transcript else "",
            trace=attempt.trace,
            lost=_lost(transcript),
        )

    def _turns(self, transcript: Transcript | None) -> list[Turn]:
        """For a target that only answers, the answer is enough."""
        if transcript is None or not (transcript.messages or transcript.tool_calls):
            return []
        return [replace(turn, text=self._cut(turn.text)) for turn in conversation(transcript)]

    def _grade(self, name: str, grade: Grade) -> GradeLine:
        evidence = grade.evidence
        if isinstance(evidence, Mapping) and _is_compared(grade):
            evidence = {key: value for key, value in evidence.items() if key not in ("expected", "actual")}
        return GradeLine(
            state=state_of_grade(grade),
            grader=name,
            kind=grade.type,
            verdict=verdict_words(grade),
            reason=self._cut(grade.reason),
            evidence=self._cut(readable(evidence)) if evidence else "",
            trace=grade.trace,
            is_required=grade.required,
            is_given=grade.state != "awaiting",
        )

    def _compared(self, grade: Grade, answer: Json) -> Compared | None:
        """What a failing grader expected and what it found, if it compares."""
        evidence = grade.evidence
        if not isinstance(evidence, Mapping) or not _is_compared(grade):
            return None
        expected, actual = evidence["expected"], evidence["actual"]
        if have_parts(expected, actual):
            found = list(json_differences(expected, actual))
            return Compared(grade.grader, paths=found[:MOST_DIFFERENCES], more=max(0, len(found) - MOST_DIFFERENCES))
        pieces = word_difference(self._cut(as_text(expected)), self._cut(as_text(actual)))
        return Compared(grade.grader, *pieces, is_whole=actual == answer)

    def _earlier(self, before: Sequence[Trial]) -> list[EarlierAnswer]:
        answers: dict[tuple[str, str], int] = {}
        for trial in before:
            text = "" if trial.output is None else readable(trial.output)
            answers[trial.state, text] = answers.get((trial.state, text), 0) + 1
        return [
            EarlierAnswer(state, self._cut(text), f"{state} in {number} of {count(len(before), 'trial')}")
            for (state, text), number in answers.items()
        ]

    def _cut(self, text: str) -> str:
        left = len(text) - self._longest
        return text if left <= 0 else f"{text[: self._longest]}\n… {left:,} more characters"


def _buttons(groups: Sequence[Sequence[Trial]]) -> list[TrialButton]:
    return sorted(TrialButton(trial.index + 1, trial.state, at) for at, group in enumerate(groups) for trial in group)


def _is_compared(grade: Grade) -> bool:
    evidence = grade.evidence
    return grade.state == "fail" and isinstance(evidence, Mapping) and {"expected", "actual"} <= evidence.keys()


def _options_text(spec: GraderSpec) -> str:
    """`Lima`; of several options the main one first, the others by name: `Lima (case_sensitive: false)`."""
    options = spec.options
    if options is None or not isinstance(options, Mapping):
        return "" if options is None else readable(options)
    main = next((name for name in (spec.kind, "value", "expected") if name in options), None)
    if main is None:
        return readable(options)
    others = ", ".join(f"{name}: {as_text(value)}" for name, value in options.items() if name != main)
    return f"{readable(options[main])}{f' ({others})' if others else ''}"


def _took(trials: Sequence[Trial]) -> str:
    """Time, tokens and cost; of several trials, of each on average."""
    number = len(trials)
    used = [each.transcript.usage for trial in trials for each in trial.attempts if each.transcript]
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in used if usage) // number
    costs = [cost for trial in trials if (cost := trial.cost_usd) is not None]
    parts = [
        duration(sum(trial.duration_s for trial in trials) / number),
        count(tokens, "token") if tokens else "",
        money(sum(costs) / len(costs)) if costs else "",
        f"seed {trials[0].seed}" if number == 1 else "each on average",
    ]
    return " · ".join(part for part in parts if part)


def _lost(transcript: Transcript | None) -> str:
    if transcript is None or not transcript.truncated:
        return ""
    lost = f", without {size(transcript.lost_bytes)} in between" if transcript.lost_bytes else ""
    return f"The output was cut: only its beginning and end were kept{lost}."


class Folded(NamedTuple):
    """A long text: its beginning, what is folded, and how much that is."""

    head: str
    rest: str
    label: str


def folded(text: str) -> Folded:
    lines = text.split("\n")
    if len(lines) > FOLDED_FROM:
        rest = lines[SHOWN_LINES:]
        return Folded("\n".join(lines[:SHOWN_LINES]), "\n".join(rest), count(len(rest), "more line"))
    if len(text) > FOLDED_FROM * LONG_LINE:
        kept = SHOWN_LINES * LONG_LINE
        return Folded(text[:kept], text[kept:], count(len(text) - kept, "more character"))
    return Folded(text, "", "")


def readable(value: Json) -> str:
    """A text as it is, other values as JSON: short ones on one line."""
    short = as_text(value)
    if isinstance(value, str) or len(short) <= 60:
        return short
    return json.dumps(value, ensure_ascii=False, indent=2)
