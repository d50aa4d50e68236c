"""Verify a report: every figure that a file or the store states for a run, computed again from the run's own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.bounds import MOST_TASKS, MOST_TRIALS
from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import Gate
from evalharness.domain.grade import Grade
from evalharness.domain.report import Mismatch, Report, Verification, Verified
from evalharness.domain.review import ReviewLink
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.domain.trial import GRADED, Outcome, Trial
from evalharness.engine.measuring.summary import case_results
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.engine.planning.planned_cases import trial_seed
from evalharness.engine.running.attempt import decide
from evalharness.engine.verifying.published_rates import check_rates
from evalharness.engine.verifying.reported_comparison import flips_again
from evalharness.engine.verifying.reviewed_grades import odd_figures, odd_grades
from evalharness.engine.verifying.verified_report import verify_cases, verify_records, verify_report
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.formats.results.rate_tables import read_rate_table
from evalharness.formats.results.reported_trials import HOW_TO, ReportWithTrials, read_with_trials, reports_in
from evalharness.formats.results.written_reports import read_json
from evalharness.stats.thresholds import SAME
from evalharness.steps.apply_gate import compare_with
from evalharness.steps.count_reviews import run_reviews
from evalharness.steps.find_reports import FoundReport, report_of
from evalharness.steps.find_runs import find_run
from evalharness.steps.make_report import with_report

METADATA = (
    "suite_name",
    "run_id",
    "run_name",
    "variant",
    "regrade_of",
    "timestamp",
    "duration_seconds",
    "trials_per_case",
    "case_threshold",
    "max_error_rate",
    "retry_failed",
)
ENDINGS = (".json", ".csv")
GRADES = TypeAdapter(tuple[Grade, ...])


async def verify_any(
    context: Context, what: str, tasks: int | Mapping[str, int] | None = None, trials: int | None = None
) -> Verification:
    """A run by id or name, else a file: a report, several reports, or a table of published rates.

    Of a table, `tasks` says how many tasks each row has, or those with these names (an empty name: the rest).
    """
    tasks = {"": tasks} if isinstance(tasks, int) else dict(tasks or {})
    _check_table_size(tasks, trials)
    path = Path(what)
    try:
        return Verification(reports=(_verify_run(context, what),))
    except UnknownName as error:
        if not path.is_file():
            if path.exists() or path.suffix.lower() in ENDINGS:
                wrong = "is not a regular file" if path.exists() else "does not exist"
                raise UsageError(f"{path} {wrong}") from None
            raise UnknownName("run or report file", what, error.choices) from None
    reports = _verify_document(path, _document(path))
    rates = [] if reports else check_rates(read_rate_table(path), tasks, trials)
    if not reports and not rates:
        raise UsageError(f"{path} is neither a report nor a table of pass^k", hint=_hint(path))
    return Verification(reports=tuple(reports), rates=tuple(rates))


def _check_table_size(tasks: Mapping[str, int], trials: int | None) -> None:
    wrong = next((number for number in tasks.values() if not 1 <= number <= MOST_TASKS), None)
    if wrong is not None:
        raise UsageError(f"the number of tasks must be from 1 to {MOST_TASKS:,}, not {wrong}")
    if trials is not None and not 1 <= trials <= MOST_TRIALS:
        raise UsageError(f"the number of trials must be from 1 to {MOST_TRIALS:,}, not {trials}")


def _document(path: Path) -> Any:
    if path.suffix.lower() == ".csv":
        return None
    try:
        return read_json(path)
    except UsageError as error:
        raise UsageError(error.message, hint=_hint(path)) from None


def _hint(path: Path) -> str | Hint:
    """What a file of this kind would have to be."""
    if path.suffix.lower() == ".csv":
        return "a table begins with the names of its columns: model,pass^1,pass^2,tasks"
    if path.suffix.lower() == ".json":
        return HOW_TO
    return Hint("hint.verifiable")


def _verify_document(path: Path, document: Any) -> list[Verified]:
    """One for each report that the document holds; none where it holds none."""
    parts = [read_with_trials(path, written) for written in reports_in(document)]
    try:
        return [_of_file(path, each) for each in parts]
    except UsageError as error:  # nothing can be computed from such weights, times or scores
        raise UsageError(f"{path}: {error.message}", hint=error.hint) from None


def _verify_run(context: Context, reference: str) -> Verified:
    """The kept report against the rows of the store, and the rows against what happened in their trials.

    A run that never came to a stop has no report, and that of a run that waits for people is not the last: then what
    `show` would tell is computed twice.
    """
    store = context.store
    run = find_run(reference, store)
    recomputed = with_report(context, run).report
    assert recomputed is not None, "just made"
    kept = store.outline(run.id).report or recomputed
    if kept.reviews is not None and run.finished_at is None:
        kept = recomputed  # people have rated since, and the report is made again when the last of them has
    baselines = _baselines_of(kept, run, store)
    unusable = list(_unfinished(baselines, run))
    compared = None if unusable or not baselines else _compared_again(kept, run, baselines, store)
    if isinstance(compared, Mismatch):
        unusable, compared = [compared], None
    figures = verify_report(kept, store.outcomes(run.id), _as_judged(run, context.today), compared)
    about = verify_records(kept.metadata, recomputed.metadata, METADATA, "metadata")
    odd = [*unusable, *_odd_rows(store, run), *_odd_keys(kept, run), *_odd_reviews(kept, run, store)]
    for baseline in baselines:
        odd += [wrong.model_copy(update={"figure": f"baseline.{wrong.figure}"}) for wrong in _odd_rows(store, baseline)]
    return figures.model_copy(
        update={
            "source": f"run {run.name}",
            "figures": figures.figures + about.figures,
            "mismatches": (*odd, *about.mismatches, *figures.mismatches),
        }
    )


def _odd_reviews(kept: Report, run: Run, store: Store) -> Iterator[Mismatch]:
    """Grades that do not follow from what people said, and of a finished run figures that do not."""

    def trial_of(link: ReviewLink) -> Trial | None:
        return next((each for each in store.trials(run.id, link.case_id) if each.index == link.trial_index), None)

    yield from odd_grades(store.reviews.items(run.id), trial_of)
    if run.finished_at is not None:
        yield from odd_figures(kept.reviews, run_reviews(store, run))


def _odd_keys(kept: Report, run: Run) -> Iterator[Mismatch]:
    """What each case asked and who judged it, by digest."""
    for case in kept.cases:
        if case.key and case.key != run.lock.keys.get(case.case_id):
            figure = f"cases.{case.case_id}.key"
            yield Mismatch(figure=figure, reported=case.key, found=run.lock.keys.get(case.case_id))


def _as_judged(run: Run, today: date) -> Suite:
    """With those quarantines alone that held on the day the run came to its end."""
    if run.suite.gate is None:
        return run.suite
    day = date.fromisoformat(run.finished_at[:10]) if run.finished_at else today
    held = tuple(entry for entry in run.suite.gate.quarantine if entry.holds_on(day))
    return run.suite.model_copy(update={"gate": run.suite.gate.model_copy(update={"quarantine": held})})


def _baselines_of(kept: Report, run: Run, store: Store) -> list[Run]:
    """The runs it was compared with; none where one was no run of the store, or is gone."""
    reported = kept.comparison
    if reported is None or run.finished_at is None or not (reported.old.source or "baseline ").startswith("baseline "):
        return []
    try:
        return [store.find_run(each.run_id) for each in reported.before]
    except UnknownName:  # gone
        return []


def _unfinished(baselines: Sequence[Run], run: Run) -> Iterator[Mismatch]:
    """Baselines that had not come to their end when the run was compared with them, or were resumed since."""
    for baseline in baselines:
        if baseline.finished_at is None or (run.finished_at and baseline.finished_at > run.finished_at):
            figure = f"baseline {baseline.name}.finished_at"
            yield Mismatch(figure=figure, reported=f"until {run.finished_at}", found=baseline.finished_at)


def _compared_again(kept: Report, run: Run, baselines: Sequence[Run], store: Store) -> Comparison | Mismatch:
    """Where nothing can be compared any more, what was reported and why it cannot be."""
    assert kept.comparison is not None and run.finished_at is not None, "it was compared when it came to its end"
    try:
        first, *others = (_from_rows(each, kept.comparison.old.source, store) for each in baselines)
        found = replace(first, others=tuple(others))
        again = compare_with(found, kept, run.suite.gate or Gate(), date.fromisoformat(run.finished_at[:10]))
        return again if kept.comparison.flips is None else flips_again(again, kept.comparison.flips)
    except UsageError as error:
        names = ", ".join(each.name for each in baselines)
        return Mismatch(figure=f"baseline {names}", reported=kept.comparison.verdict, found=error.message)


def _from_rows(baseline: Run, source: str, store: Store) -> FoundReport:
    """With what its rows say, not with its kept report: that may agree with rows that were changed."""
    outline = store.outline(baseline.id)
    counted = count_trials(baseline.suite, baseline.lock.trials, store.outcomes(baseline.id))
    cases = tuple(case_results(baseline.suite, baseline.lock.keys, counted))
    return FoundReport(report_of(outline, store).model_copy(update={"cases": cases}), source, outline)


def _of_file(path: Path, reported: ReportWithTrials) -> Verified:
    source = f"{path} (run {reported.report.metadata.run_name})"
    if reported.trials is None:
        return verify_cases(reported.report).model_copy(update={"source": source})
    verified = verify_report(reported.report, (trial.outcome for trial in reported.trials))
    odd = [wrong for trial in reported.trials for wrong in _odd_trial(trial.outcome, trial.grades or ())]
    return verified.model_copy(update={"source": source, "mismatches": (*odd, *verified.mismatches)})


def _odd_rows(store: Store, run: Run) -> Iterator[Mismatch]:
    """Rows hold what is needed for quick totals; the attempts beside them are what happened."""
    for row, trial in zip(store.outcomes(run.id), store.trials(run.id), strict=True):
        odd = {wrong.figure: wrong for wrong in (*_odd_trial(row, trial.grades), *_unlike(row, trial))}
        yield from odd.values()
        seed = trial_seed(run.lock.seed, trial.case_id, trial.index)
        if run.has_fresh_trials and trial.seed != seed:
            yield Mismatch(figure=f"{_place(row)}.seed", reported=trial.seed, found=seed)


def _unlike(row: Outcome, trial: Trial) -> Iterator[Mismatch]:
    for name in ("state", "first_state", "score", "reason", "cause", "duration_s", "cost_usd", "input_tokens",
                 "output_tokens"):  # fmt: skip
        reported, found = getattr(row, name), getattr(trial, name)
        if reported != found:
            yield Mismatch(figure=f"{_place(row)}.{name}", reported=reported, found=found)
    yield from _unlike_grades(row, trial.grades)


def _unlike_grades(row: Outcome, grades: Sequence[Grade]) -> Iterator[Mismatch]:
    """The grades in the row against those of its last attempt, field by field."""
    place = f"{_place(row)}.grades"
    try:
        stored = GRADES.validate_json(row.grades)
    except ValidationError:
        yield Mismatch(figure=place, reported=row.grades, found=GRADES.dump_json(tuple(grades)).decode())
        return
    if len(stored) != len(grades):
        yield Mismatch(figure=place, reported=len(stored), found=len(grades))
        return
    for number, (reported, found) in enumerate(zip(stored, grades, strict=True), 1):
        for name, value in found:
            if getattr(reported, name) != value:
                yield Mismatch(figure=f"{place}.{number}.{name}", reported=getattr(reported, name), found=value)


def _odd_trial(row: Outcome, grades: Sequence[Grade]) -> Iterator[Mismatch]:
    """State and score follow from the grades, where there are any; without a verdict there is no score."""
    if row.is_not_needed and row.state != "skipped":
        yield Mismatch(figure=f"{_place(row)}.cause", reported=row.cause, found="")
    if not grades and row.state not in GRADED and row.score is not None:
        yield Mismatch(figure=f"{_place(row)}.score", reported=row.score, found=None)
    if not grades:
        return
    state, score, _, cause = decide(grades)
    if state != row.state:
        yield Mismatch(figure=f"{_place(row)}.state", reported=row.state, found=state)
    if cause != row.cause:
        yield Mismatch(figure=f"{_place(row)}.cause", reported=row.cause, found=cause)
    if score != row.score and (score is None or row.score is None or abs(score - row.score) > SAME):
        yield Mismatch(figure=f"{_place(row)}.score", reported=row.score, found=score)


def _place(row: Outcome) -> str:
    return f"trials.{row.case_id}#{row.trial_index + 1}"
