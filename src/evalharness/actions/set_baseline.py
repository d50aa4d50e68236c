"""Set a baseline: name one or several runs that later runs of their suite are compared with.

Only a run that can be trusted is one; several must be runs of one target, each with a fixed number of trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.finding import Finding, finding
from evalharness.domain.report import Report
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import RUN_NAME, Run, check_given_name
from evalharness.domain.stored import Baseline, RunOutline
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.formats.results.written_reports import ENDING, read_reports
from evalharness.reports.report_files import write_reports
from evalharness.reports.words.say import say
from evalharness.steps.apply_gate import without_gate
from evalharness.steps.find_reports import check_pool, report_of
from evalharness.steps.find_runs import find_outline, named_baseline

DEFAULT_NAME = "default"
LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class SetBaseline:
    """`replaced` is the one that had the name before; `notes` say what later comparisons have to bear."""

    baseline: Baseline
    replaced: Baseline | None
    reports: tuple[Report, ...]
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Member:
    outline: RunOutline
    report: Report


async def set_baseline(
    context: Context, references: str | Sequence[str], name: str = DEFAULT_NAME, output: Path | None = None
) -> SetBaseline:
    """Raises UsageError for a run that is not finished, INVALID or without a judged trial, and for an unfit name.

    Several runs must fit together. `output` is a file that they are written to as well, without their trials.
    """
    store = context.store
    named = [references] if isinstance(references, str) else list(references)
    outlines = [find_outline(reference, store) for reference in named]
    _check_name(name, store)
    if output is not None:
        _check_output(output)
    members = [_member(outline, store) for outline in outlines]
    _check_fit(members, store)
    _write(members, output, store)
    first, *added = (member.outline for member in members)
    replaced = store.baseline(first.suite_name, name)
    baseline = store.set_baseline(first.id, name, [outline.id for outline in added])
    return _done(baseline, replaced, members, members, store)


async def add_to_baseline(
    context: Context, references: Sequence[str], name: str = DEFAULT_NAME, output: Path | None = None
) -> SetBaseline:
    """Further runs for a baseline that is there; raises UsageError where they do not fit together."""
    store = context.store
    added = [find_outline(reference, store) for reference in references]
    suite_name = added[0].suite_name
    known = store.baseline(suite_name, name)
    if known is None:
        raise UnknownName(f"baseline of suite {suite_name}", name, [each.name for each in store.baselines(suite_name)])
    if output is not None:
        _check_output(output)
    more = [_member(outline, store) for outline in added]
    members = [*(_member(store.outline(run_id), store) for run_id in known.run_ids), *more]
    _check_fit(members, store)
    _write(members, output, store)
    baseline = known
    for outline in added:
        baseline = store.add_to_baseline(suite_name, name, outline.id)
    return _done(baseline, None, members, more, store)


def _done(
    baseline: Baseline, replaced: Baseline | None, members: Sequence[_Member], new: Sequence[_Member], store: Store
) -> SetBaseline:
    notes = {note.code: note for member in new for note in (*_notes(member.report), *_part_of(member, store))}
    return SetBaseline(baseline, replaced, tuple(member.report for member in members), tuple(notes.values()))


def _member(outline: RunOutline, store: Store) -> _Member:
    if outline.finished_at is None or outline.report is None:
        raise UsageError(
            f"{outline.name} is not finished: later runs would be compared with only a part of it",
            hint=Hint("hint.finish_first", run=outline.name),
        )
    if outline.report.is_broken:
        raise UsageError(
            f"{outline.name} is INVALID and cannot be a baseline: {say(outline.report.why)}",
            hint=Hint("hint.repair_first", run=outline.name),
        )
    report = report_of(outline, store)
    if not any(case.trials for case in report.cases):
        raise UsageError(f"{outline.name} has no judged trial that a later run could be compared with")
    return _Member(outline, report)


def _check_fit(members: Sequence[_Member], store: Store) -> None:
    """Several runs are pooled: they must be fresh, independent tries of one target. One must be readable."""
    runs = [store.find_run(member.outline.id) for member in members]
    if len(members) == 1:
        return
    check_pool([member.report for member in members])
    for run in runs:
        if not run.has_fresh_trials:
            repeats = "replays" if run.is_replayed else "regrades"
            raise UsageError(
                f"{run.name} {repeats} earlier answers, so it did not run the target again",
                hint="choose runs that ran the target",
            )
        if not _is_same_target(runs[0], run):
            raise UsageError(
                f"{run.name} ran a different target from {runs[0].name}: a baseline must have one target",
                hint="choose runs of one unchanged target",
            )


def _is_same_target(one: Run, other: Run) -> bool:
    """By digest; where cases have targets of their own, those too."""
    shared = one.lock.cases.keys() & other.lock.cases.keys()
    own = all(one.lock.cases[case].target == other.lock.cases[case].target for case in shared)
    return one.lock.target == other.lock.target and own


def _write(members: Sequence[_Member], output: Path | None, store: Store) -> None:
    if output is None:
        return
    _make_folder(output.parent)
    runs = [ReportedRun(without_gate(member.report)) for member in members]
    write_reports([output], runs, Presentation(store.redactor.redact))


def _part_of(member: _Member, store: Store) -> Iterator[Finding]:
    """A run of some cases of its suite can lose no others."""
    name, tried = member.outline.suite_name, len(member.report.cases)
    known = next((line.cases for line in store.registered_suites() if line.name == name), 0)
    if tried < known:
        yield finding("baseline.part_of_suite", "warning", tried=tried, of=known)


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
        raise UsageError(f"-o {path} is a folder", hint="name a file")
    if path.exists():
        try:
            read_reports(path)
        except UsageError as error:
            raise UsageError(
                f"{path} exists and is not a baseline: {error.message}", hint="name another file"
            ) from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {folder}: {error.strerror or error}") from None


def _check_name(name: str, store: Store) -> None:
    """What names a baseline must not name a run or a file as well."""
    check_given_name(name, "baseline", LONGEST_NAME)
    if RUN_NAME.fullmatch(name):
        raise UsageError(f"'{name}' cannot be the name of a baseline: it looks like the name of a run")
    try:
        run = store.outline(name)
    except UnknownName:
        return
    raise UsageError(f"'{name}' cannot be the name of a baseline: run {run.id} has this name")
