"""TrialPlan: how many cases and trials would show a drop of a given size, and what that rests on."""

from __future__ import annotations

from typing import Literal

from evalharness.domain.finding import Finding, MaybeFinding
from evalharness.domain.record import Record
from evalharness.stats.drop_range import Unknown


class Spread(Record):
    """How much results vary: `within` is the mean variance of one trial of a case, `between` that of the cases' rates.

    `basis` says where that comes from. `measured`: from cases with several trials. `bound`: one trial per case does not
    tell the two apart, so `within` is the most it can be. `assumed`: nothing was run yet, so it is the most there is.
    Where `between` is None, each plan allows for the worst split of the two. Where cases have clusters, `between` is
    the variance of the clusters' rates.
    """

    within: float
    between: float | None
    basis: Literal["measured", "bound", "assumed"]
    is_smoothed: bool = False
    """Whether so few cases or clusters differed so little that `between` is only what they do not rule out."""
    cluster_size: float = 1.0
    """Cases of a cluster (their harmonic mean), or 1."""
    evenness: float = 1.0
    """How many clusters of equal size would say as much, as a share of all clusters."""


class PlanRow(Record):
    """So many trials per case, in both runs that are compared."""

    trials: int
    detectable: float | None
    """The smallest drop seen on the cases there are, as a share; None where not even the loss of every pass is.

    Of a range, the upper end.
    """
    detectable_from: float | None = None
    """The lower end, where earlier results do not show the rates well enough for one number."""
    cases_needed: int
    """How many cases it takes to see the wanted drop on cases like these, not only on these; clusters, if there are."""
    run_trials: int
    cost_usd: float | None = None
    duration_s: float | None = None


class TrialPlan(Record):
    """What is None at the end is not known, or the cases do not differ."""

    suite_name: str
    cases: int
    clusters: int | None = None
    """Where cases have them: then they are what is needed for others like them, and what differs."""
    effect: float
    power: float
    alpha: float
    spread: Spread
    run_id: str = ""
    run_name: str = ""
    run_target: str = ""
    run_cases: int = 0
    run_trials: int = 0
    why_no_run: MaybeFinding = None
    detectable_unknown: Unknown = ""
    """Why the smallest drops are ranges: the results do not show how much the cases differ (`spread`), or the pass rate
    (`rate`)."""
    pass_rate: float | None = None
    rows: tuple[PlanRow, ...]
    trials: int
    """Per case, as they are now or as asked for."""
    is_chosen: bool = False
    """Whether somebody asked for just so many."""
    recommended: PlanRow
    """The cheapest that sees the wanted drop on the cases there are; the chosen number, if there is one."""
    is_reasonable: bool
    """Whether so many trials per case show the drop and are worth it; if not, more cases are the better advice."""
    cases_at_best: int | None = None
    """The cases (or clusters) needed to see the wanted drop on others like these, even if tried without end."""
    enough_trials: int | None = None
    """From here on more trials per case hardly help for cases like these: only more cases do. None if never."""
    error_at_best: float | None = None
    """The standard error of the pass rate that remains with endless trials."""
    notes: tuple[Finding, ...] = ()

    @property
    def unit(self) -> str:
        return "case" if self.clusters is None else "cluster"

    @property
    def units(self) -> int:
        return self.cases if self.clusters is None else self.clusters

    @property
    def is_possible(self) -> bool:
        """Whether the pass rate can drop so far at all."""
        return self.pass_rate is None or self.pass_rate >= self.effect
