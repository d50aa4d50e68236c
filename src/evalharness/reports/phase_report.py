"""The Phase Completion Report in Markdown: what was changed, how tests and evals went, what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import Gate
from evalharness.domain.phase import PhaseEval
from evalharness.domain.phase_result import Changes, JunitResults, PhaseResult, StepResult
from evalharness.domain.report import Recommendation, Report
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.markdown import MOST_CHARACTERS, RunWriter
from evalharness.reports.markdown_parts import SENTENCE, listed, marked, size, table, text_of
from evalharness.reports.markdown_text import MarkdownText
from evalharness.reports.without_details import shows_details, without_details
from evalharness.reports.words.say import say

BEGINNING = "<!-- eval-harness phase report -->"
MOST_SUITES = 50
NOTHING = "–"


def is_phase_report(head: str) -> bool:
    """Whether a file with this beginning may be overwritten by one."""
    return not head.strip() or head.startswith(BEGINNING)


def phase_report(result: PhaseResult, runs: Mapping[str, ReportedRun], presentation: Presentation) -> str:
    """`runs` by their ids, as reporters get them."""
    shown = {id_: each if shows_details(each.run) else without_details(each) for id_, each in runs.items()}
    writer = _Writer(result, shown, presentation)
    return text_of([BEGINNING, *writer.lines()])


class _Writer:
    def __init__(self, result: PhaseResult, runs: Mapping[str, ReportedRun], presentation: Presentation) -> None:
        self._result, self._runs = result, runs
        self._text = MarkdownText(presentation.redact)
        self._runs_writer = RunWriter(presentation)

    def lines(self) -> list[str]:
        result = self._result
        head = [*self._title(), *self._changes(result.changes), *self._tests(result.tests)]
        advice = self._advice()
        evals = self._evals(MOST_CHARACTERS - size([*head, *advice]) - SENTENCE)
        return [*head, *evals, *advice]

    def _title(self) -> Iterator[str]:
        result, inline = self._result, self._text.inline
        yield from ("## Phase Completion Report", "")
        yield from (f"{marked(result.verdict)}: {inline(result.name)} · phase {inline(result.phase_id)}", "")
        if why := result.why:
            yield from (f"Why: {inline(say(why), SENTENCE)}", "")
        rows = [
            (self._text.cell(each.step.type), self._text.cell(each.step.title), self._outcome(each))
            for each in result.steps
        ]
        if len(rows) > 1:
            yield from table(("Step", "Description", "Result"), rows)

    def _outcome(self, each: StepResult) -> str:
        why = f": {self._text.cell(say(each.why_not_run), SENTENCE)}" if each.why_not_run else ""
        verdict = marked(each.verdict) if each.verdict and each.runs else f"not run{why}"
        return verdict + (", does not block" if each in self._result.not_blocking else "")

    def _changes(self, changes: Changes | None) -> list[str]:
        if changes is None:
            return []
        return [
            "### Implementation Summary",
            "",
            f"- Files modified: {changes.files:,}",
            f"- Lines added: {changes.added:,}",
            f"- Lines removed: {changes.removed:,}",
            "",
            f"Since {self._text.code(changes.since)}, in files that git tracks.",
            "",
        ]

    def _tests(self, tests: JunitResults | None) -> list[str]:
        if tests is None:
            return []
        lines = []
        for suite in tests.suites:
            skipped = f" ({suite.skipped:,} skipped)" if suite.skipped else ""
            lines.append(f"- {self._text.inline(suite.name)}: {suite.passed:,}/{suite.total:,} passed{skipped}")
            lines += [f"  - {self._text.inline(name)} (FAILED)" for name in suite.failing]
            if more := suite.failed - len(suite.failing) if suite.failing else 0:
                lines.append(f"  - and {more:,} more")
        return ["### Test Results", "", *(listed(lines, MOST_SUITES) or ["No test was found.", ""])]

    def _evals(self, room: int) -> list[str]:
        lines = ["### Eval Results", ""]
        evals = [each for each in self._result.steps if each.step.phase_eval is not None]
        number = sum(max(1, len(each.runs)) for each in evals)
        for each in evals:
            if not each.runs:
                about = "Not run" if len(evals) == 1 else f"{self._text.inline(each.step.title)} was not run"
                lines += [f"{about}: {self._text.inline(say(each.why_not_run), SENTENCE)}", ""]
            for run in each.runs:
                reported = self._runs.get(run.id)
                if reported is not None and each.step.phase_eval is not None:
                    title = self._heading(each, reported, with_step=len(evals) > 1) if number > 1 else ""
                    lines += self._run(each.step.phase_eval, reported, room // number, title)
        return lines

    def _heading(self, step: StepResult, each: ReportedRun, *, with_step: bool) -> str:
        about, inline = each.report.metadata, self._text.inline
        run = f"{inline(about.suite_name)} on {inline(about.variant)}"
        parts = (inline(step.step.title), run) if with_step else (run,)
        return f"#### {marked(each.report.verdict)}: {' · '.join(parts)}"

    def _run(self, wanted: PhaseEval, each: ReportedRun, room: int, title: str) -> list[str]:
        """`title` parts it from other runs; empty where it is the only one."""
        report = each.report
        shown = _shown(wanted, report)
        head = [
            *([title, ""] if title else []),
            *self._runs_writer.metric_table(report, shown, NOTHING, _minimum(wanted, report)),
            *self._runs_writer.beside(report, shown),
        ]
        evals = self._runs_writer.evals(each, "#####" if title else "####", room - size(head))
        return [*head, *evals, *self._runs_writer.look(each)]

    def _advice(self) -> list[str]:
        own = [Recommendation(finding=each) for each in _tests_first(self._result)]
        found = [advice for each in self._runs.values() for advice in each.report.recommendations]
        lines = self._runs_writer.advice([*own, *found])
        return ["### Recommendations", "", *lines] if lines else []


def _shown(wanted: PhaseEval, report: Report) -> list[str]:
    """What the phase asks for or wants to see; the pass rate where that is nothing."""
    return list(dict.fromkeys(_with_k([*wanted.minimum, *wanted.metrics], report))) or ["pass_rate"]


def _minimum(wanted: PhaseEval, report: Report) -> Mapping[str, float]:
    return dict(zip(_with_k(wanted.minimum, report), wanted.minimum.values(), strict=True))


def _with_k(metrics: Iterable[str], report: Report) -> Iterator[str]:
    k = (report.gate.asked if report.gate and report.gate.asked else Gate()).k
    for name in metrics:
        yield f"{name[:-1]}{k}" if name in ("pass_at_k", "pass_hat_k") else name


def _tests_first(result: PhaseResult) -> Iterator[Finding]:
    if result.tests is not None and result.tests.failed:
        yield finding("phase.fix_tests", failed=result.tests.failed)
    if result.lacks_tests:
        yield finding("phase.give_tests")
