"""Written reports: the JSON document that runs and baselines write, and results of recorded sessions, read as a Report.

Only what comparisons and gates need is read: trials that the document may hold are passed over.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import from_json

from evalharness.documents.session_checks import state_of
from evalharness.documents.session_results import EvalRun, Result
from evalharness.domain.case_result import CaseResult
from evalharness.domain.report import CaseState, Report, RunMetadata, RunSummary
from evalharness.domain.trial import GRADED
from evalharness.errors import Hint, UsageError
from evalharness.formats.problems import problems_text
from evalharness.stats.thresholds import SAME

ENDING = ".json"
MOST_TRIALS = 1_000_000
"""Per case: nobody runs more."""
MOST = 1e15
"""Of seconds, dollars and weights: the sums of larger ones are no numbers any more."""
_FROM_0_ON = ("duration_s", "longest_s", "cost_usd", "dearest_usd", "weight")
HOW_TO = Hint("hint.write_report")


def read_report(path: Path) -> Report:
    """Raises UsageError where the file is not a report of one run, or tells nothing about its cases."""
    reports = read_reports(path)
    if len(reports) != 1:
        raise UsageError(f"{path} contains the reports of {len(reports)} runs", hint=Hint("hint.one_report"))
    return reports[0]


def read_reports(path: Path) -> list[Report]:
    """One, or several where the file is a baseline of several runs; whether they fit together is not checked here."""
    data = read_json(path)
    document = data if isinstance(data, Mapping) else {}
    several = document.get("eval_reports")
    if isinstance(several, list) and several and all(isinstance(written, Mapping) for written in several):
        return [_report(path, written) for written in several]
    return [_single_report(path, document)]


def _single_report(path: Path, document: Mapping[str, Any]) -> Report:
    written = document.get("eval_report")
    if isinstance(written, Mapping):
        return _report(path, written)
    if isinstance(document.get("results"), list):
        return _of_results(path, document)
    if isinstance(document.get("sessions"), list):
        raise UsageError(
            f"{path} contains recorded sessions, which do not name the files they belong to",
            hint=Hint("hint.results_beside"),
        )
    raise UsageError(f"{path} is not a report", hint=HOW_TO)


def read_trials(path: Path, position: int = 0) -> list[Mapping[str, Any]] | None:
    """The trials of one of the reports that were read, as they are written; None where there are none in the file."""
    document = read_json(path)
    several = document.get("eval_reports") or [document.get("eval_report") or {}]
    trials: list[Mapping[str, Any]] | None = several[position].get("trials")
    return trials


def read_json(path: Path) -> Any:
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a regular file", hint=HOW_TO)
        return from_json(path.read_bytes().removeprefix(BOM_UTF8))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}", hint=HOW_TO) from None


def _report(path: Path, written: Mapping[str, Any]) -> Report:
    try:
        report = Report.model_validate({key: value for key, value in written.items() if key != "trials"})
    except ValidationError as error:
        raise UsageError(
            f"{path} is not a report that this version can read: {problems_text(error, Report)}",
            hint="write it again with this version, or update evalharness",
        ) from None
    if not report.cases:
        raise UsageError(f"{path} has no results for individual cases", hint=HOW_TO)
    _check_cases(path, report.cases)
    return report


def _check_cases(path: Path, cases: Iterable[CaseResult]) -> None:
    """A file can be edited, or joined from several: what cannot be is reported with the case that it is about."""
    seen: set[str] = set()
    for case in cases:
        if case.case_id in seen:
            raise UsageError(f"{path} contains the case '{case.case_id}' twice", hint=HOW_TO)
        seen.add(case.case_id)
        if not case.case_id or case.state not in get_args(CaseState):
            wrong = f"case '{case.case_id}' has an unknown state: {case.state}" if case.case_id else "a case has no id"
            raise UsageError(f"{path}: {wrong}", hint=HOW_TO)
        if not (0 <= case.passed <= case.trials <= MOST_TRIALS and 0 <= case.errors <= MOST_TRIALS):
            counts = f"{case.passed} passed of {case.trials} trials, {case.errors} errors"
            raise UsageError(f"{path}: the counts of case '{case.case_id}' are impossible: {counts}", hint=HOW_TO)
        if case.score is not None and not -SAME <= case.score <= 1 + SAME:
            raise UsageError(
                f"{path}: the score of case '{case.case_id}' must be from 0 to 1, not {case.score:g}", hint=HOW_TO
            )
        for field in _FROM_0_ON:
            value = getattr(case, field)
            if value is not None and not 0 <= value <= MOST:
                raise UsageError(f"{path}: {field} of case '{case.case_id}' is impossible: {value:g}", hint=HOW_TO)


def _of_results(path: Path, document: Mapping[str, Any]) -> Report:
    """A case for each recorded session, by the name of its file; results of the same file are its trials."""
    try:
        run = EvalRun.model_validate(document)
    except ValidationError as error:
        raise UsageError(
            f"{path} contains no results of recorded sessions: {problems_text(error, EvalRun)}", hint=HOW_TO
        ) from None
    return report_of_results(path, run)


def report_of_results(path: Path, run: EvalRun) -> Report:
    tried: dict[str, list[Result]] = {}
    for result in run.results:
        if result.input_path:
            tried.setdefault(_case_id(result.input_path), []).append(result)
    if not tried:
        raise UsageError(f"{path} contains no results that name their files (input_path)", hint=HOW_TO)
    cases = tuple(_case(case_id, results) for case_id, results in tried.items())
    states = [case.state for case in cases]
    passed, failed = states.count("passed"), states.count("failed")
    return Report(
        metadata=RunMetadata(
            suite_name=PurePath(next(iter(run.results)).input_path).parent.name,
            run_id="",
            run_name=run.name,
            timestamp=run.timestamp.isoformat().replace("+00:00", "Z"),
            duration_seconds=run.duration.total_seconds(),
            trials_per_case=max(map(len, tried.values())),
        ),
        verdict="PASSED" if passed == len(cases) else "FAILED",
        exit_code=0 if passed == len(cases) else 1,
        summary=RunSummary(
            total_evals=len(cases),
            passed=passed,
            failed=failed,
            errors=states.count("error"),
            skipped=states.count("skipped"),
            awaiting=states.count("awaiting"),
        ),
        cases=cases,
        cost_usd=run.summary.total_cost,
    )


def _case_id(input_path: str) -> str:
    """As a recorded session becomes a case: the name of its file, wherever that lay when it was run."""
    return PurePath(input_path).name.removesuffix(ENDING)


def _case(case_id: str, results: list[Result]) -> CaseResult:
    states = [state_of(result) for result in results]
    judged = [result for result, state in zip(results, states, strict=True) if state in GRADED]
    passed = states.count("passed")
    rest = next((state for state in ("awaiting", "error", "skipped") if state in states), "skipped")
    return CaseResult(
        case_id=case_id,
        trials=len(judged),
        passed=passed,
        errors=states.count("error"),
        state=("passed" if passed == len(judged) else "failed") if judged else rest,
        score=passed / len(judged) if judged else None,
        cost_usd=sum(result.cost for result in judged) / len(judged) if judged else None,
        dearest_usd=max((result.cost for result in judged), default=None),
    )
