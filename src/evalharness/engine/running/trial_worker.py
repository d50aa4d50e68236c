"""One work unit → one trial: its attempts, retries, time limit, grading and what it spends."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from evalharness import registry
from evalharness.contracts.budget import Budget
from evalharness.contracts.exchange import Tape, taped
from evalharness.contracts.executor import RunSpec, WorkUnit
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial, TrialTape
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.engine.running.attempt import INFRASTRUCTURE_ERRORS, Attempting
from evalharness.engine.running.parts import Parts
from evalharness.engine.running.regraded_trial import (
    complete,
    is_worth_another_try,
    lacks_only_grades,
    regrade_trial,
)
from evalharness.engine.running.time_limit import TimeLimit
from evalharness.engine.running.trial_task import TrialTask
from evalharness.workspaces import remove_leftovers

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0


class TrialWorker:
    """What all trials of a run share. One serves any number of asyncio tasks."""

    def __init__(self, run_id: str, spec: RunSpec, parts: Parts, budget: Budget) -> None:
        self._run_id = run_id
        self._spec = spec
        self._parts = parts
        self._budget = budget
        is_capped = budget.max_cost_usd is not None or budget.max_tokens is not None
        self._is_capped = is_capped and not spec.taping.is_replay  # recorded costs were paid before
        infrastructure = frozenset((*INFRASTRUCTURE_ERRORS, *spec.suite.infrastructure_errors))
        self._is_tidy = False
        self._new_tape: Any = None if spec.taping.mode == "live" else registry.load("exchanges", "tape")
        self._attempting = Attempting(parts.target, infrastructure, parts.services.isolated, parts.services.exchanges)

    def time_limit(self) -> TimeLimit:
        """For the asyncio task that calls this; to be closed at its end."""
        return TimeLimit(self._attempting.loop_time)

    async def trial(self, unit: WorkUnit, limit: TimeLimit) -> Trial:
        """Raises SpendCapReached where there is no money for it: the unit stays undone."""
        planned = self._parts.cases[unit.case_id]
        if self._spec.target is None:
            stored = Trial(case_id=unit.case_id, index=unit.trial_index, seed=unit.seed, attempts=unit.earlier)
            return await regrade_trial(stored, planned, keeps_verdicts=self._spec.keeps_verdicts)
        if planned.skip:
            return _trial(unit, (Attempt(state="skipped", reason=planned.skip),))
        if self._spec.taping.mode == "live":
            return await self._executed(unit, planned, limit)
        return await self._taped(unit, planned, limit)

    async def _executed(self, unit: WorkUnit, planned: PlannedCase, limit: TimeLimit) -> Trial:
        return await (self._paid(unit, planned, limit) if self._is_capped else self._finished(unit, planned, limit))

    async def _taped(self, unit: WorkUnit, planned: PlannedCase, limit: TimeLimit) -> Trial:
        """A replayed trial starts again from its first attempt; that cost nothing."""
        if self._spec.taping.is_replay:
            unit = unit._replace(earlier=())
        tape: Tape = self._new_tape(self._spec.taping, unit.case_id, unit.trial_index, unit.recording)
        with taped(tape):
            trial = await self._executed(unit, planned, limit)
        kept = TrialTape.unchecked({"exchanges": tape.kept(), "replayed": tape.replayed()})
        return trial.unchecked({**vars(trial), "tape": kept})

    async def _paid(self, unit: WorkUnit, planned: PlannedCase, limit: TimeLimit) -> Trial:
        """Where the target's own calls are not metered, what its answers report is charged."""
        target = self._parts.target_of(planned)
        is_metered = target.is_metered or target.uses_gateway
        await self._budget.begin_trial(is_metered=is_metered)
        new: tuple[Attempt, ...] = ()
        try:
            trial = await self._finished(unit, planned, limit)
            new = trial.attempts[len(unit.earlier) :]
            return trial
        finally:
            answers = [attempt.transcript for attempt in new if attempt.transcript is not None]
            self._budget.end_trial(*_reported_cost(answers), is_metered=is_metered)

    async def _finished(self, unit: WorkUnit, planned: PlannedCase, limit: TimeLimit) -> Trial:
        """All attempts of one trial: repeated after an error, and after a failing answer if the suite asks for it."""
        attempts: tuple[Attempt, ...] = ()
        if unit.earlier and unit.earlier[-1].state == "awaiting":  # goes on as if it had never been interrupted
            attempts = (*unit.earlier[:-1], await self._completed(unit, planned))
            unit = unit._replace(earlier=())
        while not attempts or self._is_tried_again(planned, attempts):
            if attempts and attempts[-1].state == "error" and not self._spec.taping.is_replay:
                await asyncio.sleep(pause_s(len(attempts), Random(f"{unit.seed} {len(attempts)}")))
            task = self._task(unit, planned)
            before = (*unit.earlier, *attempts)
            if (tape := self._parts.services.exchanges.tape) is not None:
                tape.begin(len(before), task)
            is_gone = any(grader.needs_end_state for _, grader in planned.graders)
            if before and lacks_only_grades(before[-1]) and not is_gone:  # the answer is there, and paid for
                attempt = await self._attempting.grade_again(task, planned, before[-1])
            else:
                attempt = await self._attempting.attempt(task, planned, limit, unit.recording.target)
            attempts = (*attempts, attempt if tape is None or not tape.missed else _missed(attempt, tape.missed))
        return _trial(unit, attempts)

    def _task(self, unit: WorkUnit, planned: PlannedCase) -> TrialTask:
        services = self._parts.services
        about = (unit.trial_index, unit.seed, services.root, self._run_id, services.environment)
        return TrialTask(planned, *about, self._tidy, self._spec.store_id)

    async def _completed(self, unit: WorkUnit, planned: PlannedCase) -> Attempt:
        if (tape := self._parts.services.exchanges.tape) is not None:
            tape.begin(len(unit.earlier) - 1, self._task(unit, planned))
        return await complete(unit.earlier[-1], planned, unit.trial_index, unit.seed, tape)

    def _tidy(self) -> None:
        """Before the first workspace of the run: what killed processes left may fill the disk."""
        if not self._is_tidy:
            self._is_tidy = True
            remove_leftovers()

    def _is_tried_again(self, planned: PlannedCase, attempts: tuple[Attempt, ...]) -> bool:
        last = attempts[-1]
        if last.cause == "replay_miss":
            return False
        tape = self._parts.services.exchanges.tape
        if tape is not None and tape.is_replay:  # also attempts that `resume` made belong to the recording
            return tape.has_attempt(len(attempts))
        if len(attempts) > planned.retries or not is_worth_another_try(last):
            return False
        return last.state == "error" or (last.state == "failed" and self._spec.suite.config.retry_failed)


def _missed(attempt: Attempt, why: str) -> Attempt:
    """Whatever came of it: something was asked that nobody knows the answer to."""
    about = {"state": "error", "score": None, "reason": why, "cause": "replay_miss"}
    return attempt.unchecked({**vars(attempt), **about})


def _trial(unit: WorkUnit, attempts: tuple[Attempt, ...]) -> Trial:
    attempts = (*unit.earlier, *attempts)
    about = {"case_id": unit.case_id, "index": unit.trial_index, "seed": unit.seed}
    return Trial.unchecked({**about, "attempts": attempts, "tape": None})


def _reported_cost(answers: Sequence[Transcript]) -> tuple[float | None, int]:
    """What the target says it has spent; nothing where it gave no answer."""
    costs = [answer.cost_usd for answer in answers if answer.cost_usd is not None]
    usages = [answer.usage for answer in answers if answer.usage is not None]
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in usages)
    return (sum(costs) if costs else None if answers else 0.0), tokens


def pause_s(attempt: int, rng: Random) -> float:
    """Doubling, with full jitter, so that those who failed together do not come back together."""
    return rng.uniform(0, min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt))
