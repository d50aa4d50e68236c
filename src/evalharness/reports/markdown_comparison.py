"""Comparisons as Markdown: the sentence first, then both runs, then the cases that got worse, better, or changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evalharness.domain.comparison import CaseChange, ComparedRun, Comparison, asked_at_once
from evalharness.domain.finding import Finding
from evalharness.domain.plain_numbers import count
from evalharness.domain.reported_run import Presentation
from evalharness.reports.markdown_parts import MOST_NOTES, MOST_ROWS, NAMED, SENTENCE, marked, size, table
from evalharness.reports.markdown_text import MarkdownText
from evalharness.reports.terminal.comparison import compared_text, headline
from evalharness.reports.wording import first_names
from evalharness.reports.words.say import say

CASE_LIMITS = (500, 100, 20, 5, 0)
"""Cases of each kind: the first number that fits."""


def change_table(
    cases: Sequence[CaseChange], text: MarkdownText, most: int, divergences: Mapping[str, Finding] | None = None
) -> list[str]:
    """`divergences` by case, where the cases do not have theirs. Where there is none at all, there is no column."""

    def difference(case: CaseChange) -> str:
        found = case.divergence or (divergences or {}).get(case.case_id)
        return text.cell(say(found), SENTENCE // 2) if found else ""

    rows = [
        (
            text.cell(case.case_id) + (" (critical)" if case.critical else ""),
            _passed(case.old_passed, case.old_trials, case.old_score if not case.delta else None),
            _passed(case.new_passed, case.new_trials, case.new_score if not case.delta else None),
            difference(case),
        )
        for case in cases[:most]
    ]
    columns = 4 if any(row[-1] for row in rows) else 3
    head = ("Case", "Before", "Now", "First difference")
    return table(head[:columns], [row[:columns] for row in rows], most=most, total=len(cases))


class ComparisonWriter:
    def __init__(self, presentation: Presentation) -> None:
        self._text = MarkdownText(presentation.redact)

    def all(self, comparisons: Sequence[Comparison], room: int) -> list[str]:
        lines: list[str] = []
        for position, comparison in enumerate(comparisons):
            share = (room - size(lines) - SENTENCE) // (len(comparisons) - position)
            written = self._fitting(comparison, share)
            if size([*lines, *written]) > room - SENTENCE:
                return [*lines, f"{count(len(comparisons) - position, 'comparison')} left out"]
            lines += written
        notes = asked_at_once(comparisons)
        return [*lines, *(f"- Note: {self._text.inline(say(note), SENTENCE)}" for note in notes)]

    def _fitting(self, comparison: Comparison, room: int) -> list[str]:
        written: list[str] = []
        for most in CASE_LIMITS:
            written = list(self._comparison(comparison, most))
            if size(written) <= room:
                break
        return written

    def _comparison(self, found: Comparison, most: int) -> Iterator[str]:
        text = self._text
        if found.lost:
            yield from (f"## {marked('FAILED')}: {text.inline(say(found.lost), SENTENCE)}", "")
            yield from (f"All cases together: {found.verdict}, {', '.join(headline(found))}", "")
        else:
            yield from (f"## {marked(found.verdict)}: {', '.join(headline(found))}", "")
        yield from (f"Why: {text.inline(say(found.why), SENTENCE)}", "")
        if found.settle:
            yield from (f"To settle it: {text.inline(say(found.settle), SENTENCE)}", "")
        runs = [("before", run) for run in found.before[:MOST_ROWS]] + [("now", found.new)]
        rows = [(what, *(text.cell(part) if part else "" for part in _about(run))) for what, run in runs]
        yield from table(("", "Run", "Target", "From"), rows)
        yield from (f"Compared: {text.inline(compared_text(found))}", "")
        unclear = [case for case in found.cases if not case.direction]
        for title, cases in (("Worse", found.worse), ("Better", found.better[::-1]), ("Changed", unclear)):
            if cases:
                yield from (f"### {title} ({len(cases):,})", "")
                yield from change_table(cases, text, most)
        left_out = (("changed since", found.changed), ("only before", found.removed), ("only now", found.added))
        for what, ids in (*left_out, ("not judged in both", found.unjudged)):
            if ids:
                yield f"- Not compared, {what}: {text.inline(first_names(ids[:NAMED], len(ids)))} ({len(ids):,})"
        notes = [note for note in found.notes if note != found.lost]
        yield from (f"- Note: {text.inline(say(note), SENTENCE)}" for note in notes[:MOST_NOTES])
        yield ""


def _about(run: ComparedRun) -> tuple[str, str, str]:
    return run.run_name, run.variant, run.source


def _passed(passed: int, trials: int, score: float | None) -> str:
    """The score says something where as many trials passed as before."""
    return f"{passed}/{trials}{'' if score is None else f' (score {score:.3g})'}"
