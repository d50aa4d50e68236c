"""Run: one suite × one variant × one lock. The lock names everything that decides a result, by digest."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import TypedDict

from pydantic import Field, ValidationError

from evalharness.domain.case import Case
from evalharness.domain.invalid_values import explain
from evalharness.domain.record import Record
from evalharness.domain.report import Report
from evalharness.domain.sequential import SequentialPlan
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Trial
from evalharness.errors import UsageError
from evalharness.values.json_value import Json
from evalharness.values.variables import fill


class CaseLock(Record):
    """By digest: what is asked, who judges the answer, and the case's own target where it has one."""

    case: str
    graders: str
    target: str = ""

    @property
    def key(self) -> str:
        """Two cases with this key can be compared, whatever was asked."""
        return self.joined(self.case, self.graders)

    @staticmethod
    def joined(case: str, graders: str) -> str:
        return f"{case} {graders}"

    @staticmethod
    def asks_the_same(key: str, other: str) -> bool:
        """Whatever graders they have."""
        return key.partition(" ")[0] == other.partition(" ")[0]


class RunLock(Record):
    """Two runs are comparable where these are equal. `variables` holds secret ones by name only (value None)."""

    harness_version: str
    python_version: str
    platform: str
    target: str
    seed: int
    trials: int
    cases: dict[str, CaseLock]
    variables: dict[str, str | None] = Field(default_factory=dict)

    @property
    def keys(self) -> dict[str, str]:
        """By case: what it is compared by."""
        return {case_id: lock.key for case_id, lock in self.cases.items()}


class RunOptions(Record):
    """What the command line or the caller decided about a run, as far as `resume` needs it again."""

    max_concurrency: int | None = None
    max_failures: int | None = None
    grader_type: str | None = None
    sandbox: str = "bubblewrap"
    env: dict[str, str | None] = Field(default_factory=dict)
    sequential: SequentialPlan | None = None
    """When the run may stop early; None for a fixed number of trials."""
    judge_model: str = ""
    """Judges in place of whatever the graders name; `none` leaves their grades outstanding."""
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    use_cache: bool = True
    """Whether verdicts that a judge gave before are used again."""

    @property
    def is_capped(self) -> bool:
        return self.max_cost_usd is not None or self.max_tokens is not None


class EvaluateOptions(TypedDict, total=False):
    """How wide a run is, who judges it and what it may cost."""

    max_concurrency: int | None
    """Trials at the same time; 0: the number of CPUs."""
    judge_model: str
    """Judges in place of whatever the graders name; `none` leaves their grades outstanding."""
    max_cost_usd: float | None
    max_tokens: int | None
    use_cache: bool
    sandbox: str
    """Where to run untrusted code."""


class Run(Record):
    """A run as planned and stored; `report` and `trials` are filled in once it has been executed."""

    id: str
    name: str
    matrix_id: str
    variant: str = ""
    root: str
    created_at: str
    finished_at: str | None = None
    suite: Suite
    target: TargetSpec
    lock: RunLock
    options: RunOptions = Field(default_factory=RunOptions)
    regrade_of: str = ""
    """The id of the run whose transcripts this one grades again; empty for a run that asked for itself."""
    report: Report | None = None
    trials: tuple[Trial, ...] = ()

    @property
    def planned_trials(self) -> int:
        return len(self.suite.cases) * self.lock.trials

    @property
    def budget_id(self) -> str:
        """Who shares its spend cap: all runs of one command where the cap was given to that command."""
        return self.matrix_id if self.options.is_capped else self.id

    @property
    def has_fresh_trials(self) -> bool:
        """Whether its target was asked; a regrade and the grading of stored artifacts look at old answers again."""
        return not self.regrade_of and self.target.kind != "artifact"

    def target_of(self, case: Case) -> TargetSpec:
        """Who answers a case: its own target, which may be one of those that the suite names, or the run's."""
        return self.suite.named_target(case.target) if case.target else self.target

    @property
    def passed(self) -> bool:
        return self.report is not None and self.report.exit_code == 0

    @property
    def pass_rate(self) -> float | None:
        return self.report.summary.pass_rate if self.report else None

    @property
    def exit_code(self) -> int | None:
        return self.report.exit_code if self.report else None

    def environment(self) -> dict[str, Json]:
        values = {name: value for name, value in self.lock.variables.items() if value is not None}
        model = fill(self.target.model, values)
        return {
            "target": self.target.described(),
            **({"model": model} if model else {}),
            "variant": self.variant,
            "version": self.lock.harness_version,
            "python": self.lock.python_version,
            "platform": self.lock.platform,
        }


ADJECTIVES = (
    "amber", "bold", "brave", "bright", "calm", "clever", "crisp", "eager", "fair", "gentle",
    "jolly", "keen", "lively", "mellow", "noble", "quick", "quiet", "steady", "sunny", "witty",
)  # fmt: skip
NOUNS = (
    "badger", "beacon", "cedar", "comet", "falcon", "fjord", "harbor", "heron", "lantern", "maple",
    "meadow", "otter", "panda", "pebble", "raven", "river", "sparrow", "summit", "tiger", "willow",
)  # fmt: skip


def generate_run_name(rng: Random) -> str:
    return f"{rng.choice(ADJECTIVES)}-{rng.choice(NOUNS)}-{rng.randrange(1000):03d}"


def generate_run_id(now: datetime, rng: Random) -> str:
    return f"eval-{now:%Y%m%d-%H%M%S}-{rng.randrange(16**4):04x}"


def checked_options(options: EvaluateOptions) -> RunOptions:
    if unknown := set(options) - set(EvaluateOptions.__annotations__):
        raise TypeError(f"'{min(unknown)}' is not one of the options: {', '.join(EvaluateOptions.__annotations__)}")
    try:
        checked = RunOptions.model_validate(options)
    except ValidationError as error:
        raise UsageError(explain(error)) from None
    at_once = checked.max_concurrency
    if at_once is not None and at_once < 0:
        raise UsageError(f"max_concurrency must be at least 0 (the number of CPUs), not {at_once}")
    for name, cap in (("max_cost_usd", checked.max_cost_usd), ("max_tokens", checked.max_tokens)):
        if cap is not None and not cap > 0:
            raise UsageError(f"{name} must be above 0, not {cap}")
    return checked
