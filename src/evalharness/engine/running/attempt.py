"""Attempt: one execution of one trial, from the question to a graded attempt and the state it ends in.

The answer is recorded as plain JSON before it is graded. This is the one place where exceptions of targets and graders
become states; nothing they raise goes further.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from traceback import TracebackException
from typing import Any

from pydantic import ValidationError

from evalharness.contracts.exchange import Call, Exchanges, Tape
from evalharness.contracts.gateway import GatewaySession
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.sandbox import Sandbox
from evalharness.contracts.target import Target
from evalharness.documents.artifact_view import reported_duration_s
from evalharness.domain.grade import VERDICTS, Grade, kept_evidence
from evalharness.domain.invalid_values import explain
from evalharness.domain.printed import PRINTED, Printed
from evalharness.domain.review import RANKED_ONLY
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Answer, Transcript, Usage, wrong_shape
from evalharness.domain.trial import DECISIVE, TIME_LIMIT, Attempt, Cause, TrialState
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.engine.running.kept_answer import (
    Answered,
    NoAnswer,
    is_bare_text,
    read_answer,
    recorded_answer,
    written_answer,
)
from evalharness.engine.running.time_limit import STRAY, LoopTime, Steps, TimeLimit, TrialsTask, is_being_cancelled
from evalharness.engine.running.trial_task import TrialTask, no_sandbox, set_up
from evalharness.errors import (
    EndStateUnreadable,
    HarnessError,
    Hint,
    ImpossibleFigure,
    InvalidValue,
    SpendCapReached,
    TargetFailed,
    TargetUnavailable,
    TrialSkipped,
    Unscored,
    UsageError,
    raised_at,
    trace_of,
)
from evalharness.stats.means import weighted_mean
from evalharness.values.json_value import Json, plain_json
from evalharness.values.text import head

_OF_ANSWERS = (Answer.__name__, Usage.__name__)
GRACE_S = 10.0
LONGEST_REASON = 2000
LONGEST_TRACE = 20_000
INFRASTRUCTURE_ERRORS = (
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "ConnectionAbortedError",
    "BrokenPipeError",
    "RateLimitError",
    "APIConnectionError",
    "APITimeoutError",
    "InternalServerError",
    "ServiceUnavailableError",
    "OverloadedError",
    "ResourceExhausted",
    "ServiceUnavailable",
    "ThrottlingException",
    "ClientConnectorError",
    "ServerDisconnectedError",
    "ConnectError",
    "ConnectTimeout",
    "gaierror",
)
"""Class names that mean the target was not reached: built-in ones and those of well-known SDKs."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What a target or a grader raised."""

    error: BaseException

    def __str__(self) -> str:
        # An exception's own __str__ may raise, too; TracebackException sees to that.
        text = str(TracebackException(type(self.error), self.error, None, compact=True)).strip()
        name = type(self.error).__name__
        if isinstance(self.error, ValidationError):  # of somebody's own pydantic model
            return short_reason(f"{name}: {self.error.title}: {explain(self.error)}")
        if isinstance(self.error, HarnessError) and text:
            return short_reason(text)
        return short_reason(f"{name}: {text}" if text else name)

    @property
    def place(self) -> str:
        return raised_at(self.error)

    @property
    def trace(self) -> str:
        return head(trace_of(self.error), LONGEST_TRACE)

    @property
    def evidence(self) -> Transcript | None:
        """What the target left behind, if its exception carries it."""
        evidence = getattr(self.error, "evidence", None)
        return evidence if isinstance(evidence, Transcript) else None


