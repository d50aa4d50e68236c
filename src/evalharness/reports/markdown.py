"""Runs and comparisons as Markdown that fits into a pull request: the answer, the figures, each eval as a ticked or
empty box, what got worse, what to do next.

Never longer than `MOST_CHARACTERS`, whatever the run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, ClassVar

from evalharness.contracts.reporter import Reporter
from evalharness.domain.comparison import asked_at_once
from evalharness.domain.gate import GateCheck
from evalharness.domain.measurement import RETRIEVAL_FIGURES
from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.report import Recommendation, Report, worst
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.reports.markdown_comparison import ComparisonWriter, change_table
from evalharness.reports.markdown_evals import MarkdownEvals
from evalharness.reports.markdown_matrix import MarkdownMatrix, rate_of
from evalharness.reports.markdown_parts import MOST_NOTES, NAMED, SENTENCE, listed, marked, size, table, text_of
from evalharness.reports.markdown_text import MarkdownText
from evalharness.reports.terminal.case_findings import quarantined, selftested
from evalharness.reports.terminal.comparison import headline
from evalharness.reports.terminal.figures import figures, rate_text
from evalharness.reports.terminal.next_steps import IN_MEMORY
from evalharness.reports.terminal.screen import MARKS
from evalharness.reports.terminal.verdict import counts_text, reason_text
from evalharness.reports.wording import duration, first_names, naming, show_command
from evalharness.reports.words.say import say

MOST_CHARACTERS = 60_000
"""GitHub allows 65,536 in a comment."""
MOST_ADVICE = 20
MOST_CHANGES = 20
LEAST_ROOM = 2000
"""Characters that one of several runs needs to be shown in full."""
_REPORT, _COMPARISON = "<!-- eval-harness report -->", "<!-- eval-harness comparison -->"
_K = re.compile(r"pass_(at|hat)_(\d+)\b")
_RATES = ("pass_rate", "case_pass_rate", "score")


class MarkdownReporter(Reporter):
    name: ClassVar[str] = "markdown"
    endings: ClassVar[tuple[str, ...]] = (".md", ".markdown")
    compares: ClassVar[bool] = True

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        writer = RunWriter(presentation)
        lines = writer.run(runs[0], MOST_CHARACTERS) if len(runs) == 1 else writer.several(runs, MOST_CHARACTERS)
        stream.write(text_of([_REPORT, *lines]))

    def recognises(self, head: str) -> bool:
        return not head.strip() or head.startswith(_REPORT)

    def write_comparisons(
        self, compared: Sequence[ReportedComparison], stream: IO[str], presentation: Presentation
    ) -> None:
        lines = ComparisonWriter(presentation).all([each.comparison for each in compared], MOST_CHARACTERS)
        stream.write(text_of([_COMPARISON, *lines]))

    def recognises_comparisons(self, head: str) -> bool:
        return not head.strip() or head.startswith(_COMPARISON)


class RunWriter:
    """What is said of a run; a report of several things takes the parts that it needs."""

    def __init__(self, presentation: Presentation) -> None:
        self._text = MarkdownText(presentation.redact)
        self._command, self._store = presentation.command, presentation.store

    def run(self, each: ReportedRun, room: int, heading: str = "##") -> list[str]:
        report = each.report
        head = [*self._title(report, heading), *self._figures(report, f"{heading}#")]
        tail = [*self._regressions(each, f"{heading}#"), *self._advice(report, f"{heading}#")]
        left = room - len(_REPORT) - size([*head, *tail]) - SENTENCE
        return [*head, *self.evals(each, f"{heading}##", left), *tail, *self.look(each)]

    def several(self, runs: Sequence[ReportedRun], room: int) -> list[str]:
        """Side by side, then each run on its own, folded, as long as there is room."""
        lines = self._overview(runs)
        by_suite: dict[str, list[ReportedRun]] = {}
        for each in runs:
            by_suite.setdefault(each.report.metadata.suite_name, []).append(each)
        for alike in by_suite.values():
            share = (room - size(lines)) // 3
            lines += MarkdownMatrix(self._text, alike).lines(share) if len(alike) > 1 and share > LEAST_ROOM else []
        room -= size(lines) + SENTENCE
        for position, each in enumerate(runs):
            share = room // (len(runs) - position)
            if share < LEAST_ROOM:
                names = [other.report.metadata.run_name for other in runs[position:]]
                command = f"{self._command} report {shlex.quote(names[0])}{naming(self._store)}"
                return [*lines, f"{count(len(names), 'run')} not shown in full: {self._text.code(command)}"]
            name = self._text.summary(each.report.metadata.run_name)
            folded = self.run(each, share, "###")
            lines += [f"<details><summary>{name}</summary>", "", *folded, "", "</details>", ""]
            room -= size(folded) + len(name) + 50
        return lines

    def _title(self, report: Report, heading: str) -> list[str]:
        about, text = report.metadata, self._text
        shape = f"{count(report.summary.total_evals, 'case')} × {count(about.trials_per_case, 'trial')}"
        target = [text.inline(about.variant)] if about.variant else []
        named = f"run {text.inline(about.run_name)}"
        reason = reason_text(report)
        why = [f"Why: {text.inline(reason, SENTENCE)}", ""] if reason else []
        return [
            f"{heading} {marked(report.verdict)}: {text.inline(about.suite_name)}",
            "",
            f"{counts_text(report)} · " + " · ".join([*target, shape, duration(about.duration_seconds), named]),
            "",
            *why,
        ]

    def _figures(self, report: Report, heading: str) -> list[str]:
        checked = {check.name for check in (report.gate.checks if report.gate else ())}
        rates = [name for name in report.measurements if _is_rate(name) or name in RETRIEVAL_FIGURES]
        shown = [name for name in rates if name in checked or _adds_something(name, report)]
        rate = report.measurements.get("pass_rate")
        has_interval = rate is not None and rate.low is not None
        level = [f"In brackets: {rate.level * 100:.0f} % confidence intervals.", ""] if rate and has_interval else []
        return [
            f"{heading} Eval results",
            "",
            *self.metric_table(report, shown),
            *level,
            *self.beside(report, shown),
        ]

    def metric_table(
        self, report: Report, shown: Iterable[str], unset: str = "", minimum: Mapping[str, float] | None = None
    ) -> list[str]:
        """These metrics, and whatever else a gate checked; `unset` stands where a metric has no threshold.

        `minimum` are thresholds that a run was to be judged by, also if it broke before its gate could judge.
        """
        wanted = {name: percent(value) for name, value in (minimum or {}).items()}
        checks = {check.name: check for check in (report.gate.checks if report.gate else ())}
        rows: list[Sequence[str]] = []
        for name in shown:
            found, check = report.measurements.get(name), checks.pop(name, None)
            asked = _threshold(check) if check else (wanted.get(name, unset), unset)
            rows.append((_label(name), rate_text(found) if found else "–", *asked))
        rows += [self._check(check) for check in checks.values()]
        return table(("Metric", "Value", "Threshold", "Status"), rows) if rows else []

    def beside(self, report: Report, in_table: Sequence[str]) -> list[str]:
        """What no table shows: errors, cost, an early stop, quarantined and unsound cases, and notes."""
        return listed(self._beside(report, in_table), MOST_NOTES)

    def _beside(self, report: Report, in_table: Sequence[str]) -> Iterator[str]:
        left_out = ["pass", "score"] if "pass_rate" in report.measurements else []
        left_out += ["retrieval"] if any(name in RETRIEVAL_FIGURES for name in in_table) else []
        shown = (line for line in figures(report) if not line.label.startswith(tuple(left_out)))
        for line in (*shown, *quarantined(report), *selftested(report)):
            label = f"{line.label.capitalize()}: " if line.label else ""
            yield f"- {label}{self._text.inline(line.text, SENTENCE)}"
        for note in (*report.notes, *(report.gate.notes if report.gate else ())):
            yield f"- Note: {self._text.inline(say(note), SENTENCE)}"

    def _check(self, check: GateCheck) -> tuple[str, ...]:
        """A check of a group, or of something other than a rate."""
        metric, _, group = check.name.partition(" ")
        threshold, status = _threshold(check)
        name = self._text.cell(f"{_label(metric)} ({group})" if group else _label(metric))
        if not _is_rate(metric):
            return name, self._text.cell(say(check.text), SENTENCE), "", status
        return name, "" if check.value is None else percent(check.value), threshold, status

    def _regressions(self, each: ReportedRun, heading: str) -> list[str]:
        report = each.report
        found = report.comparison
        if found is None:
            why = say(report.not_compared)
            return (
                [f"{heading} Regressions", "", f"Not compared: {self._text.inline(why, SENTENCE)}", ""] if why else []
            )
        sentence = f"{marked(found.verdict)} against {self._text.inline(found.against)}: {', '.join(headline(found))}"
        changes = change_table(found.worse, self._text, MOST_CHANGES, each.divergences()) if found.worse else []
        return [f"{heading} Regressions", "", sentence, "", *(changes or ["No case got worse.", ""])]

    def _advice(self, report: Report, heading: str) -> list[str]:
        lines = self.advice(report.recommendations)
        return [f"{heading} Recommendations", "", *lines] if lines else []

    def advice(self, recommendations: Iterable[Recommendation]) -> list[str]:
        lines = []
        for number, advice in enumerate(recommendations, 1):
            names = first_names(advice.cases[:NAMED], len(advice.cases))
            about = f" ({self._text.inline(names)})" if names else ""
            lines.append(f"{number}. {self._text.inline(say(advice.finding), SENTENCE)}{about}")
        return listed(lines, MOST_ADVICE)

    def evals(self, each: ReportedRun, heading: str, room: int) -> list[str]:
        return MarkdownEvals(self._text, self._shown_by(each)).lines(each, heading, room)

    def look(self, each: ReportedRun) -> list[str]:
        """The command that shows all of the run."""
        command = self._shown_by(each)("", "")
        return [f"Everything about this run: {command}", ""] if command else []

    def _shown_by(self, each: ReportedRun) -> Callable[[str, str], str]:
        """The command that shows a case, or what a flag says; empty where the run is in no store that it could read."""
        run = each.run

        def show(case_id: str = "", flag: str = "") -> str:
            if run is None or self._store == IN_MEMORY:
                return ""
            return self._text.code(show_command(self._command, run.name, naming(self._store), case_id, flag), 400)

        return show

    # Several runs side by side.

    def _overview(self, runs: Sequence[ReportedRun]) -> list[str]:
        reports = [each.report for each in runs]
        code = worst([report.exit_code for report in reports])
        verdict = next(report.verdict for report in reports if report.exit_code == code)
        suites = list(dict.fromkeys(report.metadata.suite_name for report in reports))
        of = self._text.inline(first_names(suites[:NAMED], len(suites)))
        rows = [
            (
                self._text.cell(report.metadata.run_name),
                *([self._text.cell(report.metadata.suite_name)] if len(suites) > 1 else []),
                self._text.cell(report.metadata.variant),
                marked(report.verdict),
                rate_of(report),
                counts_text(report),
            )
            for report in reports
        ]
        suite = ["Suite"] if len(suites) > 1 else []
        head = ("Run", *suite, "Target", "Verdict", "Pass rate", "Cases")
        notes = asked_at_once([report.comparison for report in reports if report.comparison])
        return [
            f"## {marked(verdict)}: {of}, {count(len(runs), 'run')}",
            "",
            *table(head, rows),
            *listed((f"- Note: {self._text.inline(say(note), SENTENCE)}" for note in notes), MOST_NOTES),
        ]


def _label(metric: str) -> str:
    """`pass@3`, `pass^3`, `pass rate`, `nDCG`."""
    if metric in RETRIEVAL_FIGURES:
        return RETRIEVAL_FIGURES[metric]
    return _K.sub(lambda k: f"pass{'@' if k[1] == 'at' else '^'}{k[2]}", metric).replace("_", " ")


def _is_rate(metric: str) -> bool:
    return metric in _RATES or _K.match(metric) is not None


def _adds_something(metric: str, report: Report) -> bool:
    """pass^1 is pass@1, and a score may say no more than the pass rate."""
    rate, found = (report.measurements.get(name) for name in ("pass_rate", metric))
    is_repeated = rate is not None and found is not None and rate_text(rate) == rate_text(found)
    return metric != "pass_hat_1" and not (metric == "score" and is_repeated)


def _threshold(check: GateCheck) -> tuple[str, str]:
    """What was asked for, and whether it was reached."""
    wanted = "" if check.wanted is None else percent(check.wanted)
    if not check.computable:
        return wanted, f"{MARKS['error'][0]} UNKNOWN"
    if check.passed is None:
        return wanted, f"{MARKS['awaiting'][0]} UNDECIDED"
    return wanted, f"{MARKS['passed'][0]} PASS" if check.passed else f"{MARKS['failed'][0]} FAIL"
