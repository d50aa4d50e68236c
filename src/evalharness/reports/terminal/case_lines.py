"""The cases of a run as people read them first: those that did not pass, each with its first reason, and a count of
the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from evalharness.domain.case import as_text
from evalharness.domain.grade import named_apart
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Failure, Report
from evalharness.domain.reported_run import ReportedRun, Verbosity
from evalharness.domain.trial import TRIAL_STATES, Trial
from evalharness.reports.terminal.answer_difference import failure_lines
from evalharness.reports.terminal.screen import MARKS, Part, Screen, padded
from evalharness.reports.terminal.verdict import flaky_passes, is_flaky
from evalharness.reports.wording import duration, from_here, history_text, listed, money, verdict_words

FIRST_CASES = 10
FIRST_REASONS = 5
NAMED = 3
WIDEST_ID = 32
LONGEST_REASON = 300
LINES_OF_A_REASON = 2
ORDER = ("failed", "flaky", "error")


class _Columns(NamedTuple):
    """How wide ids and counts are; a run of one trial per case has no counts."""

    ids: int
    counts: int

    @property
    def before_reason(self) -> int:
        return 2 + self.ids + 3 + (self.counts + 3 if self.counts else 0)


def mark_of(failure: Failure) -> str:
    """The name of its mark: a case that is not finished has that of what went wrong so far."""
    if is_flaky(failure):
        return "flaky"
    if failure.state == "pending":
        return "failed" if failure.details.get("failed") else "error"
    return failure.state


def not_passing(report: Report) -> list[Failure]:
    """Failed ones first, then flaky ones, then errors; each in the suite's order."""
    return sorted([*report.failures, *flaky_passes(report)], key=listed_first)


def not_clean(report: Report) -> dict[str, Failure]:
    """By case: all that did not pass every trial, those that nobody judged included."""
    return {failure.eval_id: failure for failure in (*not_passing(report), *report.unjudged)}


def listed_first(failure: Failure) -> int:
    return ORDER.index(mark_of(failure))


