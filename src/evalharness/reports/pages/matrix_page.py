"""What the page of several runs side by side shows: cases down, variants across, each cell opening its case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.domain.case import as_text
from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import asked_at_once
from evalharness.domain.plain_numbers import count
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.trial import Trial
from evalharness.reports.pages.case_rows import mark_of_case, share_text, strip_label
from evalharness.reports.pages.run_page import VERDICT_STATES, as_sentence
from evalharness.reports.pages.stored_cases import StoredCases
from evalharness.reports.terminal.figures import rate_text
from evalharness.reports.terminal.verdict import counts_text
from evalharness.reports.wording import money, one_line
from evalharness.reports.words.say import say

MOST_ROWS = 500
LONGEST_ANSWER = 120


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    run: str
    """The id of its run."""
    run_name: str
    verdict: str
    state: str
    rate: str
    about: str

    @property
    def title(self) -> str:
        return f"{self.name} · {self.run_name}"


@dataclass(frozen=True, slots=True)
class Cell:
    state: str
    text: str
    label: str
    key: str
    run: str
    """The id of its run."""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    id: str
    """With its suite where there are several."""
    case_id: str
    cells: Sequence[Cell | None]


@dataclass(frozen=True, slots=True)
class MatrixPage:
    title: str
    sentence: str
    columns: Sequence[Column]
    rows: Sequence[MatrixRow]
    hidden: int
    """How many cases are not listed."""
    notes: Sequence[str]


def matrix_page(runs: Sequence[ReportedRun], stored: Sequence[StoredCases]) -> MatrixPage:
    asked = _asked(runs)
    suites = list(dict.fromkeys(run.report.metadata.suite_name for run in runs))
    columns = [_column(run, with_suite=len(suites) > 1) for run in runs]
    notes = asked_at_once([run.report.comparison for run in runs if run.report.comparison])
    return MatrixPage(
        title=", ".join(suites[:3]) or "runs",
        sentence=_sentence(runs, columns),
        columns=columns,
        rows=_rows(runs, stored, asked[:MOST_ROWS]),
        hidden=max(0, len(asked) - MOST_ROWS),
        notes=[as_sentence(say(note)) for note in notes],
    )


def _sentence(runs: Sequence[ReportedRun], columns: Sequence[Column]) -> str:
    """How many passed, and which has the highest pass rate."""
    passed = sum(column.verdict == "PASSED" for column in columns)
    rates = [run.report.summary.pass_rate for run in runs]
    known = [rate for rate in rates if rate is not None]
    best = [column for column, rate in zip(columns, rates, strict=True) if rate == max(known, default=None)]
    highest = f" Highest pass rate: {best[0].name}, {best[0].rate}." if len(best) == 1 and len(known) > 1 else ""
    return f"{passed:,} of {count(len(columns), 'run')} passed.{highest}"


def _column(run: ReportedRun, *, with_suite: bool) -> Column:
    report = run.report
    about = report.metadata
    name = about.variant or (run.run.target.label if run.run else about.run_name)
    rate = report.measurements.get("pass_rate")
    parts = [counts_text(report), "" if report.cost_usd is None else money(report.cost_usd)]
    return Column(
        name=f"{about.suite_name} · {name}" if with_suite else name,
        run=about.run_id,
        run_name=about.run_name,
        verdict=report.verdict,
        state=VERDICT_STATES[report.verdict],
        rate=rate_text(rate) if rate else "–",
        about=" · ".join(part for part in parts if part),
    )


AskedCase = tuple[str, str]
"""The suite and the id of a case: runs of one suite share rows, each suite has rows of its own."""


def _asked(runs: Sequence[ReportedRun]) -> list[AskedCase]:
    """Cases on which the runs disagree first, then those that no run passes, then those that all pass."""
    states: dict[AskedCase, set[str]] = {}
    for run in runs:
        for case in run.report.cases:
            states.setdefault((run.report.metadata.suite_name, case.case_id), set()).add(mark_of_case(case))

    def urgency(asked: AskedCase) -> int:
        return 0 if len(states[asked]) > 1 else 2 if states[asked] == {"passed"} else 1

    return sorted(states, key=urgency)


def _rows(runs: Sequence[ReportedRun], stored: Sequence[StoredCases], asked: Sequence[AskedCase]) -> list[MatrixRow]:
    """Of these cases alone are trials read."""
    results = [{case.case_id: case for case in run.report.cases} for run in runs]
    suites = [run.report.metadata.suite_name for run in runs]
    rows = []
    for suite, case_id in asked:
        cells = [
            _cell(found[case_id], cases.trials(case_id), f"{number}/{case_id}", runs[number].report.metadata.run_id)
            if case_id in found and suites[number] == suite
            else None
            for number, (found, cases) in enumerate(zip(results, stored, strict=True))
        ]
        rows.append(MatrixRow(f"{suite} / {case_id}" if len(set(suites)) > 1 else case_id, case_id, cells))
    return rows


def _cell(result: CaseResult, trials: Sequence[Trial], key: str, run: str) -> Cell:
    states = [trial.state for trial in trials]
    return Cell(
        state=mark_of_case(result, states),
        text=_text(trials) or result.state,
        label=strip_label(states) or f"{result.passed} of {count(result.trials, 'trial')} passed",
        key=key,
        run=run,
    )


def _text(trials: Sequence[Trial]) -> str:
    """How many passed where there are several, and what was answered: by the first that did not pass, if any."""
    if not trials:
        return ""
    trial = next((each for each in trials if each.state != "passed"), trials[0])
    answer = one_line(as_text(trial.output) if trial.output is not None else trial.reason, LONGEST_ANSWER)
    share = share_text([each.state for each in trials]) if len(trials) > 1 else ""
    return " · ".join(part for part in (share, answer) if part)
