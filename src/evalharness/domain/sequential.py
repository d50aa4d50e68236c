"""Sequential runs: what a run that may stop early has to decide, and what it decided. The rules are in `engine`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from evalharness.domain.finding import MaybeFinding
from evalharness.domain.record import Record
from evalharness.stats.thresholds import ALPHA, BETA, LEVEL


class SequentialPlan(Record):
    """Everything that decides when the run stops, so that `resume` and `verify` come to the same end.

    `floor`: the pass rate asked for; one that is `effect` lower is too low. `baseline`: by case, the trials of an
    earlier run and how many of them passed. `alpha`: how often a good run may fail, `beta`: how often one that is too
    low may pass. `seed` draws the order of trials, and which trials are paired.
    """

    seed: int
    floor: float | None = None
    baseline: dict[str, tuple[int, int]] = Field(default_factory=dict)
    baseline_name: str = ""
    baseline_run: str = ""
    """The id of its run, by whatever name it is called."""
    effect: float = 0.1
    alpha: float = ALPHA
    beta: float = BETA
    fixed_n: int = 0
    """How many trials would decide the same if their number were fixed before."""
    ignored: tuple[str, ...] = ()
    """Cases in quarantine: they are run, and decide nothing."""


class SequentialResult(SequentialPlan):
    """What became of a plan. `is_over`: no further trial was needed; a run may also reach its cap undecided.

    `trials_used` counted, `errors` among them could not; `trials_run` were finished in all, `given_up` only begun.
    `at_the_cap`: the rule had not decided when all trials were done, so that its `alpha` and `beta` do not hold.
    """

    rule: str
    decision: Literal["PASSED", "FAILED", "UNDECIDED"]
    why: MaybeFinding
    is_over: bool
    trials_used: int
    cap: int
    errors: int = 0
    trials_run: int = 0
    given_up: int = 0
    not_needed: int = 0
    at_the_cap: bool = False
    saved: float = 0.0
    """Of `fixed_n`, the share that was not even begun; below 0 where it took more. 0 where the rule decided nothing."""
    floor_met: bool | None = None
    floor_why: MaybeFinding = None
    log_likelihood_ratio: float | None = None
    is_worse: bool | None = None
    """Than the baseline; never False: that it is not cannot be shown so."""
    pairs_why: MaybeFinding = None
    pairs: int = 0
    worse: int = 0
    better: int = 0
    e_value: float | None = None
    passed: int = 0
    cases: int = 0
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    interval_method: str = ""

    @property
    def rate(self) -> float | None:
        """The share of the trials that counted which passed."""
        return self.passed / self.trials_used if self.trials_used else None

    @property
    def plan(self) -> SequentialPlan:
        return SequentialPlan(**{name: getattr(self, name) for name in SequentialPlan.model_fields})


@dataclass(frozen=True, slots=True)
class SequentialRequest:
    """`effect`: how much lower than asked for, or than before, is too low (a share)."""

    effect: float = 0.1
    trials: int | None = None
    """Per case, if somebody chose them."""
