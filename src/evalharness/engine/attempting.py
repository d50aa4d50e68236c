"""Attempting: one execution of one trial, from the question to a graded attempt.

The one place where exceptions of targets and graders become states (rules: "States"); nothing they raise goes further.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalharness.contracts import GradeContext, Grader, Target
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, TrialState
from evalharness.engine.grading import decide
from evalharness.engine.planning import PlannedCase
from evalharness.errors import CannotResume, HarnessError, TargetFailed, TargetUnavailable, TrialSkipped, Unscored

GRACE_S = 10.0
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


class TrialTask:
    """One trial as its target sees it; the workspace is made only if somebody asks for it."""

    __slots__ = ("_folder", "_root", "case", "graders", "index", "seed", "timeout_s")

    def __init__(self, planned: PlannedCase, index: int, seed: int, root: Path) -> None:
        self.case = planned.case
        self.graders = planned.specs
        self.timeout_s = planned.timeout_s
        self.index = index
        self.seed = seed
        self._root = root
        self._folder: Path | None = None

    @property
    def workspace(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="evalharness-"))
            for name, file in self.case.files.items():
                place = self._folder / name
                place.parent.mkdir(parents=True, exist_ok=True)
                if file.path is not None:
                    shutil.copyfile(self._root / file.path, place)
                else:
                    place.write_text(file.text or "", encoding="utf-8")
        return self._folder

    def clean_up(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


@dataclass(frozen=True, slots=True)
class Fault:
    """What a target or a grader raised."""

    error: BaseException

    def __str__(self) -> str:
        text = str(self.error).strip()
        name = type(self.error).__name__
        return text if isinstance(self.error, HarnessError) and text else f"{name}: {text}" if text else name

    @property
    def place(self) -> str:
        """The last line of code involved: file and line."""
        traceback = self.error.__traceback__
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        if isinstance(self.error, SyntaxError) and self.error.filename:
            return f"{self.error.filename}:{self.error.lineno}"
        return f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}" if traceback else ""


async def guarded(awaitable: Awaitable[Any]) -> Any:
    """The result, or the Fault: the only place where the code of others may raise anything at all."""
    try:
        return await awaitable
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return Fault(error)


async def open_target(target: Target, label: str) -> None:
    """Prepare a target; raises TargetUnavailable (or the usage error it met) before any trial is run."""
    result = await guarded(target.open())
    if not isinstance(result, Fault):
        return
    error = result.error
    if isinstance(error, TargetUnavailable | CannotResume):
        raise error
    place = "" if isinstance(error, HarnessError) or not result.place else f" ({result.place})"
    hint = error.hint if isinstance(error, HarnessError) else "run with --debug for the stack trace"
    raise TargetUnavailable(f"the target {label} cannot be imported: {result}{place}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class Attempting:
    """What every attempt of a run shares."""

    target: Target
    infrastructure_errors: frozenset[str]

    async def attempt(self, task: TrialTask, graders: list[tuple[GraderSpec, Grader]]) -> Attempt:
        started = time.perf_counter()
        try:
            answered = await self._answer(task)
            duration_s = time.perf_counter() - started
            if not isinstance(answered, Transcript):
                state, reason, evidence = answered
                return Attempt(state=state, reason=reason, duration_s=duration_s, transcript=evidence)
            context = GradeContext(task.case, answered, task.index, task.seed)
            grades = tuple([await grade_once(spec, grader, context) for spec, grader in graders])
            state, score, reason = decide(grades)
            return Attempt.model_construct(
                state=state, score=score, reason=reason, duration_s=duration_s, grades=grades, transcript=answered
            )
        finally:
            task.clean_up()

    async def _answer(self, task: TrialTask) -> Transcript | tuple[TrialState, str, Any]:
        late = f"time limit: no answer within {task.timeout_s:g} s"
        limit = asyncio.timeout(task.timeout_s + (GRACE_S if self.target.keeps_time_limit else 0.0))
        try:
            async with limit:
                result = await guarded(self.target.answer(task))
        except TimeoutError:
            return "failed", late, None
        if not isinstance(result, Fault):
            return result  # type: ignore[no-any-return]
        error = result.error
        if limit.expired():  # the target swallowed the cancellation and raised something of its own
            return "failed", late, None
        if isinstance(error, TargetFailed):
            return "failed", str(error), error.evidence
        if isinstance(error, TrialSkipped):
            return "skipped", str(error), None
        if self._is_infrastructure(error):
            return "error", str(result), None
        return "failed", f"the target raised {result} ({result.place})", None

    def _is_infrastructure(self, error: BaseException) -> bool:
        if isinstance(error, TargetUnavailable | ConnectionError):
            return True
        return any(
            parent.__name__ in self.infrastructure_errors
            or f"{parent.__module__}.{parent.__qualname__}" in self.infrastructure_errors
            for parent in type(error).__mro__
        )


async def grade_once(spec: GraderSpec, grader: Grader, context: GradeContext) -> Grade:
    """One grader's verdict with its name and weight; a raising grader gives `unscored` with its reason."""
    result = await guarded(grader.grade(context))
    if isinstance(result, Fault):
        reason = str(result.error) if isinstance(result.error, Unscored) else f"the grader raised {result}"
        if not isinstance(result.error, Unscored | HarnessError):
            reason += f" ({result.place})"
        result = Grade.unscored(reason)
    elif not isinstance(result, Grade):
        result = Grade.unscored(f"the grader gave {type(result).__name__} instead of a Grade")
    return Grade.model_construct(
        state=result.state,
        score=result.score,
        reason=result.reason,
        evidence=result.evidence,
        grader=spec.label,
        kind=spec.kind,
        type=grader.type,
        version=grader.version,
        required=spec.required,
        weight=spec.weight,
    )