class CaseLines:
    """`verbosity`: 1 adds every trial that did not pass, 2 every trial."""

    def __init__(self, screen: Screen, run: ReportedRun, verbosity: Verbosity) -> None:
        self._screen = screen
        self._run, self._verbosity = run, verbosity
        self._report = run.report
        self._trial_lines = self._read_trials()

    def show(self) -> bool:
        """Whether there was anything to show."""
        report = self._report
        bad = not_passing(report)
        shown = bad if self._verbosity > 0 else bad[:FIRST_CASES]
        unjudged = _by_reason(report.unjudged)
        passed = self._passed_ids(is_clean=not bad and not unjudged)
        columns = self._columns(shown, [ids for _, _, ids in unjudged], passed)
        for failure in shown:
            self._failure(failure, columns)
        if len(bad) > len(shown):
            self._screen.say(f"  {len(bad) - len(shown):,} more did not pass (-v)")
        self._unjudged(unjudged, columns)
        for case_id, share in passed:
            self._row("passed", case_id, share, columns)
            self._trials(case_id)
        number = report.summary.passed - len(passed) - len(flaky_passes(report))
        if number:
            every = " every trial" if report.metadata.trials_per_case > 1 else ""
            self._screen.say(MARKS["passed"], f" {count(number, 'case')} passed{every}")
        return bool(shown or unjudged or passed or number)

    def _passed_ids(self, *, is_clean: bool) -> list[tuple[str, str]]:
        """Passing cases that are named: all on request, and those of a small suite in which nothing went wrong."""
        report = self._report
        few = is_clean and report.summary.passed <= FIRST_CASES and not report.summary.pending
        if not few and self._verbosity < 2:
            return []
        flaky = {failure.eval_id for failure in flaky_passes(report)}
        passed = [case for case in report.cases if case.state == "passed" and case.case_id not in flaky]
        return [(case.case_id, f"{case.passed}/{case.trials}") for case in passed]

    def _columns(
        self, failures: Sequence[Failure], unjudged: Sequence[Sequence[str]], passed: Sequence[tuple[str, str]]
    ) -> _Columns:
        ids = [failure.eval_id for failure in failures] + [_group_name(ids) for ids in unjudged]
        ids += [case_id for case_id, _ in passed]
        counts = [counted(failure) for failure in failures] + [share for _, share in passed]
        widest = max((self._screen.width_of(case_id) for case_id in ids), default=0)
        has_counts = self._report.metadata.trials_per_case > 1
        return _Columns(min(widest, WIDEST_ID), max(map(len, counts), default=0) if has_counts else 0)

    def _row(self, mark: str, case_id: str, share: str, columns: _Columns, *parts: Part) -> None:
        """An id that is wider than its column has a line to itself."""
        shown = self._screen.one_line(case_id, LONGEST_REASON)
        counts = f"{share.ljust(columns.counts)}   " if columns.counts else ""
        if self._screen.width_of(shown) > columns.ids:
            self._screen.say(MARKS[mark], " ", shown)
            head: list[Part] = [" " * (2 + columns.ids + 3), counts]
        else:
            head = [MARKS[mark], " ", padded(shown, columns.ids + 3), counts]
        self._screen.entry(head, *parts)

    def _failure(self, failure: Failure, columns: _Columns) -> None:
        room = self._screen.room(columns.before_reason)
        (reason, *_), *difference = failure_lines(failure, width=room)
        shown = self._screen.cut(_text_of(reason), min(room * LINES_OF_A_REASON, LONGEST_REASON))
        which = (_which(failure), "dim")
        self._row(mark_of(failure), failure.eval_id, counted(failure), columns, shown, which)
        for line in difference:
            self._screen.say(" " * columns.before_reason, *line)
        self._trials(failure.eval_id)
        history = _history(failure)
        if history and self._verbosity > 0:
            self._screen.entry(["    "], (history, "dim"))

    def _unjudged(self, groups: Sequence[tuple[str, str, Sequence[str]]], columns: _Columns) -> None:
        shown = groups if self._verbosity > 0 else groups[:FIRST_REASONS]
        for state, reason, ids in shown:
            names = f": {listed(ids[:NAMED], len(ids))}" if len(ids) > 1 else ""
            text = self._screen.cut(from_here(reason), LONGEST_REASON)
            self._row(state, _group_name(ids), "", columns, f"{state}: {text}" if text else state, names)
            for case_id in ids if self._verbosity > 0 else ():
                if len(ids) > 1:
                    self._screen.say(f"    {self._screen.one_line(case_id)}")
                self._trials(case_id)
        if len(groups) > len(shown):
            self._screen.say(f"  {count(len(groups) - len(shown), 'more reason')} (-v)")

    def _trials(self, case_id: str) -> None:
        for line in self._trial_lines.get(case_id, ()):
            self._screen.entry(*line)

    def _read_trials(self) -> dict[str, list[tuple[list[Part], Part]]]:
        """By case, the lines of those trials that are asked for: fewer than their transcripts take, in memory too."""
        found: dict[str, list[tuple[list[Part], Part]]] = {}
        for trial in (self._run.trials() or ()) if self._verbosity > 0 else ():
            if isinstance(trial, Trial) and (trial.state != "passed" or self._verbosity > 1):
                found.setdefault(trial.case_id, []).extend(self._lines(trial))
        return found

    def _lines(self, trial: Trial) -> Iterator[tuple[list[Part], Part]]:
        """A trial with its grades, their reasons and the head of its output."""
        cost = "" if trial.cost_usd is None else f"   {money(trial.cost_usd)}"
        about = f"{trial.state}   {duration(trial.duration_s)}{cost}"
        yield ["    ", MARKS[trial.state], f" trial {trial.index + 1}   "], (about, "dim")
        is_said = self._report.metadata.trials_per_case == 1  # by the line of its case
        if trial.reason and not trial.grades and not is_said:
            yield ["        "], self._screen.one_line(from_here(trial.reason), LONGEST_REASON)
        for name, grade in named_apart(trial.grades):
            reason = self._screen.one_line(from_here(grade.reason), LONGEST_REASON)
            yield [f"        {name}: "], f"{verdict_words(grade)}{f'  {reason}' if reason else ''}"
        if trial.output is not None:
            yield [("        output: ", "dim")], self._screen.one_line(as_text(trial.output), LONGEST_REASON)


def counted(failure: Failure) -> str:
    """`2/4`: trials passed of those graded; empty where none was."""
    passed, failed = (int(str(failure.details.get(state, 0))) for state in ("passed", "failed"))
    return f"{passed}/{passed + failed}" if passed + failed else ""


def _text_of(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _which(failure: Failure) -> str:
    """` (trials 2, 4)`, where not all of them are meant."""
    state = "failed" if failure.details.get("failed") else "error"
    number = int(str(failure.details.get(state, 0)))
    total = sum(int(str(failure.details.get(each, 0))) for each in TRIAL_STATES)
    if number == total or not failure.trials:
        return ""
    if len(failure.trials) < number:
        return f" ({number:,} of {count(total, 'trial')})"
    return f" (trial{'' if number == 1 else 's'} {', '.join(map(str, failure.trials))})"


def _history(failure: Failure) -> str:
    times, passed = failure.details.get("failure_count", 0), failure.details.get("last_passed")
    return history_text(int(str(times)), None if passed is None else str(passed))


def _by_reason(unjudged: Iterable[Failure]) -> list[tuple[str, str, list[str]]]:
    """Cases that nobody judged, by the state and the reason they share."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in unjudged:
        found.setdefault((case.state, case.reason), []).append(case.eval_id)
    return [(state, reason, ids) for (state, reason), ids in found.items()]


def _group_name(ids: Sequence[str]) -> str:
    return ids[0] if len(ids) == 1 else count(len(ids), "case")
