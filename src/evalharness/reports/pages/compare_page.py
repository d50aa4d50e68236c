"""What the page of a comparison shows: the answer first, then the cases that got worse, better, or answer differently.

`templates/compare.html` says how it looks; nothing is computed here that the comparison does not say, but for which
answers changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import zip_longest
from typing import Literal, NamedTuple

from markupsafe import Markup

from evalharness.domain.case import Case, as_text
from evalharness.domain.comparison import CaseChange, ComparedRun, Comparison
from evalharness.domain.plain_numbers import count
from evalharness.domain.reported_run import Presentation, ReportedComparison
from evalharness.domain.trial import Trial
from evalharness.reports.conversation import Turn
from evalharness.reports.pages.case_panel import AttemptView, PanelMaker, readable
from evalharness.reports.pages.case_rows import LETTERS, LONGEST_STRIP, share_text, strip_label
from evalharness.reports.pages.plots import difference_plot
from evalharness.reports.pages.run_page import FigureRow, as_sentence, command_to_show
from evalharness.reports.pages.word_difference import Piece, word_difference
from evalharness.reports.terminal.comparison import compared_text, deciding_figure, headline, reasons
from evalharness.reports.terminal.difference import method_text, numbers, shown_interval
from evalharness.reports.wording import one_line
from evalharness.reports.words.comparisons import figure_label
from evalharness.reports.words.say import say

Group = Literal["worse", "better", "answer", "same"]
TITLES: dict[Group, str] = {"worse": "Worse", "better": "Better", "answer": "Answer changed", "same": "Same"}
VERDICT_STATES = {"REGRESSION": "failed", "NO REGRESSION": "passed", "IMPROVEMENT": "passed", "INCONCLUSIVE": "flaky"}
LONGEST_ANSWER = 80


@dataclass(frozen=True, slots=True)
class RunLine:
    label: str
    name: str
    target: str
    about: str


@dataclass(frozen=True, slots=True)
class Strip:
    letters: str
    share: str
    label: str
    state: str
    rate: float


@dataclass(frozen=True, slots=True)
class ChangeRow:
    id: str
    key: str
    group: Group
    before: Strip
    now: Strip
    answer_before: str
    answer_now: str


@dataclass(frozen=True, slots=True)
class ComparePage:
    title: str
    old: str
    """The id of the run before; so is `new` of the one after it."""
    new: str
    verdict: str
    state: str
    sentence: str
    reasons: Sequence[str]
    plot: Markup | None
    plot_rows: Sequence[FigureRow]
    runs: Sequence[RunLine]
    compared: str
    figures: Sequence[FigureRow]
    notes: Sequence[str]


def compare_page(comparison: Comparison) -> ComparePage:
    found = deciding_figure(comparison)
    ends = shown_interval(found)
    is_share = found.unit == "points"
    first, *others = headline(comparison)
    sentence = f"{first}: {', '.join(others)}." if others else f"{first}."
    why = [as_sentence(text) for text in _reasons(comparison)]
    verdict: str = comparison.verdict
    state = VERDICT_STATES[verdict]
    if comparison.lost:
        why = [f"All cases together: {comparison.verdict}, {sentence}", *why]
        verdict, state, sentence = "FAILED", "failed", as_sentence(say(comparison.lost))
    return ComparePage(
        title=f"{comparison.old.run_name} → {comparison.new.run_name}",
        old=comparison.old.run_id,
        new=comparison.new.run_id,
        verdict=verdict,
        state=state,
        sentence=sentence,
        reasons=why,
        plot=difference_plot(figure_label(found.metric), found.value, ends) if is_share and found.n_cases else None,
        plot_rows=[
            FigureRow(figure_label(found.metric), " · ".join(numbers(found, comparison))),
            FigureRow("method", method_text(found, comparison)),
        ],
        runs=[*_runs(comparison)],
        compared=compared_text(comparison),
        figures=[
            FigureRow(figure_label(name), " · ".join(numbers(each, comparison)), method_text(each, comparison))
            for name, each in comparison.differences.items()
        ],
        notes=[say(note) for note in comparison.notes if note != comparison.lost],
    )


def _reasons(comparison: Comparison) -> Iterator[str]:
    yield from reasons(comparison, in_full=False)
    if comparison.settle:
        yield f"to settle it: {say(comparison.settle)}"


def _runs(comparison: Comparison) -> Iterator[RunLine]:
    for position, run in enumerate(comparison.before):
        yield _run("" if position else "before", run)
    yield _run("now", comparison.new)


def _run(label: str, run: ComparedRun) -> RunLine:
    return RunLine(label, run.run_name, run.variant, run.source)


# The cases, and which answers changed.


class ComparedTrials(NamedTuple):
    """Of one case, in both runs."""

    before: list[Trial]
    now: list[Trial]

    @property
    def answers_differ(self) -> bool:
        return _answers(self.before) != _answers(self.now)


def _answers(trials: Iterable[Trial]) -> set[str]:
    return {"" if trial.output is None else as_text(trial.output) for trial in trials}


def trials_of(compared: ReportedComparison, case_id: str) -> ComparedTrials:
    old, new = compared.old, compared.new
    return ComparedTrials(
        list(old.trials_of(case_id)) if old else [],
        list(new.trials_of(case_id)) if new else [],
    )


def _change_row(case_id: str, change: CaseChange | None, trials: ComparedTrials, prefix: str) -> ChangeRow:
    if change is not None:
        group = _group_of(change)
        counts = (change.old_passed, change.old_trials), (change.new_passed, change.new_trials)
    else:
        group = "answer" if trials.answers_differ else "same"
        counts = ((0, 0), (0, 0))
    was, is_now = shown_trials(group, trials)
    return ChangeRow(
        id=case_id,
        key=f"{prefix}{case_id}",
        group=group,
        before=_strip(trials.before, counts[0]),
        now=_strip(trials.now, counts[1]),
        answer_before=_short_answer(was),
        answer_now=_short_answer(is_now),
    )


def _group_of(change: CaseChange) -> Group:
    return "worse" if change.direction < 0 else "better"


def _strip(trials: Sequence[Trial], counted: tuple[int, int]) -> Strip:
    states = [trial.state for trial in sorted(trials, key=lambda trial: trial.index)]
    passed, total = (states.count("passed"), len(states)) if states else counted
    state = "passed" if passed == total else "flaky" if passed else "failed"
    rate = passed / total if total else 0.0
    if not states:
        return Strip("", f"{passed} of {total}", f"{passed} of {count(total, 'trial')} passed", state, rate)
    letters = "".join(LETTERS[each] for each in states) if len(states) <= LONGEST_STRIP else ""
    return Strip(letters, share_text(states), strip_label(states), state, rate)


def _short_answer(trial: Trial | None) -> str:
    if trial is None:
        return ""
    return one_line(as_text(trial.output) if trial.output is not None else trial.reason, LONGEST_ANSWER)


def shown_trials(group: Group, trials: ComparedTrials) -> tuple[Trial | None, Trial | None]:
    """One of each run, that show best what changed."""
    before, now = trials
    was, wanted = {"worse": ("passed", "failed"), "better": ("failed", "passed")}.get(group, ("", ""))
    old = next((trial for trial in before if trial.state == was), before[0] if before else None)
    answer = as_text(old.output) if old else ""
    likely = [trial for trial in now if trial.state == wanted] or [
        trial for trial in now if as_text(trial.output) != answer
    ]
    return old, next(iter(likely or now), None)


# One case of both runs, side by side.


@dataclass(frozen=True, slots=True)
class Side:
    title: str
    state: str
    answer: Sequence[Piece]
    attempt: AttemptView


class Step(NamedTuple):
    """A turn of each run; None where only the other one has it."""

    before: Turn | None
    now: Turn | None
    is_same: bool


@dataclass(frozen=True, slots=True)
class ComparePanel:
    id: str
    question: str
    before: Side | None
    now: Side | None
    steps: Sequence[Step]
    first_difference: int | None
    """The position of the first step that differs."""
    commands: Sequence[str]


def compare_panel(row: ChangeRow, case: Case | None, trials: ComparedTrials, commands: Sequence[str]) -> ComparePanel:
    old, new = shown_trials(row.group, trials)
    maker = PanelMaker()
    texts = [readable(trial.output) if trial and trial.output is not None else "" for trial in (old, new)]
    left, right = word_difference(*texts)
    before, now = _side(old, left, maker, "Before"), _side(new, right, maker, "Now")
    steps = aligned(before.attempt.turns if before else (), now.attempt.turns if now else ())
    return ComparePanel(
        id=row.id,
        question=readable(case.content) if case else "",
        before=before,
        now=now,
        steps=steps,
        first_difference=next((at for at, step in enumerate(steps) if not step.is_same), None),
        commands=commands,
    )


def _side(trial: Trial | None, answer: Sequence[Piece], maker: PanelMaker, when: str) -> Side | None:
    if trial is None:
        return None
    return Side(f"{when} · trial {trial.index + 1} {trial.state}", trial.state, answer, maker.attempt(trial.last))


def aligned(before: Sequence[Turn], now: Sequence[Turn]) -> list[Step]:
    """Both conversations, equal turns beside each other."""
    steps: list[Step] = []
    for kind, left, right in _matched(before, now, lambda turn: turn.likeness):
        if kind == "equal":
            steps += [Step(one, other, True) for one, other in zip(left, right, strict=True)]
            continue
        for _, some, others in _matched(left, right, lambda turn: turn.speaker):  # the same tool, another question
            steps += [Step(one, other, False) for one, other in zip_longest(some, others)]
    return steps


def _matched(
    before: Sequence[Turn], now: Sequence[Turn], key: Callable[[Turn], object]
) -> Iterator[tuple[str, Sequence[Turn], Sequence[Turn]]]:
    matcher = SequenceMatcher(None, [key(turn) for turn in before], [key(turn) for turn in now], autojunk=False)
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        yield kind, before[i1:i2], now[j1:j2]


# All cases of one comparison.

MOST_ROWS = 500
"""In each group."""


@dataclass(frozen=True, slots=True)
class ShownComparison:
    page: ComparePage
    rows: Sequence[ChangeRow]
    counts: Mapping[str, int]
    first: str
    """Which group is shown first."""
    prefix: str
    hidden: Mapping[str, int]
    """By group, how many cases are not listed."""


class ComparedCases:
    """`prefix` tells these cases from those of other comparisons on the page; in each group `most_rows` are shown.

    Of cases whose results are the same, the answers of the first `most_read` are compared; None: of all.
    """

    def __init__(
        self,
        compared: ReportedComparison,
        presentation: Presentation,
        prefix: str = "",
        *,
        most_rows: int = MOST_ROWS,
        most_read: int | None = None,
    ) -> None:
        self._compared, self._prefix, self._presentation = compared, prefix, presentation
        self._most_rows, self._most_read = most_rows, most_read
        comparison = compared.comparison
        self._changed = {change.case_id: change for change in comparison.cases if change.direction}
        self._left_out = {*comparison.changed, *comparison.added, *comparison.removed, *comparison.unjudged}
        self._counts: Counter[str] = Counter()

    @cached_property
    def rows(self) -> list[ChangeRow]:
        """Those that changed as the comparison lists them, then the others in the suite's order; by group."""
        found = []
        for case_id, change in self._changed.items():
            group = _group_of(change)
            self._counts[group] += 1
            if self._counts[group] <= self._most_rows:
                found.append(self._row(case_id))
        others = self._others
        for case_id in others[: self._most_read]:
            row = self._row(case_id)
            self._counts[row.group] += 1
            if self._counts[row.group] <= self._most_rows:
                found.append(row)
        self._counts["same"] += self._unread
        return sorted(found, key=lambda row: list(TITLES).index(row.group))

    def shown(self) -> ShownComparison:
        rows = self.rows
        first = next((group for group in TITLES if self._counts[group]), "same")
        page = compare_page(self._compared.comparison)
        if self._unread:
            note = f"Of {len(self._others):,} cases with the same results, the answers of the first {self._most_read:,}"
            page = replace(page, notes=[*page.notes, f"{note} are compared."])
        return ShownComparison(
            page=page,
            rows=rows,
            counts=self._counts,
            first=f"{self._prefix}{first}",
            prefix=self._prefix,
            hidden={group: each - self._most_rows for group, each in self._counts.items() if each > self._most_rows},
        )

    def panel(self, case_id: str) -> ComparePanel | None:
        """None for a case that was not compared, or of which only figures are known."""
        trials = trials_of(self._compared, case_id)
        if not (trials.before or trials.now) or (case_id in self._left_out and case_id not in self._changed):
            return None
        sides = (self._compared.old, self._compared.new)
        commands = [command_to_show(run, self._presentation, case_id) for run in sides if run]
        return compare_panel(self._row(case_id), self._asked.get(case_id), trials, commands)

    def _row(self, case_id: str) -> ChangeRow:
        return _change_row(case_id, self._changed.get(case_id), trials_of(self._compared, case_id), self._prefix)

    @cached_property
    def _others(self) -> list[str]:
        compared = self._compared
        both = compared.new.report.cases if compared.new and compared.old else ()
        known = self._changed.keys() | self._left_out
        return [case.case_id for case in both if case.case_id not in known]

    @property
    def _unread(self) -> int:
        return 0 if self._most_read is None else max(0, len(self._others) - self._most_read)

    @cached_property
    def _asked(self) -> dict[str, Case]:
        new = self._compared.new
        return {case.id: case for case in new.asked()} if new else {}
