"""What runs evals under pytest: one session with its store, and the fixture `evals` on top of it.

A run that failed fails its test. A run that broke (the target is unavailable, a file is wrong) is an error, as pytest
reports errors of fixtures; what was not judged is skipped. Hooks are in `pytest_plugin.py`.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast
from uuid import uuid4

import pytest
from pydantic import BaseModel

from evalharness.domain.gate import PRESETS, GateOverrides
from evalharness.domain.problem import without_repeats
from evalharness.domain.report import Report
from evalharness.domain.reported_run import Presentation
from evalharness.domain.run import EvaluateOptions, Run
from evalharness.domain.specification import WrittenTarget
from evalharness.domain.suite import Suite
from evalharness.errors import HarnessError, Hint, UsageError, closest
from evalharness.harness import FILE, FOLDER, Harness
from evalharness.reports.terminal.run_report import TerminalReporter
from evalharness.reports.terminal.verdict import counts_text, reason_text
from evalharness.reports.wording import harmless
from evalharness.reports.words.say import say
from evalharness.reports.workflow_commands import disarmed
from evalharness.settings import find_project_folder

WrittenGate: TypeAlias = float | str | Mapping[str, Any] | GateOverrides
MARKER_ARGUMENTS = ("suite", "target", "repeat", "gate", *sorted({*EvaluateOptions.__annotations__} - {"gate"}))
HINTS_IN_PYTEST = {
    "hint.other_store": "hint.other_evals_store",
    "hint.more_trials": "hint.more_repeats",
    "hint.name_target": "hint.name_target_in_suite",
    "hint.choose_target": "hint.choose_target_in_python",
    "hint.give_variables": "hint.give_variables_in_python",
    "hint.give_case_variables": "hint.give_variables_in_python",
    "hint.other_judge": "hint.other_judge_in_python",
}
KEPT_SESSIONS = 3
"""Stores of earlier sessions; pytest keeps as many of its own temporary folders."""


class EvalError(pytest.fail.Exception):  # type: ignore[name-defined, misc]
    """The evals broke: nothing is known about the target. Shown as an error, without a stack trace."""

    __module__ = "builtins"  # reports then call it by its bare name, as they do with pytest's own

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)


class EvalWarning(pytest.PytestWarning):
    """What is doubtful in a suite file, such as a case that nothing checks."""


class EvalSession:
    """One per process. The store is made by the first run; workers of pytest-xdist share it."""

    def __init__(self, named: str, project: Path, name: str) -> None:
        self._named = named
        self._folder = find_project_folder(project) / FOLDER / "pytest" / name

    @classmethod
    def of(cls, config: pytest.Config) -> EvalSession:
        named = config.getoption("evals_store") or str(config.getini("evals_store"))
        worker: Mapping[str, str] = getattr(config, "workerinput", {})  # of pytest-xdist: one id for all workers
        return cls(named, config.rootpath, (worker.get("testrunuid") or uuid4().hex)[:8])

    @property
    def store(self) -> str:
        """As `--store` takes it."""
        if self._named:
            return self._named
        return str(from_here(self._folder))

    @cached_property
    def harness(self) -> Harness:
        if not self._named:
            self._remove_earlier()
        with errors_in_words():
            return Harness.open(self._named or self._folder / FILE)

    def close(self) -> None:
        if "harness" in vars(self):
            self.harness.close()

    def _remove_earlier(self) -> None:
        folders = self._folder.parent.glob("*/") if self._folder.parent.is_dir() else ()
        earlier = sorted((each for each in folders if each != self._folder), key=_changed)
        for folder in earlier[:-KEPT_SESSIONS]:
            shutil.rmtree(folder, ignore_errors=True)  # another process may be removing it as well

    def printable(self, text: str) -> str:
        """pytest prints it: in GitHub Actions, no answer in it may become a command."""
        return disarmed(text) if self.harness.context.settings.is_github_actions else text

    def shown(self, run: Run) -> str:
        """A run as the command line prints it, with the commands that show more."""
        stream = io.StringIO()
        presentation = Presentation(self.harness.redact, store=self.store)
        TerminalReporter().write([self.harness.reported(run)], stream, presentation)
        return stream.getvalue().strip("\n")


class Evals:
    """The fixture: runs suites for one test. Relative suite paths start at the folder of the test file."""

    def __init__(self, session: EvalSession, folder: Path) -> None:
        self._session = session
        self._folder = folder
        self.runs: list[Run] = []
        """All runs of this test, in the order in which they were made."""

    def run(
        self,
        suite: Suite | BaseModel | str | Path,
        target: WrittenTarget | None = None,
        *,
        repeat: int | None = None,
        gate: WrittenGate | None = None,
        **options: Any,
    ) -> Run:
        """Run a suite, given by itself, its file or its name, on `target` or else its own; return the finished run.

        `repeat` is the number of trials per case. `gate` is the minimum pass rate (0.9), the name of a preset, or what
        `GateOverrides` takes. `options` are those of `evalharness.domain.run.EvaluateOptions`.
        """
        if repeat is not None:
            options["trials"] = repeat
        with errors_in_words():
            if repeat is not None and (not isinstance(repeat, int) or repeat < 1):
                raise UsageError(f"repeat must be a whole number, at least 1, not {repeat!r}")
            if gate is not None:
                options["gate"] = _overrides(gate)
            run = self._session.harness.run(self._found(suite), target, progress=False, **options)
        self.runs.append(run)
        return run

    def check(self, run: Run) -> None:
        """Fail with the verdict and what did not pass; a broken run is an error; skip if nothing was judged."""
        report = run.report
        if report is None:
            raise EvalError(f"run {run.name} has no report: it was not run")
        if report.exit_code == 0:
            return
        text = self._session.printable(f"{_headline(report)}\n\n{self._session.shown(run)}")
        if report.exit_code == 1 or report.verdict == "INCONCLUSIVE":
            pytest.fail(text, pytrace=False)
        if report.verdict == "UNDECIDED" or 0 < report.summary.skipped == report.summary.total_evals:
            pytest.skip(_unjudged(report))
        raise EvalError(text)

    def run_marked(self, marker: pytest.Mark) -> None:
        if unknown := [name for name in marker.kwargs if name not in MARKER_ARGUMENTS]:
            meant = closest(unknown[0], MARKER_ARGUMENTS)
            guess = f"did you mean '{meant}'? " if meant else ""
            known = f"{guess}Known: {', '.join(MARKER_ARGUMENTS)}"
            raise EvalError(f"@pytest.mark.eval: unknown argument '{unknown[0]}'\n  {known}")
        try:
            run = self.run(*marker.args, **marker.kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # our own call, not code below
                raise EvalError(f"@pytest.mark.eval: {_without_name(error)}") from None
            raise
        self.check(run)

    def _found(self, suite: Any) -> Any:
        """A file beside the test, else whatever `evaluate` takes."""
        if not isinstance(suite, str | Path) or not (self._folder / suite).exists():
            return suite
        return from_here(self._folder / suite)


def correct_report(report: pytest.TestReport, item: pytest.Item, raised: BaseException) -> None:
    """A broken run is an error in any phase; a skipped test points at the test, not at this file."""
    if isinstance(raised, EvalError) and report.when == "call":
        report.when = "setup"  # pytest, JUnit files and pytest-xdist know errors by their phase
    if isinstance(raised, pytest.skip.Exception) and isinstance(report.longrepr, tuple):
        path, line, _ = item.reportinfo()
        *_, reason = report.longrepr
        if report.longrepr[0].startswith(str(Path(__file__).parent)):
            report.longrepr = (str(path), (line or 0) + 1, reason)


@contextmanager
def errors_in_words() -> Iterator[None]:
    """Wrong usage, broken files and broken runs, as the command line reports them."""
    try:
        yield
    except HarnessError as error:
        raise EvalError(error_text(error)) from None


def error_text(error: HarnessError) -> str:
    problems = [say(problem) for problem in without_repeats(getattr(error, "problems", ()))]
    hint = say(_in_pytest(error.hint))
    return harmless("\n".join([*(problems or [error.message]), *([f"  {hint}"] if hint else [])]))


def _in_pytest(hint: str | Hint) -> str | Hint:
    """Flags of `eval-harness` are no flags of pytest."""
    if isinstance(hint, Hint) and hint.code in HINTS_IN_PYTEST:
        return Hint(HINTS_IN_PYTEST[hint.code], **hint.params)
    return hint


def from_here(path: Path) -> Path:
    """As people write it: relative to the current folder if it is below that."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _overrides(gate: WrittenGate) -> GateOverrides:
    if isinstance(gate, GateOverrides):
        return gate
    if isinstance(gate, Mapping):
        known = GateOverrides.__dataclass_fields__
        if unknown := [key for key in gate if key not in known]:
            raise UsageError(f"unknown key '{unknown[0]}' in gate", hint=f"known: {', '.join(known)}")
        return GateOverrides(**gate)
    if isinstance(gate, str):
        return GateOverrides(preset=cast(Any, gate))  # which checks it
    if isinstance(gate, bool) or not isinstance(gate, int | float):
        kinds = f"the minimum pass rate, a preset ({', '.join(PRESETS)}) or a mapping"
        raise UsageError(f"gate must be {kinds}, not {type(gate).__name__}")
    return GateOverrides(fail_under=gate)


def _headline(report: Report) -> str:
    reason = reason_text(report)
    return f"{report.verdict}: {counts_text(report)}{f'; {reason}' if reason else ''}"


def _unjudged(report: Report) -> str:
    reasons = list(dict.fromkeys(case.reason for case in report.unjudged if case.reason))
    return f"{_headline(report)}: {'; '.join(reasons[:3])}" if reasons else _headline(report)


def _without_name(error: TypeError) -> str:
    """Python's message names our method, which the user did not call."""
    return str(error).replace("Evals.run() ", "")


def _changed(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:  # another process has removed it
        return 0.0
