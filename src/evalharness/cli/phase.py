"""`eval-harness phase`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import EXECUTION, OUTPUT, SELECTION, Command
from evalharness.cli.container_flags import container_options, container_wishes
from evalharness.cli.flags import (
    concurrency_option,
    debug_option,
    env_option,
    json_option,
    model_options,
    model_wishes,
    option,
    output_to,
    sandbox_option,
    store_option,
    var_option,
    verbosity_options,
)


def _markdown_files(_context: click.Context, _option: click.Parameter, paths: tuple[str, ...]) -> Any:
    if not paths:
        return ()
    from evalharness.reports.phase_files import check_phase_outputs  # slow to load: only for those who want a file

    return check_phase_outputs(paths)


@click.command("phase", cls=Command)
@click.argument("file", type=click.Path(path_type=Path))
@option(
    "--tests",
    multiple=True,
    metavar="JUNIT.XML",
    type=click.Path(path_type=Path),
    heading=SELECTION,
    help="Results of the tests; evals with `when: after_tests_pass` need them. Repeatable.",
)
@option(
    "--since",
    envvar="EVALHARNESS_PHASE_SINCE",
    metavar="REV",
    default="",
    heading=OUTPUT,
    help="Count changes since this git revision.  [default: uncommitted changes]",
)
@option(
    "--phase-id",
    metavar="ID",
    default="",
    heading=OUTPUT,
    help="Value of {phase_id} in report_path.  [default: made from the name of the phase, else of the suite]",
)
@option(
    "--target",
    "targets",
    multiple=True,
    metavar="T",
    heading=EXECUTION,
    help="What to test, in place of the suites' own target; as for `run`. Repeatable.",
)
@concurrency_option
@sandbox_option
@container_options
@env_option
@var_option
@model_options
@output_to(
    "EVALHARNESS_PHASE_OUTPUT", _markdown_files, "Write the report to FILE (.md) instead of where the phase file says."
)
@verbosity_options
@json_option
@store_option
@debug_option
def command(file: Path, **flags: Any) -> int:
    """Run the evals of a phase file in order, and write the Phase Completion Report.

    Steps of other types are listed and not run. An eval that fails and blocks ends the phase.

    Exit codes: 0 passed, 1 an eval that blocks failed, or the tests it waits for did not pass, 2 wrong usage or a
    broken file, 3 a run broke, 4 undecided, 130 interrupted. Evals that do not block turn 1 and 4 into 0.
    """
    # Imported here: `--help` must not pay for what only a run needs.
    from evalharness.actions.run_phase import PhaseRequest, run_phase
    from evalharness.cli.process import export
    from evalharness.cli.reporting import running
    from evalharness.domain.run import RunOptions
    from evalharness.harness import Harness

    request = PhaseRequest(
        file=file,
        phase_id=flags["phase_id"],
        since=flags["since"],
        tests=flags["tests"],
        outputs=tuple(flags["outputs"]),
        targets=flags["targets"],
        variables=flags["variables"],
        env=flags["env"],
        options=RunOptions(
            max_concurrency=flags["max_concurrency"],
            sandbox=flags["sandbox"],
            containers=container_wishes(flags),
            **model_wishes(flags),
        ),
    )
    export(request.env)
    with Harness.open(flags["store"]) as harness, running({**flags, "save_sessions": None}, harness) as command:
        finished = harness.call(run_phase, request, command.execution)
        return _Reporting(finished, command, harness, {**flags, "file": file}).report()


class _Reporting:
    """Prints the runs and the phase, writes its files, and notifies."""

    def __init__(self, finished: Any, command: Any, harness: Any, flags: dict[str, Any]) -> None:
        from evalharness.cli.stdout import command_name, is_live
        from evalharness.domain.reported_run import Presentation

        self._finished, self._result = finished, finished.result
        self._command, self._harness, self._flags = command, harness, flags
        self._stream = command.finish()
        self._runs = {run.id: harness.reported(run) for run in self._result.runs if run.report}
        self._presentation = Presentation(
            finished.redactor.redact,
            command_name(),
            flags["store"],
            is_live(self._stream),
            with_next_step=False,
            with_header=len(self._runs) > 1 or not command.has_announced(self._result.runs),
            verbosity=flags["verbosity"],
        )

    def report(self) -> int:
        """Returns the exit code."""
        from evalharness.cli.github import github_step
        from evalharness.reports.phase_report import phase_report

        text = phase_report(self._result, self._runs, self._presentation)
        if step := github_step(self._harness, self._flags, self._stream, self._presentation.redact):
            step.show_phase(self._result, self._runs, text)
        try:
            self._print_runs()
        finally:  # files are for others than those who read the screen
            code, files = self._write_files(text)
        self._print_phase(files)
        self._stream.flush()
        self._notify()
        return code

    def _print_runs(self) -> None:
        from evalharness.reports.report_files import print_report

        if self._flags["as_json"] or self._flags["verbosity"] < 0:
            return
        for step in self._result.steps:
            shown = [self._runs[run.id] for run in step.runs if run.id in self._runs]
            if shown:
                print_report("terminal", shown, self._stream, self._presentation)

    def _write_files(self, text: str) -> tuple[int, list[Path]]:
        """The exit code, and the files that were written."""
        from evalharness.cli.reporting import warn_of_links
        from evalharness.cli.written_files import write_all
        from evalharness.reports.phase_files import archive_phase
        from evalharness.reports.report_files import write_documents
        from evalharness.reports.report_folders import write_folder

        finished, presentation = self._finished, self._presentation
        passed = [step for step in self._result.steps if step.runs and step.exit_code == 0]
        archived = [run.id for step in passed if step.step.phase_eval.on_success.archive_results for run in step.runs]
        kept = [self._runs[id_] for id_ in archived if id_ in self._runs]
        writes: list[Callable[[], Iterable[Path]]] = [
            partial(write_documents, [path], text) for path in finished.reports
        ]
        writes += [partial(write_folder, each, presentation) for each in self._runs.values()]
        if kept:
            writes.append(
                partial(archive_phase, finished.archive, finished.root, self._result.phase_id, text, kept, presentation)
            )
        warn_of_links(self._runs.values(), presentation.redact)
        return write_all(self._result.exit_code, writes, presentation.redact)

    def _print_phase(self, files: list[Path]) -> None:
        """`files` were written; the JSON document names those of the phase itself."""
        from evalharness.cli.stdout import screen_on
        from evalharness.cli.written_files import from_here
        from evalharness.reports.json_text import json_text
        from evalharness.reports.phase_json import phase_document
        from evalharness.reports.terminal.next_steps import NextStep, next_steps
        from evalharness.reports.terminal.phase import PhaseScreen

        redact = self._presentation.redact
        if self._flags["as_json"]:
            written = [from_here(path) for path in self._finished.reports if path in files]
            document = phase_document(self._result, self._runs, written, self._presentation)
            self._stream.write(json_text(document, redact) + "\n")
            return
        screen = PhaseScreen(screen_on(self._stream, redact))
        if self._flags["verbosity"] < 0:
            screen.verdict(self._result)
            return
        failed = [self._runs[run.id] for run in self._result.deciding_runs]
        failed += [each for each in self._runs.values() if each.report.exit_code]
        steps = [
            step
            for each in failed[:1]
            for step in next_steps(each.run, each.report, self._presentation.command, self._flags["store"])[:1]
        ]
        if self._result.lacks_tests:
            steps = [NextStep("rerun", self._with_tests())]
        screen.show(self._result, [from_here(path) for path in files], steps)

    def _with_tests(self) -> str:
        """The same command, with the results of the tests."""
        given = [("--target", target) for target in self._flags["targets"]]
        given += [(f"--{name}", self._flags[name.replace("-", "_")]) for name in ("phase-id", "since", "store")]
        options = [word for option, value in given if value for word in (option, value)]
        words = shlex.join(["phase", str(self._flags["file"]), *options, "--tests", "junit.xml"])
        return f"{self._presentation.command} {words}"

    def _notify(self) -> None:
        from evalharness.actions.notify_of_runs import notify_of_phase
        from evalharness.cli.reporting import print_notify_warnings

        if not self._command.execution.stop.is_sent:
            arguments = (self._result, self._flags["variables"], self._flags["env"])
            print_notify_warnings(
                lambda: self._harness.call(notify_of_phase, *arguments),
                self._command.execution.stop,
                self._presentation.redact,
            )
