"""What to type after a run: at most two commands, each ready to be pasted.

Which one helps depends on what went wrong: a fixed target is run again (`rerun`), the answers are graded again by a
fixed grader (`regrade`), and what failed for reasons outside is continued as it is (`resume`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.exchange import Mode
from evalharness.domain.options import Options
from evalharness.domain.report import Failure, Report
from evalharness.domain.run import Run
from evalharness.domain.specification import GraderSpec, is_live
from evalharness.errors import UsageError
from evalharness.reports.terminal.case_lines import listed_first
from evalharness.reports.wording import naming, show_command
from evalharness.reports.words.job_command import rerun_of, run_command

MOST_STEPS = 2
IN_MEMORY = ":memory:"
ANY_JUDGE = "PROVIDER/MODEL"
_ASK_THE_TARGET = ("rerun", "record", "resume")


class NextStep(NamedTuple):
    """`label` is look, rerun, record, resume, regrade, grade (by a judge), rate (by people) or decide; or note, with a
    sentence instead of a command."""

    label: str
    command: str


def next_steps(
    run: Run, report: Report, command: str, store: str | None = None, *, is_shown: bool = False
) -> list[NextStep]:
    """`command` is how the user calls the harness; `store` the one that was named, if any.

    Where the run `is_shown` already, showing it is no next step, but showing one of its cases is.
    """
    if store == IN_MEMORY:
        return [NextStep("note", "nothing was stored (--store :memory:); run without it to look at the answers")]
    steps = _Steps(run, report, command, naming(store), is_shown=is_shown).all()
    refused = _ASK_THE_TARGET if is_live(run.target) else ()  # no command can name such a target
    return [step for step in steps if step.label not in refused][:MOST_STEPS]


class _Steps:
    def __init__(self, run: Run, report: Report, command: str, named: str, *, is_shown: bool) -> None:
        self._run, self._report = run, report
        self._failures = sorted(report.failures, key=listed_first)
        self._command, self._named = command, named
        self._is_shown = is_shown

    def all(self) -> Iterator[NextStep]:
        report, run = self._report, self._run
        cap = _larger_cap(run, report)
        if report.verdict == "INTERRUPTED" or report.summary.trials.pending:
            if report.verdict == "FAILED":  # it stopped at a failure, which is what to look at
                yield from self._look()
            yield self._resume(cap)
            if run.regrade_of:
                yield self._regrade(cap)
            return
        if cap:  # then grades are outstanding
            yield self._regrade(cap) if run.regrade_of else self._resume(cap)
            return
        if not ("human" in report.awaited and not report.failures):
            yield from self._look()
        yield from self._repair()

    def _repair(self) -> Iterator[NextStep]:
        """What helps, once the cause of the first failure is known and fixed."""
        report, run = self._report, self._run
        has_nothing_to_rank = any(note.code == "reviews.nothing_to_rank" for note in report.notes)
        if "human" in report.awaited and (report.reviews or not has_nothing_to_rank):
            yield self._rate(report)
        if "model" in report.awaited:
            yield self._regrade("", label="grade")
        if report.awaited:
            return
        erred = self._broken()
        if erred is not None:
            yield self._after_error(erred)
        elif report.failures and not run.regrade_of and rerun_of(run).suite:
            yield self._rerun(only_failed=True)

    def _broken(self) -> Failure | None:
        """The first case in error, where errors are what has to be repaired first."""
        report = self._report
        erred = next((case for case in self._failures if _erred(case)), None)
        return erred if report.verdict == "INVALID" or not _has_failed(report) else None

    def _after_error(self, erred: Failure) -> NextStep:
        report, run = self._report, self._run
        if run.regrade_of or (erred.grader_type == "code" and not _looks_into_container(run, erred)):
            return self._regrade("")
        taped = report.metadata.taped
        if taped is not None and taped.missed and rerun_of(run).suite:
            return self._rerun(only_failed=False, mode="record")  # replayed again, it would miss the same
        if report.sequential is not None and report.sequential.not_needed and rerun_of(run).suite:
            return self._rerun(only_failed=False)  # a sequential run that was decided is not continued
        return self._resume("")

    def _look(self) -> Iterator[NextStep]:
        first = self._broken() or next(iter(self._failures), None)
        case_id = first.eval_id if first else ""
        if case_id or not self._is_shown:
            yield NextStep("look", show_command(self._command, self._run.name, self._named, case_id))

    def _resume(self, cap: str) -> NextStep:
        name = shlex.quote(self._run.regraded_run or self._run.name)
        return NextStep("resume", f"{self._command} resume {name}{cap}{self._named}")

    def _regrade(self, cap: str, label: str = "regrade") -> NextStep:
        run = self._run
        judge = "" if run.options.judge_model == "none" else run.options.judge_model
        if label == "grade" and not judge and not names_judges(run):
            judge = ANY_JUDGE
        judged_by = f" --judge-model {shlex.quote(judge)}" if judge else ""
        name = shlex.quote(run.regraded_run or run.name)
        return NextStep(label, f"{self._command} regrade {name}{judged_by}{cap}{self._named}")

    def _rate(self, report: Report) -> NextStep:
        """Where the suite wants people to rate; an API has no command."""
        reviews, name = report.reviews, shlex.quote(self._run.name)
        if reviews is None:  # an earlier version did not keep what people were to go by
            return self._regrade("")
        if reviews.disputed and not reviews.pending:
            return NextStep("decide", f"{self._command} grade {name} --reviewer NAME --disputed{self._named}")
        if reviews.interface == "web":
            return NextStep("rate", f"{self._command} reviewers invite NAME{self._named}")
        if reviews.interface == "api":
            return NextStep("note", "reviewers lease and submit items at /api/eval/reviews")
        return NextStep("rate", f"{self._command} grade {name} --reviewer NAME{self._named}")

    def _rerun(self, *, only_failed: bool, mode: Mode | None = None) -> NextStep:
        """The words that name what was run, and what it needs to be run again."""
        options = self._run.options
        command, *words = run_command(rerun_of(self._run, failed_of="" if only_failed else None))
        taping = [] if (mode or options.mode) == "live" else ["--mode", mode or options.mode]
        if options.recordings and mode is None:
            taping += ["--recordings", options.recordings]
        if options.gateway:
            taping.append("--gateway")
        containers = ["--container-runtime", options.containers.runtime] if options.containers.runtime else []
        containers += ["--pull", options.containers.pull] if options.containers.pull != "missing" else []
        line = shlex.join([command, *taping, *containers, *words])
        return NextStep(mode or "rerun", f"{self._command} {line}{self._named}")


def _erred(case: Failure) -> bool:
    return case.state == "error" or "error" in case.details


def _has_failed(report: Report) -> bool:
    return any("failed" in case.details for case in report.failures)


def _larger_cap(run: Run, report: Report) -> str:
    """A run that has spent all it may needs a larger budget to go on: twice as much, which the user may change."""
    if report.why is None or report.why.code != "run.spend_cap":
        return ""
    options, config = run.options, run.suite.config
    cost_usd = options.max_cost_usd or config.max_cost_usd
    tokens = options.max_tokens or config.max_tokens
    return f" --max-cost {2 * cost_usd:g}" if cost_usd else f" --max-tokens {2 * (tokens or 0)}"


def names_judges(run: Run) -> bool:
    """Whether its suite says who judges, wherever a model does."""
    return bool(run.suite.config.judge_model) or all(options.named_judges for options in _judges_of(run))


def _looks_into_container(run: Run, erred: Failure) -> bool:
    """Whether the grader that failed needs the container of the trial, which is gone when a stored answer is graded."""
    cases = (case for case in run.suite.cases if case.id == erred.eval_id)
    named = [spec for case in cases for spec in run.suite.graders_for(case) if spec.label == erred.grader]
    return any(grader.needs_end_state for grader, _ in _with_parts(named))


def _judges_of(run: Run) -> Iterator[Options]:
    """The options of the model graders that a run's cases have, inside other graders too."""
    specs = [spec for case in run.suite.cases for spec in run.suite.graders_for(case)]
    return (options for grader, options in _with_parts(specs) if grader.type == "model")


def _with_parts(specs: list[GraderSpec]) -> Iterator[tuple[type[Grader], Options]]:
    """The graders of these specifications and those inside them, with their options."""
    while specs:
        spec = specs.pop()
        try:
            options = registry.parse_options("grader", spec)
            yield registry.load("grader", spec.kind), options
        except (UsageError, ValidationError):  # an old run is shown whatever has become of its graders
            continue
        specs.extend(options.parts)
