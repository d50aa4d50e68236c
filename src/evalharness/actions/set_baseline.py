"""Set a baseline: name a run that later runs of its suite are compared with. Only a run that can be trusted is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.finding import Finding, finding
from evalharness.domain.report import Report
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.stored import Baseline
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.formats.results.written_reports import ENDING, read_report
from evalharness.reports.report_files import write_reports
from evalharness.reports.words import say
from evalharness.steps.apply_gate import without_gate
from evalharness.steps.find_reports import named_baseline, report_of

DEFAULT_NAME = "default"
LONGEST_NAME = 100
_NAME = re.compile(r"\w[\w.@+-]*")
_TAKEN = ("none",)
"""`--baseline none` means that there is nothing to compare with."""


@dataclass(frozen=True, slots=True)
class SetBaseline:
    """`replaced` is the one that had the name before; `notes` say what later comparisons have to bear."""

    baseline: Baseline
    replaced: Baseline | None
    report: Report
    notes: tuple[Finding, ...] = ()


async def set_baseline(
    context: Context, reference: str, name: str = DEFAULT_NAME, output: Path | None = None
) -> SetBaseline:
    """Raises UsageError for a run that is not finished, INVALID or without a judged trial, and for an unfit name.

    `output` is a file that it is written to as well, without its trials.
    """
    store = context.store
    outline = store.outline(reference)
    _check_name(name, store)
    if output is not None:
        _check_output(output)
    if outline.finished_at is None or outline.report is None:
        raise UsageError(
            f"{outline.name} is not finished: later runs would be compared with a part of it",
            hint=Hint("hint.resume", run=outline.name, first="finish it first"),
        )
    if outline.report.is_broken:
        raise UsageError(
            f"{outline.name} is INVALID and cannot be a baseline: {say(outline.report.why)}",
            hint=Hint("hint.resume", run=outline.name, first="mend it first"),
        )
    report = report_of(outline, store)
    if not any(case.trials for case in report.cases):
        raise UsageError(f"{outline.name} has no judged trial that a later run could be compared with")
    if output is not None:
        _make_folder(output.parent)
        write_reports([output], [ReportedRun(without_gate(report))], Presentation(store.redactor.redact))
    replaced = store.baseline(outline.suite_name, name)
    return SetBaseline(store.set_baseline(outline.id, name), replaced, report, tuple(_notes(report)))


def _notes(report: Report) -> Iterator[Finding]:
    sequential, awaiting = report.sequential, report.summary.trials.awaiting
    if not any(case.passed for case in report.cases):
        yield finding("baseline.nothing_passed", "warning")
    if sequential is not None and sequential.not_needed:
        yield finding("baseline.stopped_early", "warning", trials=sequential.trials_used, cap=sequential.cap)
    if awaiting:
        yield finding("baseline.ungraded", "warning", trials=awaiting)


async def list_baselines(context: Context) -> list[Baseline]:
    """The newest first."""
    return context.store.baselines()


async def remove_baseline(context: Context, name: str, suite_name: str | None = None) -> Baseline:
    """`suite_name` may be left out where only one suite has a baseline of this name."""
    store = context.store
    meant = named_baseline(name, store, suite_name)
    if meant is None:
        names = [baseline.name for baseline in store.baselines(suite_name)]
        raise UnknownName(f"baseline of suite {suite_name}" if suite_name else "baseline", name, names)
    store.remove_baseline(meant.suite_name, name)
    return meant


def _check_output(path: Path) -> None:
    """A baseline's file is replaced again and again, but nothing else is ever replaced by one."""
    if path.suffix.lower() != ENDING:
        raise UsageError(f"{path}: a baseline is written as JSON", hint="name a file that ends in .json")
    if path.is_dir():
        raise UsageError(f"-o {path}: is a folder", hint="name a file")
    if path.exists():
        try:
            read_report(path)
        except UsageError as error:
            raise UsageError(f"{path} exists and is no baseline: {error.message}", hint="name another file") from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror or error}") from None


def _check_name(name: str, store: Store) -> None:
    """What names a baseline must not name a run or a file as well."""
    if len(name) > LONGEST_NAME:
        raise UsageError(f"the name of a baseline has at most {LONGEST_NAME} characters, and this one {len(name):,}")
    if not _NAME.fullmatch(name) or name.lower().endswith(".json") or name in _TAKEN:
        raise UsageError(
            f"'{name}' cannot be the name of a baseline",
            hint="take letters, digits and . _ - + @; not 'none', and nothing that ends in .json",
        )
    try:
        run = store.outline(name)
    except UnknownName:
        return
    raise UsageError(f"'{name}' cannot be the name of a baseline: it is that of run {run.id}")
