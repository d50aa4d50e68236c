"""Task suites in Python: the types of the format, its scoring of single answers, and running a suite on an agent.

Names are in snake_case; every record is also read from camelCase, and `model_dump(by_alias=True)` gives camelCase.
Runs, their store and their reports are those of `evalharness.evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from pydantic import ValidationError

from evalharness.actions.set_baseline import DEFAULT_NAME
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseResult, earlier_cases
from evalharness.domain.comparison import THRESHOLD, degradation, task_changes
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.specification import WrittenTarget
from evalharness.domain.stored import Baseline
from evalharness.domain.suite import Suite
from evalharness.domain.trial import GRADED, Trial
from evalharness.engine.measuring.trial_counts import CaseTally
from evalharness.errors import Unscored, UsageError
from evalharness.formats.problems import problems_text
from evalharness.formats.suite_files import ready_made_suites
from evalharness.formats.task_suites.reader import suite_of, task_suite_of
from evalharness.formats.task_suites.records import (
    TASK_CATEGORIES,
    CategorySummary,
    CheckDetail,
    EvalResult,
    EvalRunSummary,
    EvalSuite,
    EvalTask,
    ExpectedFile,
    RegressionCheck,
    ResponseScore,
    RetrievalResult,
    ScoreChange,
)
from evalharness.graders.expected_patterns import check_patterns
from evalharness.graders.files import check_file
from evalharness.graders.retrieved_documents import Match
from evalharness.harness import Harness, evaluate
from evalharness.steps.check_details import check_details
from evalharness.steps.find_reports import find_reports
from evalharness.steps.find_suites import find_suites, register_suites, without_file
from evalharness.steps.measure_retrieval import measure_retrieval
from evalharness.values.json_value import Json

__all__ = [
    "TASK_CATEGORIES",
    "Baseline",
    "CategorySummary",
    "CheckDetail",
    "EvalResult",
    "EvalRunSummary",
    "EvalSuite",
    "EvalTask",
    "ExpectedFile",
    "RegressionCheck",
    "ResponseScore",
    "RetrievalResult",
    "ScoreChange",
    "check_regression",
    "detect_regressions",
    "evaluate_retrieval",
    "get_suite",
    "list_baselines",
    "list_suites",
    "run_suite",
    "save_suite",
    "score_file_content",
    "score_response",
    "set_baseline",
]

WrittenRun: TypeAlias = EvalRunSummary | Run | Report | str | Path


def score_response(output: str | None, expected_patterns: Sequence[str] | str | None = None) -> ResponseScore:
    """All patterns must match, and the score is the share that does; without any, more than 10 characters pass.

    One pattern alone may be given as a text. No output at all is the empty one.

    Raises UsageError for what is no text, and for a pattern that is no regular expression or takes too long.
    """
    if output is not None and not isinstance(output, str):
        raise UsageError(f"the output must be text, not {output!r:.80}")
    try:
        checks = check_patterns(output or "", _patterns(expected_patterns))
    except Unscored as error:
        raise UsageError(str(error)) from None
    details = tuple(CheckDetail(**asdict(check)) for check in checks)
    matched = sum(detail.passed for detail in details)
    return ResponseScore(passed=matched == len(details), score=matched / len(details), details=details)


def _patterns(written: Any) -> tuple[str, ...]:
    patterns = () if written is None else (written,) if isinstance(written, str) else written
    if not isinstance(patterns, Sequence) or not all(isinstance(pattern, str) for pattern in patterns):
        raise UsageError(f"expected patterns must be a text or a list of texts, not {written!r:.80}")
    return tuple(patterns)


def score_file_content(content: str | None, should_contain: str = "", path: str = "") -> CheckDetail:
    """One expected file: `content` is None where it does not exist; the text it should hold is found in any case."""
    for given in ("" if content is None else content, should_contain, path):
        if not isinstance(given, str):
            raise UsageError(f"content, expected text and path of a file must be texts, not {given!r:.80}")
    return CheckDetail(**asdict(check_file(content, path, should_contain)))


def evaluate_retrieval(
    query: str,
    retrieved: Sequence[Json] | None = None,
    expected: Json = None,
    k: int | None = None,
    *,
    field: str = "",
    match: Match = "exact",
) -> RetrievalResult:
    """Compare what was retrieved for a query with what was expected, by rank, as the grader `retrieval` does.

    `retrieved` has texts, or mappings with an id or a text. `expected` is one document, a list of them, or a mapping
    from each to its gain. Only the first `k` places count; None means all.

    Raises UsageError for a query that is empty or not text, and for anything that cannot be compared.
    """
    return measure_retrieval(query, retrieved, expected, k, field=field, match=match)


def save_suite(suite: EvalSuite | Suite | Mapping[str, Any], *, store: str | None = None) -> None:
    """Register a suite under its name, in place of the one that had it before. Relative paths start here.

    A mapping is a task suite: `{"name": …, "tasks": […]}`.
    """
    with Harness.open(store) as harness:
        harness.call(register_suites, [without_file(_as_suite(suite), Path.cwd())])


def list_suites(*, store: str | None = None) -> list[str]:
    """The names of the suites registered in the store, and of the ready-made ones."""
    with Harness.open(store) as harness:
        return _known_names(harness)


def get_suite(name: str, *, store: str | None = None) -> EvalSuite | Suite | None:
    """A registered or ready-made suite, or None. One of another kind than a task suite is a Suite."""
    with Harness.open(store) as harness:
        found = find_suites(harness.context.store, [name])[0].suite if name in _known_names(harness) else None
    return None if found is None else task_suite_of(found) or found


def _known_names(harness: Harness) -> list[str]:
    return [*(line.name for line in harness.context.store.registered_suites()), *ready_made_suites()]


def run_suite(
    suite: EvalSuite | Suite | Mapping[str, Any] | str | Path, target: WrittenTarget | None = None, **options: Any
) -> EvalRunSummary:
    """Run a suite, a file or a registered suite by name on a target; `options` are those of `evaluate`."""
    found = suite if isinstance(suite, str | Path) else _as_suite(suite)
    return _summary(evaluate(found, target, **options))


def set_baseline(run_id: str, *, name: str = DEFAULT_NAME, store: str | None = None) -> Baseline:
    """Make a run (its id or name) what later runs of its suite are compared with."""
    for what, given in (("name a run by its id or its name", run_id), ("the name of a baseline must be text", name)):
        if not isinstance(given, str):
            raise UsageError(f"{what}, not {given!r:.80}")
    with Harness.open(store, to_read=True) as harness:
        return harness.baseline(run_id, name)


def list_baselines(*, store: str | None = None) -> list[Baseline]:
    """Of all suites, the last one set first."""
    with Harness.open(store, to_read=True) as harness:
        return harness.context.store.baselines()


def check_regression(
    previous: EvalResult | ResponseScore | float,
    current: EvalResult | ResponseScore | float,
    threshold: float = THRESHOLD,
) -> ScoreChange:
    """Whether a score, or that of a result, fell by more than the threshold.

    Rounding does not count, so 0.8 → 0.7 is no degradation. Raises UsageError for a result that was not judged.
    """
    before, now = _compared_score(previous), _compared_score(current)
    _check_numbers(before, now)
    _check_threshold(threshold)
    degraded, delta = degradation(before, now, threshold)
    return ScoreChange(degraded=degraded, delta=delta)


def detect_regressions(
    previous: WrittenRun, current: WrittenRun, threshold: float = THRESHOLD, *, store: str | None = None
) -> list[RegressionCheck]:
    """The tasks of both runs whose score fell by more than the threshold; errors are no wrong answers and do not count.

    A run is a summary, a Run, a Report, or whatever `compare` takes: an id, a name, a baseline's name, a JSON report.
    """
    _check_threshold(threshold)
    before, now = _cases([previous, current], store)
    changes = task_changes(earlier_cases(before, now[0]), now[0], threshold)
    fields = set(RegressionCheck.model_fields)
    return [RegressionCheck.model_validate(each.model_dump(include=fields)) for each in changes if each.degraded]


def _compared_score(given: Any) -> Any:
    """Whatever is no result is taken for a score."""
    if isinstance(given, EvalResult) and (given.state not in GRADED or given.score is None):
        raise UsageError(f"the result of task '{given.task_id}' has no score to compare: its state is {given.state}")
    return given.score if isinstance(given, EvalResult | ResponseScore) else given


def _check_numbers(*numbers: Any) -> None:
    """What is compared with `nan` is never larger, so it would look like no degradation."""
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
            raise UsageError(f"scores and thresholds must be finite numbers, not {number!r:.80}")


def _check_threshold(threshold: float) -> None:
    _check_numbers(threshold)
    if threshold < 0:
        raise UsageError(f"a threshold must be at least 0, not {threshold:g}: a score that rose is not degraded")


def _cases(runs: Sequence[WrittenRun], store: str | None) -> list[list[Sequence[CaseResult]]]:
    """Of each, which may be a baseline of several runs unless it is the last; those it does not hold are looked up."""
    fields = {place: known for place, run in enumerate(runs) if (known := _suite_and_cases(run))}
    named = {place: _reference(run) for place, run in enumerate(runs) if place not in fields}
    cases = {place: [known] for place, (_, known) in fields.items()}
    if named:
        with Harness.open(store, to_read=True) as harness:
            opened = harness.context.store
            found = find_reports(list(named.values()), opened, beside=[suite for suite, _ in fields.values()])
            for place, each in zip(named, found, strict=True):
                reports = each.reports if place < len(runs) - 1 else each.alone.reports
                cases[place] = [report.cases for report in reports]
    return [cases[place] for place in range(len(runs))]


def _suite_and_cases(run: WrittenRun) -> tuple[str, Sequence[CaseResult]] | None:
    """The name of its suite, and its cases."""
    if isinstance(run, EvalRunSummary):
        return run.suite_name, [_case_result(result) for result in run.results]
    report = run.report if isinstance(run, Run) else run
    return (report.metadata.suite_name, report.cases) if isinstance(report, Report) and report.cases else None


def _reference(run: WrittenRun) -> str:
    """How its run is named in the store."""
    if isinstance(run, EvalRunSummary):
        return run.run_id
    if not isinstance(run, Report):
        return run.id if isinstance(run, Run) else str(run)
    if not run.metadata.run_id:
        raise UsageError("this report contains neither its cases nor the id of its run", hint="pass the run itself")
    return run.metadata.run_id


def _case_result(result: EvalResult) -> CaseResult:
    judged = result.state in GRADED
    return CaseResult(case_id=result.task_id, trials=int(judged), state=result.state, score=result.score)


def _as_suite(suite: EvalSuite | Suite | Mapping[str, Any]) -> Suite:
    if isinstance(suite, Mapping):
        try:
            suite = EvalSuite.model_validate(suite)
        except ValidationError as error:
            raise UsageError(f"this mapping is not a task suite: {problems_text(error, EvalSuite)}") from None
    if isinstance(suite, Suite):
        return suite
    if not isinstance(suite, EvalSuite):
        raise UsageError(f"a suite must be an EvalSuite, a Suite or a mapping, not {suite!r:.80}")
    try:
        return suite_of(suite)
    except ValidationError as error:
        raise UsageError(f"suite '{suite.name}': {problems_text(error, Suite)}") from None


def _summary(run: Run) -> EvalRunSummary:
    trials: dict[str, list[Trial]] = {}
    for trial in run.trials:
        trials.setdefault(trial.case_id, []).append(trial)
    results = tuple(_result(case, trials.get(case.id, []), run) for case in run.suite.cases)
    categories = dict.fromkeys(result.task_category for result in results)
    states = [result.state for result in results]
    passed, failed = states.count("passed"), states.count("failed")
    return EvalRunSummary(
        run_id=run.id,
        run_name=run.name,
        suite_name=run.suite.name,
        timestamp=run.finished_at or run.created_at,
        total_tasks=len(results),
        passed=passed,
        failed=failed,
        unjudged=len(results) - passed - failed,
        total_duration_ms=sum(result.duration_ms for result in results),
        total_cost_usd=sum(result.cost_usd for result in results),
        per_category={name: _category([r for r in results if r.task_category == name]) for name in categories},
        results=results,
    )


def _category(results: list[EvalResult]) -> CategorySummary:
    states = [result.state for result in results]
    return CategorySummary(
        passed=states.count("passed"),
        failed=states.count("failed"),
        avg_score=_mean([result.score for result in results if result.state in GRADED]),
    )


def _mean(scores: list[float | None]) -> float | None:
    """Of what was judged: an error is no wrong answer, and no 0 either. None where all that was judged has no score."""
    known = [score for score in scores if score is not None]
    return fmean(known) if known else None if scores else 0.0


def _result(case: Case, trials: list[Trial], run: Run) -> EvalResult:
    tally = CaseTally(run.lock.trials)
    for trial in trials:
        tally.add(trial.state)
    state = tally.state(run.suite.case_threshold)
    last = trials[-1] if trials else None
    transcripts = [trial.last.transcript for trial in trials if trial.last.transcript is not None]
    return EvalResult(
        task_id=case.id,
        task_category=case.category,
        passed=state == "passed",
        score=_mean([_score(trial) for trial in trials if trial.state in GRADED]),
        duration_ms=1000 * sum(trial.duration_s for trial in trials),
        tokens_used=sum((trial.input_tokens or 0) + (trial.output_tokens or 0) for trial in trials),
        cost_usd=sum(trial.cost_usd or 0.0 for trial in trials),
        tool_calls_made=sum(len(transcript.tool_calls) for transcript in transcripts),
        error=last.reason if last and not last.grades and state != "passed" else None,
        details=check_details(last.grades, last.reason, run.suite.graders_for(case)) if last else (),
        state=state,
    )


def _score(trial: Trial) -> float | None:
    return 0.0 if trial.score is None and trial.state == "failed" else trial.score
