"""`*.eval.yaml` files under pytest: each case is a test of its own, and each test a run of its case.

A test judges its case alone: the suite's gate is about all of them together, and is left to the marker `eval` and to
`eval-harness run`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalharness.actions.locate_cases import load_located
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.actions.show_run import show_cases
from evalharness.domain.case import Case
from evalharness.domain.problem import without_repeats
from evalharness.domain.report import Report
from evalharness.domain.reported_run import Presentation
from evalharness.domain.run import Run
from evalharness.domain.suite import LoadedFile
from evalharness.errors import HarnessError
from evalharness.harness import Execution
from evalharness.reports.terminal.cases import CaseReport
from evalharness.reports.terminal.next_steps import next_steps
from evalharness.reports.terminal.screen import screen_on
from evalharness.reports.terminal.verdict import reason_text
from evalharness.reports.wording import harmless, one_line
from evalharness.reports.words.say import say
from evalharness.testing.pytest_evals import (
    EvalError,
    EvalSession,
    EvalWarning,
    error_text,
    errors_in_words,
    from_here,
)

BROKEN = ("error", "pending")


class EvalFile(pytest.File):
    def __init__(self, *, evals: EvalSession, **settings: Any) -> None:
        super().__init__(**settings)
        self._evals = evals

    def collect(self) -> Iterator[EvalItem]:
        try:
            file = self._evals.harness.call(load_located, from_here(self.path))
        except HarnessError as error:
            raise self.CollectError(error_text(error)) from None
        assert file.suite is not None
        for problem in without_repeats(each for each in file.problems if each.severity == "warning"):
            self.warn(EvalWarning(harmless(say(problem))))
        for case in file.suite.cases:
            alone = replace(file, suite=file.suite.model_copy(update={"cases": (case,), "gate": None}))
            yield EvalItem.from_parent(self, name=_node_name(case.id), file=alone, case=case, evals=self._evals)


class EvalItem(pytest.Item):
    def __init__(self, *, file: LoadedFile, case: Case, evals: EvalSession, **settings: Any) -> None:
        super().__init__(**settings)
        self._file, self._case, self._evals = file, case, evals
        self.add_marker("eval")
        self.extra_keyword_matches.update(filter(None, (*case.tags, case.category, case.name)))

    def runtest(self) -> None:
        """A suite with variants makes a run of each; all of them count."""
        with errors_in_words():
            runs = self._evals.harness.call(run_suites, RunRequest(suites=(self._file,)), Execution())
        outcomes = [(run, run.report) for run in runs if run.report is not None]
        broken = [(run, report) for run, report in outcomes if _is_broken(report)]
        failed = [(run, report) for run, report in outcomes if report.cases[0].state == "failed"]
        if broken:
            raise EvalError(self._texts(broken))
        if failed:
            pytest.fail(self._texts(failed), pytrace=False)
        unjudged = [case for _, report in outcomes for case in report.unjudged]
        if len(unjudged) == len(outcomes):
            pytest.skip("; ".join(dict.fromkeys(f"{case.state}: {case.reason}" for case in unjudged)))

    def reportinfo(self) -> tuple[Path, int, str]:
        place = self._file.places.get(self._case.id)
        return (Path(place.file), place.line - 1, self.name) if place else (self.path, 0, self.name)

    def _texts(self, outcomes: Sequence[tuple[Run, Report]]) -> str:
        """The reason of the first, for summaries of one line; then each as `eval-harness show` shows it."""
        _, first = outcomes[0]
        shown = [self._shown(run, report, with_variant=len(outcomes) > 1) for run, report in outcomes]
        return self._evals.printable("\n\n".join([one_line(_reason(first)), *shown]))

    def _shown(self, run: Run, report: Report, *, with_variant: bool) -> str:
        harness = self._evals.harness
        stream = io.StringIO()
        screen = screen_on(stream, harness.redact, Presentation().command, is_live=False)
        if with_variant:
            screen.say(f"on {run.variant}")
        for shown in harness.call(show_cases, run, [self._case.id]):
            CaseReport(screen).show(shown.case, shown.state, shown.graders, shown.trials)
        screen.say()
        if why := reason_text(report):
            screen.say(f"{report.verdict}   {why}")
        for step in next_steps(run, report, screen.command, self._evals.store)[:1]:
            screen.say(f"{step.label}   {step.command}")
        return stream.getvalue().rstrip("\n")


def _is_broken(report: Report) -> bool:
    state = report.cases[0].state
    return state in BROKEN or (report.verdict == "INVALID" and state != "skipped")


def _reason(report: Report) -> str:
    found = [*report.failures, *report.unjudged]
    return found[0].reason if found else reason_text(report)


def _node_name(case_id: str) -> str:
    """pytest prints names as they are, one on a line."""
    return one_line(case_id, 500)
