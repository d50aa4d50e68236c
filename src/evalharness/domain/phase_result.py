"""What came of a phase: its evals, the tests before them, and what was changed."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.domain.finding import Finding, finding
from evalharness.domain.phase import Phase, PhaseStep
from evalharness.domain.record import Record
from evalharness.domain.report import Verdict, worst
from evalharness.domain.run import Run
from evalharness.domain.suite import LoadedFile


class Changes(Record):
    """What git counts between a revision and the files as they are."""

    since: str
    files: int
    added: int
    removed: int


class JunitSuite(Record):
    """The tests of one `testsuite`; `failing` names the first that failed."""

    name: str
    total: int = 0
    failed: int = 0
    skipped: int = 0
    failing: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        return self.total - self.failed - self.skipped


class JunitResults(Record):
    suites: tuple[JunitSuite, ...] = ()

    @property
    def total(self) -> int:
        return sum(each.total for each in self.suites)

    @property
    def passed(self) -> int:
        return sum(each.passed for each in self.suites)

    @property
    def failed(self) -> int:
        return sum(each.failed for each in self.suites)

    @property
    def is_green(self) -> bool:
        """Where no test passed, nothing is proved."""
        return self.passed > 0 and not self.failed


@dataclass(frozen=True, slots=True)
class StepResult:
    """`exit_code` is that of its evals, whether they block or not; None where they were not run."""

    step: PhaseStep
    runs: tuple[Run, ...] = ()
    exit_code: int | None = None
    why_not_run: Finding | None = None
    files: tuple[LoadedFile, ...] = ()
    """Of its suites, all without errors."""

    @property
    def phase_code(self) -> int:
        """Its share in the phase's exit code."""
        if self.step.phase_eval is None or self.exit_code is None:
            return 0
        return self.step.phase_eval.exit_code_for(self.exit_code)

    @property
    def verdict(self) -> Verdict | None:
        """Of the worst run; FAILED where tests kept the evals from being run."""
        if self.exit_code is None:
            return None
        found = [run.report for run in self.runs if run.report and run.report.exit_code == self.exit_code]
        return found[0].verdict if found else "FAILED"


@dataclass(frozen=True, slots=True)
class PhaseResult:
    phase: Phase
    phase_id: str
    name: str
    """Of the phase, else of its first suite."""
    steps: tuple[StepResult, ...]
    tests: JunitResults | None = None
    changes: Changes | None = None

    @property
    def exit_code(self) -> int:
        return worst([each.phase_code for each in self.steps])

    @property
    def verdict(self) -> Verdict:
        code = self.exit_code
        found = [each.verdict for each in self.steps if each.phase_code == code and each.verdict]
        return found[0] if code and found else "PASSED"

    @property
    def lacks_tests(self) -> bool:
        """Whether evals were not run because no test results were given."""
        codes = [each.why_not_run.code for each in self.steps if each.why_not_run]
        return "phase.no_tests_given" in codes

    @property
    def not_blocking(self) -> list[StepResult]:
        """Evals that did not pass, and do not block."""
        return [each for each in self.steps if each.exit_code and not each.phase_code]

    @property
    def why(self) -> Finding | None:
        """Why it has its verdict, where that is not simply because everything passed."""
        if self.exit_code:
            first = next(each for each in self.steps if each.phase_code == self.exit_code)
            return first.why_not_run or finding("phase.eval_failed", step=first.step.title, verdict=first.verdict or "")
        if not self.not_blocking:
            return None
        failed = [each.step.title for each in self.not_blocking if each.why_not_run is None]
        not_run = [each.step.title for each in self.not_blocking if each.why_not_run is not None]
        return finding("phase.not_blocking", "warning", steps=failed, not_run=not_run)

    @property
    def deciding_runs(self) -> list[Run]:
        """Those that made the phase fail; none where it passed."""
        code = self.exit_code
        steps = [each for each in self.steps if code and each.phase_code == code]
        return [run for each in steps for run in each.runs if run.report and run.report.exit_code == each.exit_code]

    @property
    def runs(self) -> list[Run]:
        return [run for each in self.steps for run in each.runs]