async def guarded(function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
    """The result, or the Fault: the only place where the code of others may raise anything at all.

    That nothing may be spent any more concerns the whole run, and goes through.
    """
    result: Any
    try:
        result = await function(*arguments)
    except SpendCapReached:
        raise
    except asyncio.CancelledError as error:
        if is_being_cancelled(asyncio.current_task()):
            raise
        result = Fault(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        result = Fault(_only_cause(error))
    task = asyncio.current_task()
    if isinstance(task, TrialsTask) and task.has_strays:
        return await _despite_strays(task, result)
    return result


async def _despite_strays(task: TrialsTask, result: Any) -> Any:
    """What was called cancelled the task that it runs in; it must not end that of the trials to come."""
    is_cancelled = isinstance(result, Fault) and isinstance(result.error, asyncio.CancelledError)
    try:
        await task.drop_strays()
    except asyncio.CancelledError:
        if is_being_cancelled(task):
            raise
        is_cancelled = True
    return Fault(asyncio.CancelledError(STRAY)) if is_cancelled else result


def _only_cause(error: BaseException) -> BaseException:
    """A task group wraps even a single exception; what counts is the one inside."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def short_reason(text: str) -> str:
    return head(text, LONGEST_REASON)


async def open_target(target: Target, label: str) -> None:
    """Prepare a target; raises TargetUnavailable (or the usage error it met) before any trial is run."""
    result = await guarded(target.open)
    if not isinstance(result, Fault):
        return
    error = result.error
    if isinstance(error, TargetUnavailable | UsageError):
        raise error
    place = "" if isinstance(error, HarnessError) or not result.place else f" ({result.place})"
    hint = error.hint if isinstance(error, HarnessError) else Hint("hint.stack_trace")
    raise TargetUnavailable(f"the target {label} cannot be opened: {result}{place}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class Attempting:
    """What every attempt of a run shares. `target` answers the cases that have none of their own."""

    target: Target | None
    infrastructure_errors: frozenset[str]
    isolated: Callable[[], Sandbox] = no_sandbox
    exchanges: Exchanges = field(default_factory=Exchanges)
    loop_time: LoopTime = field(default_factory=LoopTime)

    async def attempt(
        self, task: TrialTask, planned: PlannedCase, limit: TimeLimit, target_digest: str = ""
    ) -> Attempt:
        """`limit` is the one of the asyncio task that calls this; `target_digest` is for recordings."""
        target = planned.target.target if planned.target else self.target
        assert target is not None, "a run that only grades attempts nothing"
        task.has_private_parent = target.has_own_machine
        tape = self.exchanges.tape
        try:
            if tape is None:
                answered, measured_s = await self._answered(target, task, limit)
            elif target.records_calls or target.uses_gateway:
                answered, measured_s = await self._answered(target, task, limit)
                measured_s = tape.latency(measured_s)
            else:
                asked = _compared(planned, task.seed, target_digest)
                answered, measured_s = await self._recorded_whole(target, task, limit, asked)
            if isinstance(answered, NoAnswer):
                return _unanswered(answered, measured_s)
            if tape is not None:
                answered = tape.linked(answered, task.run_id)
            return await _graded(task, planned, answered, measured_s, tape)
        finally:
            await task.end()

    async def _answered(self, target: Target, task: TrialTask, limit: TimeLimit) -> Answered:
        """The answer of the target, or why there is none, with what it printed and what it left in its workspace."""
        fault = await guarded(set_up, task, self.isolated) if task.setup and not target.has_own_machine else None
        started = time.perf_counter()
        # Whatever it is that went wrong before the target was asked, the target did not do it.
        printed = Printed()
        kept_in = PRINTED.set(printed)
        if target.uses_gateway and (gateway := target.services.gateway) is not None:
            task.gateway = await gateway.begin(self.exchanges.tape)
        try:
            answered = NoAnswer("error", str(fault)) if fault else await self._answer(target, task, limit)
        finally:
            PRINTED.reset(kept_in)
            printed.finish()
            measured_s = time.perf_counter() - started
            if task.gateway is not None:
                await task.gateway.close()
        if task.gateway is not None:
            answered = _with_traffic(answered, task.gateway)
        try:
            changes = await task.changes()
        except TargetUnavailable as error:
            answered, changes = NoAnswer("error", str(Fault(error))), ({}, ())
        if isinstance(answered, NoAnswer):
            return Answered(await _with_what_it_left(answered, changes, printed), measured_s)
        return Answered(_with_printed(_with_files(answered, *changes), printed), measured_s)

    async def _recorded_whole(self, target: Target, task: TrialTask, limit: TimeLimit, asked: Json) -> Answered:
        """A replay takes the whole answer from the recording, and does not execute the target."""

        async def execute() -> Answered:
            return await self._answered(target, task, limit)

        whole = Call("answer", lambda: asked, execute, written_answer, read_answer)
        result = await guarded(self.exchanges.pass_on, whole)
        return Answered(self._no_answer(result), 0.0) if isinstance(result, Fault) else result

    async def grade_again(self, task: TrialTask, planned: PlannedCase, before: Attempt) -> Attempt:
        """The answer of an attempt whose grading went wrong; its cost stays with the attempt that asked for it."""
        assert before.transcript is not None
        answer = before.transcript.model_copy(update={"cost_usd": None, "usage": None})
        measured_s = before.duration_s if before.measured_s is None else before.measured_s
        return await _graded(task, planned, answer, measured_s, self.exchanges.tape)

    async def _answer(self, target: Target, task: TrialTask, limit: TimeLimit) -> Transcript | NoAnswer:
        result: Any = None
        steps = Steps(self.loop_time, target.answer, task)
        limit_s = task.timeout_s + (GRACE_S if target.keeps_time_limit else 0.0)
        with limit.of(limit_s, steps):
            result = await guarded(lambda: steps)
        fault = result if isinstance(result, Fault) else None
        # A late answer does not count. A call that never got its turn says so, and was not the target's fault.
        if limit.expired and not (fault and isinstance(fault.error, TargetUnavailable)):
            evidence = fault.evidence if fault else result if isinstance(result, Transcript) else None
            return NoAnswer("failed", f"{TIME_LIMIT}: no answer within {task.timeout_s:g} s", evidence)
        if fault:
            return self._no_answer(fault)
        if not isinstance(result, Transcript):
            return NoAnswer("failed", f"the target returned {type(result).__name__} instead of a Transcript")
        if is_bare_text(result):
            return result
        kept = await guarded(_recorded, result)
        return self._no_answer(kept) if isinstance(kept, Fault) else kept

    def _no_answer(self, fault: Fault) -> NoAnswer:
        error = fault.error
        if isinstance(error, TargetFailed):
            return NoAnswer("failed", str(error), fault.evidence, fault.trace)
        if isinstance(error, TrialSkipped):
            return NoAnswer("skipped", str(error))
        if self._is_infrastructure(error):
            return NoAnswer("error", str(fault), fault.evidence, fault.trace)
        invalid = error.__context__ if isinstance(error, InvalidValue) else error
        if isinstance(invalid, ValidationError) and invalid.title in _OF_ANSWERS:
            refused = wrong_shape(invalid)  # by the class that the target called to make its answer
            if isinstance(refused, ImpossibleFigure):
                return NoAnswer("error", str(refused))
        place = f" ({fault.place})" if fault.place else ""
        return NoAnswer("failed", f"the target raised {fault}{place}", fault.evidence, fault.trace)

    def _is_infrastructure(self, error: BaseException) -> bool:
        if isinstance(error, BaseExceptionGroup):
            return all(self._is_infrastructure(each) for each in error.exceptions)
        if isinstance(error, TargetUnavailable | ConnectionError):
            return True
        return any(
            parent.__name__ in self.infrastructure_errors
            or f"{parent.__module__}.{parent.__qualname__}" in self.infrastructure_errors
            for parent in type(error).__mro__
        )


def _compared(planned: PlannedCase, seed: int, target_digest: str) -> Json:
    """What a whole answer depends on."""
    case = planned.asked
    asked = {"input": case.input, "seed": seed, "target": target_digest}
    beside = {"context": case.context, "variant": dict(planned.variant), "files": sorted(case.files)}
    return plain_json({**asked, **{name: value for name, value in beside.items() if value}})


def _with_traffic(answered: Transcript | NoAnswer, session: GatewaySession) -> Transcript | NoAnswer:
    """What passed the gateway is known whether the target gave an answer or not."""
    if isinstance(answered, Transcript):
        return session.completed(answered)
    evidence = session.completed(answered.evidence or Transcript())
    return answered._replace(evidence=evidence) if evidence.model_fields_set else answered


async def _with_what_it_left(
    answered: NoAnswer, changes: tuple[dict[str, str], tuple[str, ...]], printed: Printed
) -> NoAnswer:
    kept = await _with_recorded_evidence(answered)
    evidence = _with_files(kept.evidence, *changes) if kept.evidence else None
    if printed and kept.state != "skipped":  # nobody shall take that for an answer
        evidence = _with_printed(evidence or Transcript(), printed)
    return kept._replace(evidence=evidence)


def _unanswered(answered: NoAnswer, measured_s: float) -> Attempt:
    return Attempt(
        state=answered.state,
        score=0.0 if answered.state == "failed" else None,
        reason=short_reason(answered.reason),
        duration_s=measured_s,
        transcript=answered.evidence,
        trace=answered.trace,
    )


async def _graded(
    task: TrialTask, planned: PlannedCase, answer: Transcript, measured_s: float, tape: Tape | None = None
) -> Attempt:
    reported_s = reported_duration_s(answer)
    duration_s = measured_s if reported_s is None else reported_s
    context = GradeContext(planned.case, answer, task.index, task.seed, duration_s, end_state=task.end_state)
    grades = tuple([await grade_once(spec, grader, context, tape) for spec, grader in planned.graders])
    state, score, reason, cause = decide(grades)
    return Attempt.unchecked(
        {
            "state": state,
            "score": score,
            "reason": reason,
            "cause": cause,
            "duration_s": duration_s,
            "measured_s": None if reported_s is None else measured_s,
            "grades": grades,
            "transcript": answer,
            "trace": "",
        }
    )


async def _recorded(answer: Transcript) -> Transcript:
    return recorded_answer(answer)


async def _with_recorded_evidence(answered: NoAnswer) -> NoAnswer:
    """What a failed target left behind is not judged, so what cannot be kept of it only leaves a word in the reason."""
    if answered.evidence is None:
        return answered
    kept = await guarded(_recorded, answered.evidence)
    if not isinstance(kept, Fault):
        return answered._replace(evidence=kept)
    reason = f"{answered.reason}; what it left behind could not be kept: {kept}"
    return answered._replace(reason=reason, evidence=kept.evidence)


def _with_files(transcript: Transcript, changed: dict[str, str], removed: tuple[str, ...]) -> Transcript:
    """What lies in the workspace counts for more than what the target says of it."""
    if not changed and not removed:
        return transcript
    return transcript.model_copy(update={"files": {**transcript.files, **changed}, "removed_files": removed})


def _with_printed(transcript: Transcript, printed: Printed) -> Transcript:
    """Behind what the target itself says of its streams."""
    if not printed:
        return transcript
    streams = {"stdout": transcript.stdout + printed["stdout"], "stderr": transcript.stderr + printed["stderr"]}
    return transcript.model_copy(update={name: text for name, text in streams.items() if text})


async def grade_once(spec: GraderSpec, grader: Grader, context: GradeContext, tape: Tape | None = None) -> Grade:
    """One grader's verdict with its name and weight.

    A raising grader gives `unscored` with its reason, unless its `grade_after_error` says otherwise. A judge that
    may not be paid any more leaves its grade outstanding: the answer has been paid for, and is kept.
    """
    if tape is not None:
        tape.grader = spec.label
    try:
        result = await guarded(grader.grade, grader.handed(context))
    except SpendCapReached as error:
        result = Grade.unpaid(error.message)
    if isinstance(result, Fault) and isinstance(result.error, EndStateUnreadable):
        result = Grade.of(False, reason=str(result.error))  # whatever graders around it would make of it
    elif isinstance(result, Fault):
        reason = str(result.error) if isinstance(result.error, Unscored) else f"the grader raised {result}"
        if result.place and not isinstance(result.error, Unscored | HarnessError):
            reason += f" ({result.place})"
        trace = result.trace
        result = grader.grade_after_error(short_reason(reason))
        result = result.unchecked({**vars(result), "trace": trace})
    elif not isinstance(result, Grade):
        result = Grade.unscored(f"the grader returned {type(result).__name__} instead of a Grade")
    if not grader.only_reads and result.evidence is not None:
        result = result.unchecked({**vars(result), "evidence": kept_evidence(result.evidence)})
    about = {"grader": spec.label, "kind": spec.kind, "type": grader.type, "version": grader.version}
    counts = {"required": False, "weight": 0.0} if grader.never_required else vars(spec)
    return result.unchecked({**vars(result), **about, "required": counts["required"], "weight": counts["weight"]})


def decide(grades: Sequence[Grade]) -> tuple[TrialState, float | None, str, Cause]:
    """State, score, reason and cause. All required grades pass → passed; one unscored → error; one still outstanding →
    awaiting, unless one already failed."""
    score = mean_score(grades)
    deciding = decisive_grades(grades)
    if all(grade.state == "pass" for grade in deciding):
        return "passed", score, "", ""
    if not deciding[0].required:
        due = [grade for grade in deciding if grade.state == "awaiting"]
        if all(grade.cause == "ranked" for grade in deciding):
            return "skipped", None, RANKED_ONLY, ""
        said = "; ".join(map(_said, due or deciding))
        if due:
            return "awaiting", score, said, _cause(due)
        return "error", score, f"no grader gave a verdict: {said}", ""
    for state, looked_for in DECISIVE.items():
        found = [grade for grade in deciding if grade.state == looked_for]
        if found:
            return state, score, "; ".join(map(_said, found)), _cause(found)
    raise AssertionError("a grade has an unknown state")


def _cause(decisive: Iterable[Grade]) -> Cause:
    return "spend_cap" if any(grade.cause == "spend_cap" for grade in decisive) else ""


def decisive_grades(grades: Sequence[Grade]) -> list[Grade]:
    """The required grades. Where none is, and nobody gave a verdict, all that were to give one: none is no pass."""
    required = [grade for grade in grades if grade.required]
    if required or any(grade.is_verdict for grade in grades):
        return required
    return [grade for grade in grades if grade.state not in VERDICTS]


def mean_score(grades: Sequence[Grade]) -> float | None:
    """The weighted mean of the grades' scores. Nothing to grade scores 1.

    None when a required grade has no score, or nobody has one of those whose scores are to count. A grade that passes
    without a score has measured nothing (a scorer that is switched off): it is left out.
    """
    if len(grades) == 1 and grades[0].score is not None:
        return grades[0].score
    if any(grade.score is None for grade in grades if grade.required and grade.state != "pass"):
        return None
    scored = [(grade.score, grade.weight) for grade in grades if grade.score is not None]
    if not any(weight for _, weight in scored):
        if any(grade.state not in VERDICTS and (grade.weight or not scored) for grade in grades):
            return None
        scored = [(score, 1.0) for score, _ in scored]  # nothing has weight: all have the same
    return weighted_mean(scored) if scored else 1.0


def _said(grade: Grade) -> str:
    return f"{grade.grader}: {grade.reason}" if grade.reason else f"{grade.grader}: {grade.state}"
