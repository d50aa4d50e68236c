"""Files with runs of recorded sessions: what docker-agent saves, in both of its forms, and what we save.

Its sessions do not name the files they were made from. They are found by the id of the recorded session, else by title.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evalharness.documents.session import EvalCriteria, Session, session_answer, tools_called_in
from evalharness.documents.session_assertions import Answered, check_assertion
from evalharness.documents.session_checks import size_class, summarise_results, tool_calls_f1
from evalharness.documents.session_results import EvalResult, EvalRun, Result, RunOutput, Summary
from evalharness.domain.case import Case, session_file, session_record
from evalharness.domain.invalid_values import explain
from evalharness.domain.suite import Suite
from evalharness.errors import Hint, UsageError
from evalharness.formats.problems import problems_text
from evalharness.formats.results.written_reports import HOW_TO, read_json
from evalharness.values.json_value import Json

NAMED = 3
"""How many sessions an error names."""
_WITH_EVALS = Hint("hint.session_results")


def read_session_run(path: Path, suite: Suite) -> EvalRun | None:
    """The results of the suite's sessions in a file; None for a file of another kind. Raises UsageError without any."""
    data = read_json(path)
    document = data if isinstance(data, Mapping) else {}
    items = [document[name] for name in ("sessions", "results") if name in document]
    if data == [] or (items and not any(items)):  # Go writes null for a list without items
        raise _no_evals(path)
    try:
        if isinstance(data, list):
            sessions = tuple(Session.model_validate(each) for each in data)
            return _placed(path, path.stem, sessions, suite, None)
        if isinstance(document.get("sessions"), list):
            output = RunOutput.model_validate(data)
            return _placed(path, output.name, output.sessions, suite, output)
        if isinstance(document.get("results"), list):
            return _with_names(path, EvalRun.model_validate(data))
    except ValidationError as error:
        raise UsageError(
            f"{path} contains no results of recorded sessions: {problems_text(error, Session)}", hint=HOW_TO
        ) from None
    return None


def _with_names(path: Path, run: EvalRun) -> EvalRun:
    if not run.results:
        raise _no_evals(path)
    if not any(result.input_path for result in run.results):
        raise UsageError(f"{path} contains no results that name their files (input_path)", hint=HOW_TO)
    return run


def _no_evals(path: Path) -> UsageError:
    return UsageError(f"{path} is a docker-agent result with no evals", hint=_WITH_EVALS)


def _placed(path: Path, name: str, sessions: Sequence[Session], suite: Suite, output: RunOutput | None) -> EvalRun:
    results = tuple(_results(path, sessions, suite))
    if not results:
        others = ", ".join(f"'{session.title or session.id}'" for session in sessions[:NAMED])
        more = f" and {len(sessions) - NAMED} more" if len(sessions) > NAMED else ""
        raise UsageError(
            f"{path} has no result of a session of suite {suite.name}, only of {others}{more}", hint=_WITH_EVALS
        )
    return EvalRun(
        name=name,
        timestamp=output.timestamp if output else datetime.fromtimestamp(0, UTC),
        duration=timedelta(),
        results=results,
        summary=output.summary if output and output.summary != Summary() else summarise_results(results),
    )


def _results(path: Path, sessions: Iterable[Session], suite: Suite) -> Iterator[Result]:
    cases = [case for case in suite.cases if session_file(case)]
    by_id = _unique(cases, [str(session_record(case).get("id", "")) for case in cases])
    by_title = _unique(cases, [case.title for case in cases])
    for session in sessions:
        title = session.title.rpartition(" #")[0] if session.title.rpartition(" #")[2].isdigit() else session.title
        case = by_id.get(session.input_id) or by_title.get(title)
        if case is not None:
            yield _result(path, session, case, f"{suite.name}/{session_file(case)}")


def _unique(cases: Sequence[Case], names: Sequence[str]) -> dict[str, Case]:
    """Without names that several share: nobody could say which is meant."""
    counts = Counter(names)
    return {name: case for name, case in zip(names, cases, strict=True) if name and counts[name] == 1}


def _result(path: Path, session: Session, case: Case, input_path: str) -> Result:
    about = {"input_path": input_path, "title": session.title, "response": session_answer(session) or ""}
    if not session.eval_result:
        return _looked_at(session, case, about)
    try:
        found = EvalResult.model_validate(session.eval_result)
    except ValidationError as error:
        wrong = explain(error, "eval_result")
        raise UsageError(f"{path}: session '{session.title or session.id}': {wrong}", hint=_WITH_EVALS) from None
    checks = found.checks
    return Result(
        **about,
        state="passed" if found.passed else "error" if found.error else "failed",
        error=found.error,
        cost=found.cost,
        output_tokens=found.output_tokens,
        size=checks.size.actual,
        size_expected=checks.size.expected,
        tool_calls_score=checks.tool_calls.score if checks.tool_calls else 0.0,
        tool_calls_expected=1.0 if checks.tool_calls else 0.0,
        relevance_passed=checks.relevance.passed_count,
        relevance_expected=checks.relevance.total,
        relevance_results=checks.relevance.results,
        assertion_results=checks.assertions.results,
    )


def _looked_at(session: Session, case: Case, about: Mapping[str, Any]) -> Result:
    """The oldest form has sessions without results: what needs no judge is checked now."""
    evals = EvalCriteria.model_validate(session_record(case).get("evals") or {})
    expected: Json = next((spec.options for spec in case.graders or () if spec.kind == "tool_calls_f1"), None)
    wanted = [str(name) for name in expected] if isinstance(expected, list) else []
    called = tools_called_in(session)
    answered = Answered(about["response"], session.cost, called)
    return Result(
        **about,
        cost=session.cost,
        output_tokens=session.output_tokens,
        size=size_class(about["response"]),
        size_expected=evals.size,
        tool_calls_score=tool_calls_f1(wanted, called),
        tool_calls_expected=1.0 if wanted else 0.0,
        assertion_results=tuple(check_assertion(assertion, answered) for assertion in evals.assertions),
    )
