"""Collect sessions: what became of each session of a run, in the documented words. Works for every suite's runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from evalharness import registry
from evalharness.documents.session import EvalCriteria, Session, moment_of
from evalharness.documents.session_checks import size_class, summarise_results
from evalharness.documents.session_repeats import diagnose_repeats, summed_repeats
from evalharness.documents.session_results import (
    NOT_RUN,
    AssertionResult,
    Config,
    EvalRun,
    RepeatedEval,
    Repeats,
    Result,
    SessionCheck,
)
from evalharness.domain.case import Case, session_file, session_record
from evalharness.domain.grade import VERDICTS, Grade
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Trial
from evalharness.engine.planning.planned_cases import asked_case, filled_suite
from evalharness.errors import HarnessError
from evalharness.formats.recorded_sessions.rebuilt_sessions import (
    is_whole_event_stream,
    last_message_output_tokens,
    session_from_events,
    session_from_transcript,
)
from evalharness.values.json_value import Json


def eval_run_of(run: Run, trials: Iterable[Trial], config: Config) -> EvalRun:
    """Round by round, the cases in the order of the suite; what was not tried has a result that says so."""
    finished = {(trial.case_id, trial.index): trial for trial in trials}
    results = tuple(_results(run, finished, config))
    started = moment_of(run.created_at)
    if started is None:
        raise HarnessError(f"the run {run.name} was stored with an invalid time: {run.created_at}")
    return EvalRun(
        name=run.name,
        timestamp=started,
        duration=timedelta(seconds=run.report.metadata.duration_seconds if run.report else 0.0),
        config=config,
        results=results,
        summary=summarise_results(results).model_copy(update={"repeats": diagnose_repeats(results, run.lock.trials)}),
    )


def repeats_of(run: Run, trials_of: Callable[[str], Iterable[Trial]]) -> Repeats | None:
    """How reliable each eval is. `trials_of` gives those of one case: only so many are in memory at once."""
    evals: list[RepeatedEval] = []
    for case, checks in _cases(run):
        finished = {trial.index: trial for trial in trials_of(case.id)}
        results = [
            _asked(run, case, index, run.root).result(finished.get(index), checks) for index in range(run.lock.trials)
        ]
        found = diagnose_repeats(results, run.lock.trials)
        evals += found.evals if found else ()
    return summed_repeats(evals, run.lock.trials)


def _results(run: Run, finished: dict[tuple[str, int], Trial], config: Config) -> Iterator[Result]:
    cases = list(_cases(run))
    for index in range(run.lock.trials):
        for case, checks in cases:
            yield _asked(run, case, index, config.evals_dir).result(finished.get((case.id, index)), checks)


def _cases(run: Run) -> Iterator[tuple[Case, dict[str, SessionCheck]]]:
    """Each with its variables filled in, and its checks."""
    values = {name: value for name, value in run.lock.variables.items() if value is not None}
    suite = filled_suite(run.suite, values)
    for case in run.suite.cases:
        asked = asked_case(run, case)
        yield asked, _checks(suite, asked)


def _asked(run: Run, case: Case, index: int, evals_dir: str) -> _Asked:
    number = f" #{index + 1}" if run.lock.trials > 1 else ""
    return _Asked(run, case, index, f"{case.title}{number}", f"{evals_dir}/{session_file(case) or case.id}")


def _checks(suite: Suite, case: Case) -> dict[str, SessionCheck]:
    """By kind: the options of those graders of the case for which results have fields of their own."""
    options = {spec.kind: registry.parse_options("grader", spec) for spec in suite.graders_for(case)}
    return {kind: each for kind, each in options.items() if isinstance(each, SessionCheck)}


@dataclass(frozen=True, slots=True)
class _Asked:
    """One case, asked once."""

    run: Run
    case: Case
    index: int
    title: str
    path: str

    @property
    def questions(self) -> tuple[str, ...]:
        content = self.case.content
        if isinstance(content, list) and all(isinstance(turn, dict) for turn in content):
            return tuple(str(turn.get("content", "")) for turn in content if turn.get("role") == "user")
        return (self.case.content_text,)

    def result(self, trial: Trial | None, checks: Mapping[str, SessionCheck]) -> Result:
        about = {"input_path": self.path, "title": self.title, "question": "\n".join(self.questions)}
        if trial is None:
            return Result(**about, state="error", error=NOT_RUN, session=self._session(None))
        transcript = trial.last.transcript or Transcript()
        called = [call.name for call in transcript.tool_calls]
        evidence = {grade.kind: grade.evidence for grade in trial.grades}
        fields: dict[str, Any] = {}
        for kind, check in checks.items():
            fields |= check.result_fields(evidence.get(kind), called)
        others = _as_assertions(grade for grade in trial.grades if grade.kind not in checks)
        fields["assertion_results"] = (*fields.get("assertion_results", ()), *others)
        return Result(
            **about,
            response=transcript.text,
            state=trial.state,
            cost=trial.cost_usd or 0.0,
            output_tokens=trial.output_tokens or 0,
            last_message_output_tokens=last_message_output_tokens(transcript.events),
            size=size_class(transcript.text) if trial.last.transcript else "",
            error=_error(trial),
            raw_output=transcript.events,
            session=self._session(trial.last.transcript),
            **fields,
        )

    def _session(self, transcript: Transcript | None) -> Session:
        about = {
            "session_id": str(uuid5(NAMESPACE_OID, f"{self.run.id}/{self.case.id}/{self.index}")),
            "now": self.run.created_at,
        }
        if transcript is None:
            session = session_from_events((), self.title, self.questions, **about)
        elif is_whole_event_stream(transcript.events):
            session = session_from_events(transcript.events, self.title, self.questions, **about)
        else:
            session = session_from_transcript(transcript, self.questions, **about)
        kept = session_record(self.case)
        changes: dict[str, Json] = {"title": self.title, "input_id": str(kept.get("id", ""))}
        if "evals" in kept:
            changes["evals"] = EvalCriteria.model_validate(kept["evals"])
        return session.model_copy(update=changes)


def _as_assertions(grades: Iterable[Grade]) -> Iterator[AssertionResult]:
    """What suites of other kinds check, so that no result fails without a word about it."""
    for grade in grades:
        if grade.required and grade.state in VERDICTS:
            reason = "" if grade.passed else grade.reason
            yield AssertionResult(name=grade.grader, type=grade.kind, passed=grade.passed, reason=reason)


def _error(trial: Trial) -> str:
    """Why there is nothing to check; a wrong answer is no error."""
    if trial.state == "skipped":
        return f"skipped: {trial.reason}"
    broke = trial.state == "error" or (trial.state == "failed" and not trial.grades)
    return trial.reason or trial.state if broke else ""
