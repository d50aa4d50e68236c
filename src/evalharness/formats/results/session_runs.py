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
from evalharness.documents.session_checks import size_class, summarise_results, tool_calls_f1
from evalharness.documents.session_results import (
    AssertionResult,
    EvalRun,
    RelevanceResult,
    Result,
    RunOutput,
    Summary,
)
from evalharness.domain.case import Case, session_file, session_record
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError
from evalharness.formats.problems import problems_text
from evalharness.formats.results.written_reports import HOW_TO, read_json
from evalharness.values.json_value import Json


def read_session_run(path: Path, suite: Suite) -> EvalRun | None:
    """The results of the suite's sessions in a file; None for a file of another kind. Raises UsageError without any."""
    data = read_json(path)
    try:
        if isinstance(data, list):
            sessions = tuple(Session.model_validate(each) for each in data)
            run = _placed(path.stem, sessions, suite, None)
        elif isinstance(data, Mapping) and isinstance(data.get("sessions"), list):
            output = RunOutput.model_validate(data)
            run = _placed(output.name, output.sessions, suite, output)
        elif isinstance(data, Mapping) and isinstance(data.get("results"), list):
            run = EvalRun.model_validate(data)
        else:
            return None
    except ValidationError as error:
        raise UsageError(
            f"{path} contains no results of recorded sessions: {problems_text(error, Session)}", hint=HOW_TO
        ) from None
    if not any(result.input_path for result in run.results):
        raise UsageError(f"{path} contains no results of a session of suite {suite.name}", hint=HOW_TO)
    return run


def _placed(name: str, sessions: Sequence[Session], suite: Suite, output: RunOutput | None) -> EvalRun:
    results = tuple(_results(sessions, suite))
    return EvalRun(
        name=name,
        timestamp=output.timestamp if output else datetime.fromtimestamp(0, UTC),
        duration=timedelta(),
        results=results,
        summary=output.summary if output and output.summary != Summary() else summarise_results(results),
    )


def _results(sessions: Iterable[Session], suite: Suite) -> Iterator[Result]:
    cases = [case for case in suite.cases if session_file(case)]
    by_id = _unique(cases, [str(session_record(case).get("id", "")) for case in cases])
    by_title = _unique(cases, [case.title for case in cases])
    for session in sessions:
        title = session.title.rpartition(" #")[0] if session.title.rpartition(" #")[2].isdigit() else session.title
        case = by_id.get(session.input_id) or by_title.get(title)
        if case is not None:
            yield _result(session, case, f"{suite.name}/{session_file(case)}")


def _unique(cases: Sequence[Case], names: Sequence[str]) -> dict[str, Case]:
    """Without names that several share: nobody could say which is meant."""
    counts = Counter(names)
    return {name: case for name, case in zip(names, cases, strict=True) if name and counts[name] == 1}


def _result(session: Session, case: Case, path: str) -> Result:
    about = {"input_path": path, "title": session.title, "response": session_answer(session) or ""}
    if not session.eval_result:
        return _looked_at(session, case, about)
    found = session.eval_result
    checks = _mapping(found.get("checks"))
    size, tools, relevance = (_mapping(checks.get(name)) for name in ("size", "tool_calls", "relevance"))
    assertions = _mapping(checks.get("assertions")).get("results") or ()
    return Result.model_validate(
        {
            **about,
            "state": "passed" if found.get("passed") else "error" if found.get("error") else "failed",
            "error": found.get("error") or "",
            "cost": found.get("cost") or 0.0,
            "output_tokens": found.get("output_tokens") or 0,
            "size": size.get("actual") or "",
            "size_expected": size.get("expected") or "",
            "tool_calls_score": tools.get("score") or 0.0,
            "tool_calls_score_expected": 1.0 if tools else 0.0,
            "relevance": relevance.get("passed_count") or 0.0,
            "relevance_expected": relevance.get("total") or 0.0,
            "relevance_results": [RelevanceResult.model_validate(each) for each in relevance.get("results") or ()],
            "assertion_results": [AssertionResult.model_validate(each) for each in assertions],
        }
    )


def _looked_at(session: Session, case: Case, about: Mapping[str, Any]) -> Result:
    """The oldest form has sessions without results: what needs no judge is checked now."""
    evals = EvalCriteria.model_validate(session_record(case).get("evals") or {})
    expected: Json = next((spec.options for spec in case.graders or () if spec.kind == "tool_calls_f1"), None)
    wanted = [str(name) for name in expected] if isinstance(expected, list) else []
    called = tools_called_in(session)
    return Result(
        **about,
        cost=session.cost,
        output_tokens=session.output_tokens,
        size=size_class(about["response"]),
        size_expected=evals.size,
        tool_calls_score=tool_calls_f1(wanted, called),
        tool_calls_expected=1.0 if wanted else 0.0,
    )


def _mapping(value: Json) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
