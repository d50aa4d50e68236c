"""Trial: one attempt of one case by number, the unit of work, of storage and of resuming."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from evalharness.domain.exchange import Exchange, Replayed
from evalharness.domain.grade import SPEND_CAP, Grade, GradeState, Judging, added_up
from evalharness.domain.record import Record
from evalharness.domain.transcript import Transcript

TrialState = Literal["passed", "failed", "error", "skipped", "awaiting"]
TRIAL_STATES: tuple[TrialState, ...] = ("passed", "failed", "error", "skipped", "awaiting")
TIME_LIMIT = "time limit"
"""How the reason of a trial begins that got no answer in time."""
Cause = Literal["", "not_needed", "given_up", "spend_cap", "replay_miss"]
"""What the harness did to a trial: skipped because its sequential run had been decided (before the trial was begun, or
while it was under way), left without a grade because there was no money for one, or ended because its replay asked for
something that was not recorded."""
NOT_NEEDED = "not needed: "
GIVEN_UP = f"{NOT_NEEDED}given up under way, "
"""How the reasons begin of trials with these causes."""
DECISIVE: dict[TrialState, GradeState] = {"error": "unscored", "failed": "fail", "awaiting": "awaiting"}
"""The state of the grades that put a trial into a state: the first of these counts."""
GRADED: frozenset[str] = frozenset(("passed", "failed"))


class Attempt(Record):
    """One execution. A trial has several when it was retried or repaired by `resume`; every one is kept."""

    state: TrialState
    score: float | None = None
    reason: str = ""
    cause: Cause = ""
    duration_s: float = 0.0
    """As the target reports it; where it reports nothing, and where it gave no answer, by the harness's clock."""
    measured_s: float | None = None
    """By the harness's clock, where the target reports a time of its own."""
    grades: tuple[Grade, ...] = ()
    transcript: Transcript | None = None
    trace: str = ""
    """Where the target raised: the frames of its own code."""


class Outcome(NamedTuple):
    """A finished trial without its transcripts, as the store reads it quickly; `grades` is JSON."""

    case_id: str
    trial_index: int
    state: TrialState
    first_state: TrialState
    score: float | None
    reason: str
    duration_s: float
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    grades: str
    judging: str | None = None
    """What judges took in all its attempts: a JSON list with one entry per model."""
    cause: Cause = ""
    replayed: str | None = None
    """What the replay of the trial found, as JSON; None for a trial that was not replayed."""

    @property
    def is_open(self) -> bool:
        """Whether `resume` may do better: after an error, and where there was no money for a grade."""
        return self.state == "error" or self.cause == "spend_cap"

    @property
    def is_not_needed(self) -> bool:
        """Whether a trial of a sequential run was skipped because the run had been decided."""
        return self.cause in ("not_needed", "given_up")


class Spent(NamedTuple):
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None


class TrialTape(Record):
    """What was recorded of a trial, to be stored with it, and what its replay found."""

    exchanges: tuple[Exchange, ...] = ()
    replayed: Replayed | None = None


class Trial(Record):
    """State, score and reason are the last attempt's; cost and tokens are summed over all attempts."""

    case_id: str
    index: int
    seed: int
    attempts: tuple[Attempt, ...] = Field(min_length=1)
    tape: TrialTape | None = Field(default=None, exclude=True)
    """None for a live trial, and for one that was read from a store."""

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]

    @property
    def state(self) -> TrialState:
        return self.last.state

    @property
    def first_state(self) -> TrialState:
        """The first answer that could be judged: what pass@k, pass^k and comparisons follow."""
        for attempt in self.attempts:
            if attempt.state != "error":
                return attempt.state
        return "error"

    @property
    def score(self) -> float | None:
        return self.last.score

    @property
    def reason(self) -> str:
        return self.last.reason

    @property
    def cause(self) -> Cause:
        return self.last.cause

    @property
    def grades(self) -> tuple[Grade, ...]:
        return self.last.grades

    @property
    def output(self) -> object:
        return self.last.transcript.output if self.last.transcript else None

    @property
    def duration_s(self) -> float:
        return self.last.duration_s

    @property
    def measured_s(self) -> float | None:
        return self.last.measured_s

    @property
    def spent(self) -> Spent:
        transcripts = [attempt.transcript for attempt in self.attempts if attempt.transcript is not None]
        costs = [each.cost_usd for each in transcripts if each.cost_usd is not None]
        usages = [each.usage for each in transcripts if each.usage is not None]
        cost_usd = sum(costs) if costs else None
        if not usages:
            return Spent(cost_usd, None, None)
        tokens_in, tokens_out = sum(each.input_tokens for each in usages), sum(each.output_tokens for each in usages)
        return Spent(cost_usd, tokens_in, tokens_out)

    @property
    def cost_usd(self) -> float | None:
        return self.spent.cost_usd

    @property
    def input_tokens(self) -> int | None:
        return self.spent.input_tokens

    @property
    def output_tokens(self) -> int | None:
        return self.spent.output_tokens

    @property
    def judgings(self) -> tuple[Judging, ...]:
        """What judges took, one entry per model."""
        return added_up(each for attempt in self.attempts for grade in attempt.grades for each in grade.judging)


def cause_in_words(state: str, reason: str) -> Cause:
    """Of a trial or a grade that an earlier version wrote, which had no causes: its reason says it."""
    if state == "awaiting":
        return "spend_cap" if SPEND_CAP in reason else ""
    if state != "skipped" or not reason.startswith(NOT_NEEDED):
        return ""
    return "given_up" if reason.startswith(GIVEN_UP) else "not_needed"
