"""Find reports to compare: what a user names is a run (its id, its name, `latest` or -N), a baseline, or a file with a
report, in this order.

Of a stored run, its kept report; where it has none, or one without cases, those are counted from its trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalharness.contracts.store import Store
from evalharness.domain.finding import finding
from evalharness.domain.report import Report, RunMetadata, RunSummary
from evalharness.domain.run import Run
from evalharness.domain.stored import Baseline, RunOutline
from evalharness.engine.measuring.summary import case_results
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.steps.find_runs import counted_back, named_baseline


@dataclass(frozen=True, slots=True)
class FoundReport:
    """`source` is `baseline NAME`, a file's path, or empty; `run` is there for a run of the store.

    `others` are the further runs of a baseline of several.
    """

    report: Report
    source: str = ""
    run: RunOutline | None = None
    others: tuple[FoundReport, ...] = ()

    @property
    def label(self) -> str:
        return self.source or self.report.metadata.run_name

    @property
    def reports(self) -> tuple[Report, ...]:
        return self.report, *(other.report for other in self.others)

    @property
    def run_ids(self) -> list[str]:
        return [report.metadata.run_id for report in self.reports]

    @property
    def alone(self) -> FoundReport:
        """Raises UsageError where several runs are what a run is compared with, and none that is compared."""
        if self.others:
            names = ", ".join(report.metadata.run_name for report in self.reports)
            raise UsageError(
                f"{self.label} has {len(self.reports)} runs: it can only be the old side of a comparison",
                hint=f"name one of its runs: {names}",
            )
        return self


def find_report(reference: str, store: Store, suite_name: str | None = None) -> FoundReport:
    """Baselines of `suite_name` alone are meant, if it is given; raises UsageError where nothing or too much is."""
    try:
        return FoundReport(*_of_run(reference, store, ""))
    except UnknownName as error:
        if run_id := counted_back(reference, store):
            return FoundReport(*_of_run(run_id, store, ""))
        if baseline := named_baseline(reference, store, suite_name):
            return found_runs(baseline.run_ids, store, f"baseline {baseline.name}")
        if found := _of_file(Path(reference), error):
            return found
        names = [known.name for known in store.baselines(suite_name)]
        raise UnknownName("baseline, run or report file", reference, [*names, *error.choices]) from None


def found_runs(run_ids: Sequence[str], store: Store, source: str) -> FoundReport:
    first, *others = (FoundReport(*_of_run(run_id, store, source)) for run_id in run_ids)
    return replace(first, others=tuple(others))


def find_reports(
    references: Sequence[str], store: Store, suite_name: str | None = None, beside: Iterable[str] = ()
) -> list[FoundReport]:
    """A baseline's name that several suites use means that of the others' suite; `beside` has more such suites."""
    names = {baseline.name for baseline in store.baselines()}
    first = {ref: find_report(ref, store, suite_name) for ref in references if ref not in names}
    suites = {*beside, *(found.report.metadata.suite_name for found in first.values())}
    meant = suite_name or (suites.pop() if len(suites) == 1 else None)

    def found(reference: str) -> FoundReport:
        if reference in first:
            return first[reference]
        is_known = meant is not None and store.baseline(meant, reference) is not None
        return find_report(reference, store, meant if is_known else suite_name)

    return [found(reference) for reference in references]


def check_pool(reports: Sequence[Report]) -> None:
    """Raises UsageError where several runs cannot be one baseline, whatever their target is."""
    first, *others = (report.metadata for report in reports)
    seen = {first.run_id}
    for about in (first, *others):
        if about.suite_name != first.suite_name:
            raise UsageError(
                f"{about.run_name} is a run of {about.suite_name}, not of {first.suite_name}",
                hint="all runs of a baseline must be of one suite",
            )
        if about.sequential:
            raise UsageError(
                f"{about.run_name} was allowed to stop early: it cannot be pooled with other runs",
                hint="choose runs with a fixed number of trials",
            )
        if about.regrade_of:
            raise UsageError(
                f"{about.run_name} is a regrade of another run, so it did not run the target again",
                hint="choose runs that ran the target",
            )
    for about in others:
        if about.run_id in seen:
            raise UsageError(f"{about.run_name} is named twice", hint="name each run once")
        seen.add(about.run_id)


def newest_baseline(suite_name: str, store: Store) -> Baseline | None:
    """The one that was set last."""
    return next(iter(store.baselines(suite_name)), None)


def report_of(outline: RunOutline, store: Store) -> Report:
    """As it was kept when the run came to a stop; the cases that an older one lacks are counted from the trials."""
    if outline.report is not None and outline.report.cases:
        return outline.report
    run = store.find_run(outline.id)
    counted = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
    cases = tuple(case_results(run.suite, run.lock.keys, counted))
    return (outline.report or _unfinished(run)).model_copy(update={"cases": cases})


def _of_run(reference: str, store: Store, source: str) -> tuple[Report, str, RunOutline]:
    outline = store.outline(reference)
    return report_of(outline, store), source, outline


def _of_file(path: Path, unknown: UnknownName) -> FoundReport | None:
    """None where nobody would take it for a file."""
    from evalharness.formats.results.written_reports import ENDING, read_reports  # slow to load: runs do not need it

    if not (path.is_file() or path.suffix.lower() == ENDING):
        return None
    if not path.exists():
        raise no_such_file(path, unknown)
    first, *others = read_reports(path)
    if others:
        _check_file(path, [first, *others])
    return FoundReport(first, str(path), others=tuple(FoundReport(report, str(path)) for report in others))


def _check_file(path: Path, reports: Sequence[Report]) -> None:
    """A file may have been written by a run of several targets; what became of a target in between it does not tell."""
    try:
        check_pool(reports)
    except UsageError as error:
        raise UsageError(
            f"{path} contains runs that cannot be one baseline: {error.message}", hint=error.hint
        ) from None
    first, *others = (report.metadata for report in reports)
    for about in others:
        if (about.variant, about.environment.get("target")) != (first.variant, first.environment.get("target")):
            raise UsageError(
                f"{path} contains runs of several targets ({first.run_name}, {about.run_name}), which cannot be one "
                "baseline",
                hint=Hint("hint.one_report"),
            )


def no_such_file(path: Path, unknown: UnknownName) -> UsageError:
    """What looks like a file is taken for one, though a run could have its name."""
    guess = f", and no run has this name (did you mean '{unknown.guess}'?)" if unknown.guess else ""
    return UsageError(f"there is no file {path}{guess}")


def _unfinished(run: Run) -> Report:
    """The process died before the run came to a stop: there are trials, and no report."""
    return Report(
        metadata=RunMetadata(
            suite_name=run.suite.name,
            run_id=run.id,
            run_name=run.name,
            variant=run.variant,
            regrade_of=run.regrade_of,
            timestamp=run.created_at,
            trials_per_case=run.lock.trials,
        ),
        verdict="INTERRUPTED",
        exit_code=130,
        why=finding("run.not_finished", "error"),
        summary=RunSummary(total_evals=len(run.suite.cases), pending=len(run.suite.cases)),
    )
