"""Measurement: a number with its interval, how many cases and trials it rests on, and by which method."""

from __future__ import annotations

from evalharness.domain.record import Record
from evalharness.stats.thresholds import LEVEL

RETRIEVAL_FIGURES = {
    "hit_at_1": "hit@1",
    "hit_at_k": "hit@k",
    "recall": "recall",
    "precision_at_k": "precision@k",
    "mrr": "MRR",
    "ndcg": "nDCG",
}
"""What is measured of retrieved documents, and how people write it."""
EARLIER_METHOD = "clustered Wilson"
"""Of intervals over cases, in reports of earlier versions."""


class Measurement(Record):
    value: float
    low: float | None = None
    high: float | None = None
    level: float = LEVEL
    method: str = ""
    n_cases: int = 0
    n_trials: int = 0
    n_eff: float | None = None
    lacking: int = 0
    """Of a score or a cost: judged trials that have none, or whose score lacks what one of their graders should say."""

    @property
    def is_of_earlier_version(self) -> bool:
        """Whether its interval is one that is no longer made, so that it cannot be computed again."""
        return self.method.startswith(EARLIER_METHOD)

    @property
    def half_width(self) -> float | None:
        return None if self.low is None or self.high is None else (self.high - self.low) / 2
