"""RunReviews: what people were asked about the answers of a run, how far they agree, and how answers were ranked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evalharness.domain.measurement import Measurement
from evalharness.domain.record import Record

AGREEMENT_FIGURES = {
    "percent_agreement": "percent agreement",
    "alpha_nominal": "Krippendorff's α (nominal)",
    "alpha_ordinal": "Krippendorff's α (ordinal)",
    "alpha_interval": "Krippendorff's α (interval)",
    "cohen_kappa": "Cohen's κ",
    "fleiss_kappa": "Fleiss' κ",
    "ac1": "Gwet's AC1",
}
"""What is measured of the agreement between people, and how it is written."""


class Agreement(Record):
    """Of one grader, or of one criterion of its scale. A figure is left out where all ratings are equal."""

    grader: str
    criterion: str = ""
    items: int
    """Those that at least two people rated."""
    figures: dict[str, Measurement] = Field(default_factory=dict)
    leading: str = ""
    """The figure to read first: AC1 where one rating is rare, else alpha."""


class RankedPlayer(Record):
    """`strength` is a log strength in which all players have a mean of 0; None where they cannot be ranked."""

    player: str
    strength: Measurement | None = None
    wins: float
    comparisons: float


class Ranking(Record):
    """The best first. `concordance` is Kendall's W over the items that several people ranked."""

    grader: str
    players: tuple[RankedPlayer, ...]
    rankings: int
    is_rankable: bool
    concordance: float | None = None


class ReviewerProgress(Record):
    """`gold_right` of `gold` answers with a known rating were rated on the right side."""

    reviewer: str
    reviews: int
    skipped: int = 0
    surplus: int = 0
    late: int = 0
    gold: int = 0
    gold_right: int = 0


class RunReviews(Record):
    """`pending` counts the reviews that are still wanted; items are `decided`, `disputed`, or neither yet."""

    items: int
    decided: int
    disputed: int
    pending: int
    reviews: int
    """Those that count."""
    stale: int = 0
    """Reviews of a run that this one grades again, with another question, answer or rating scale."""
    interface: Literal["web", "cli", "api"] = "web"
    agreement: tuple[Agreement, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    reviewers: tuple[ReviewerProgress, ...] = ()
