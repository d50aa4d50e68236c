"""What a command adds under GitHub Actions: annotations beside the suite file, and the step summary.

This file is also imported elsewhere, so it imports slow modules only when they are needed.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from evalharness.cli.stdout import command_name
from evalharness.domain.comparison import Comparison, Regressions
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.harness import Harness
from evalharness.reports.wording import harmless
from evalharness.reports.workflow_commands import WorkflowCommand

MOST_BYTES = 1024 * 1024
"""GitHub does not show a larger step summary at all."""


def github_step(
    harness: Harness, flags: Mapping[str, Any], stream: Any = None, redact: Callable[[str], str] | None = None
) -> GithubStep | None:
    """The step that runs this command; None outside GitHub Actions. With --json, stdout is for the document only.

    `stream` is stdout by another name; `redact` also knows secrets that are not in the environment.
    """
    if not harness.context.settings.is_github_actions:
        return None
    presentation = Presentation(redact or harness.redact, command_name(), flags["store"])
    return GithubStep(harness, presentation, sys.stderr if flags["as_json"] else stream or sys.stdout)


class GithubStep:
    """`stream` is where its annotations are printed."""

    def __init__(self, harness: Harness, presentation: Presentation, stream: Any) -> None:
        self._harness = harness
        self._settings = harness.context.settings
        self._presentation = presentation
        self._stream = stream

    def show_runs(self, runs: Sequence[ReportedRun]) -> None:
        from evalharness.reports.github_annotations import run_annotations
        from evalharness.reports.report_files import print_report

        self._annotate(run_annotations(runs, self._places))
        if runs:
            self._summarise(lambda stream: print_report("markdown", runs, stream, self._presentation))

    def show_phase(self, result: Any, runs: Mapping[str, ReportedRun], report: str) -> None:
        """Of a `PhaseResult`, whose module takes long to load; `report` is that of the phase, as Markdown."""
        from evalharness.reports.github_annotations import phase_annotations

        self._annotate(phase_annotations(result, runs, self._places))
        self._summarise(lambda stream: stream.write(report))

    def show_comparisons(self, comparisons: Sequence[Comparison], exit_code: int) -> None:
        from evalharness.reports.github_annotations import comparison_annotations

        compared = self._reported(comparisons)
        self._annotate(comparison_annotations(compared, exit_code, self._places))
        self._summarise_comparisons(compared)

    def show_regressions(self, found: Regressions) -> None:
        from evalharness.reports.github_annotations import regression_annotations

        compared = self._reported(found.comparisons)
        self._annotate(regression_annotations(found, compared, self._places))
        self._summarise_comparisons(compared)

    def _reported(self, comparisons: Sequence[Comparison]) -> list[ReportedComparison]:
        from evalharness.actions.compare_runs import report_comparisons

        return self._harness.call(report_comparisons, comparisons)

    def _places(self, run: Any) -> Any:
        from evalharness.actions.locate_cases import locate_cases

        return self._harness.call(locate_cases, run)

    def _annotate(self, annotations: Iterable[Any]) -> None:
        from evalharness.reports.github_annotations import command_lines

        for line in command_lines(annotations, self._presentation.redact, self._settings.github_workspace):
            self._stream.write(WorkflowCommand(f"{line}\n"))
        self._stream.flush()

    def _summarise_comparisons(self, compared: Sequence[ReportedComparison]) -> None:
        from evalharness.reports.report_files import print_comparisons

        if compared:
            self._summarise(lambda stream: print_comparisons("markdown", compared, stream, self._presentation))

    def _summarise(self, write: Callable[[io.StringIO], object]) -> None:
        """Appended to what earlier commands of the step wrote. If it cannot be written, the command does not fail."""
        path = self._settings.github_step_summary
        if path is None:
            return
        text = io.StringIO()
        write(text)
        content = f"{text.getvalue()}\n".encode(errors="replace")
        try:
            used = path.stat().st_size if path.exists() else 0
            if used + len(content) > MOST_BYTES:
                _warn("the step summary is full, so nothing was added: GitHub allows 1 MiB")
                return
            with path.open("ab") as file:
                file.write(content)
        except OSError as error:
            _warn(f"the step summary {path} cannot be written: {error.strerror}")


def _warn(text: str) -> None:
    print(harmless(f"warning: {text}"), file=sys.stderr)
