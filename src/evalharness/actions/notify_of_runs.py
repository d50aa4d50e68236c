"""Notify of runs and phases: send the verdict to whoever a suite or the settings name. Nothing else changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.domain.finding import Finding, finding
from evalharness.domain.notification import Notification, outcome_of
from evalharness.domain.phase_result import PhaseResult, StepResult
from evalharness.domain.report import worst
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError
from evalharness.reports.notices import Notice
from evalharness.reports.words.say import say
from evalharness.settings import Settings
from evalharness.steps.collect_variables import redactor_for
from evalharness.steps.report_runs import reported_run
from evalharness.steps.send_notifications import (
    LIMIT_S,
    Message,
    filled,
    not_sent,
    notifications_for,
    place_of,
    send_notifications,
)


async def notify_of_runs(
    context: Context,
    runs: Sequence[Run],
    variables: Mapping[str, str],
    env: Mapping[str, str],
    limit_s: float = LIMIT_S,
) -> list[Finding]:
    """One message to each place for all runs that are reported there; returns a warning for each that failed."""
    context = context.with_environment(env)
    redact = redactor_for([run.suite for run in runs], {**variables, **env}, context.settings).redact
    recipients: list[_Recipient] = []
    warnings: list[Finding] = []
    for run in runs:
        found, failed = _addresses(run.suite, variables, context.settings)
        warnings += failed
        for to in found:
            _among(recipients, to, Path(run.root)).runs.append(reported_run(run, context.store))
    messages = [message for each in recipients for message in each.messages()]
    return [*warnings, *await send_notifications(messages, redact, context.settings, limit_s)]


async def notify_of_phase(
    context: Context, result: PhaseResult, variables: Mapping[str, str], env: Mapping[str, str]
) -> list[Finding]:
    """The same for each eval of a phase, whose file may ask for a notification of its failure, or forbid it."""
    context = context.with_environment(env)
    suites = [file.suite for step in result.steps for file in step.files if file.suite is not None]
    redact = redactor_for(suites, {**variables, **env}, context.settings).redact
    messages: list[Message] = []
    warnings: list[Finding] = []
    for step in result.steps:
        if step.step.phase_eval is None or step.exit_code is None:
            continue
        recipients: list[_Recipient] = []
        for file in step.files:
            suite = file.suite
            assert suite is not None, "a phase runs suites without errors"
            runs = [reported_run(run, context.store) for run in step.runs if run.suite.name == suite.name]
            code = _code_of(runs) if runs else step.exit_code
            is_failure = outcome_of(code) == "failure"
            asked = step.step.phase_eval.on_failure.notification if is_failure else None
            if asked is False or (is_failure and not asked and _keeps_quiet(suite)):
                continue
            found, failed = _addresses(suite, variables, context.settings)
            warnings += failed
            if asked and not found and not failed:
                warnings.append(finding("notify.nobody", "warning", suite=suite.name))
            for to in found:
                if asked or to.is_due(code):
                    _among(recipients, to, file.root).runs.extend(runs)
        messages += [Message(each.to, _notice_of(result, step, each.runs), each.folder) for each in recipients]
    return [*warnings, *await send_notifications(messages, redact, context.settings)]


def _notice_of(result: PhaseResult, step: StepResult, runs: Sequence[ReportedRun]) -> Notice:
    """Without runs, of an eval that was not run because of its tests."""
    code = _code_of(runs) if runs else step.exit_code or 0
    verdict = _verdict_of(runs, code) if runs else step.verdict or ""
    return Notice(result.name, verdict, code, tuple(runs), say(step.why_not_run), result.phase_id)


def _addresses(
    suite: Suite, variables: Mapping[str, str], settings: Settings
) -> tuple[list[Notification], list[Finding]]:
    """Who is notified of a suite's verdict, and a warning for each who cannot be."""
    try:
        written = notifications_for(suite, settings)
    except UsageError as error:
        return [], [not_sent("the settings", error.message)]
    found: list[Notification] = []
    warnings: list[Finding] = []
    for each in written:
        try:
            found.append(filled(each, suite, variables, settings))
        except UsageError as error:
            warnings.append(not_sent(place_of(each), error.message))
    return found, warnings


@dataclass(slots=True)
class _Recipient:
    to: Notification
    folder: Path
    runs: list[ReportedRun] = field(default_factory=list)

    def messages(self) -> Iterable[Message]:
        code = _code_of(self.runs)
        if not self.to.is_due(code) or (outcome_of(code) == "failure" and all(map(_is_quiet, self.runs))):
            return
        names = dict.fromkeys(each.report.metadata.suite_name for each in self.runs)
        notice = Notice(", ".join(names), _verdict_of(self.runs, code), code, tuple(self.runs))
        yield Message(self.to, notice, self.folder)


def _code_of(runs: Sequence[ReportedRun]) -> int:
    return worst([each.report.exit_code for each in runs])


def _verdict_of(runs: Sequence[ReportedRun], code: int) -> str:
    return next(each.report.verdict for each in runs if each.report.exit_code == code)


def _among(recipients: list[_Recipient], to: Notification, folder: Path) -> _Recipient:
    for each in recipients:
        if each.to == to and (each.folder == folder or not to.command):
            return each
    recipients.append(_Recipient(to, folder))
    return recipients[-1]


def _is_quiet(each: ReportedRun) -> bool:
    return each.run is not None and _keeps_quiet(each.run.suite)


def _keeps_quiet(suite: Suite) -> bool:
    """Of its failures."""
    return suite.reporting is not None and suite.reporting.notify_on_failure is False
