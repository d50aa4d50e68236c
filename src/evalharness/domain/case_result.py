"""CaseResult: one case of a run in figures, without its transcripts. What baselines, comparisons and gates work on."""

from __future__ import annotations

from typing import NamedTuple

from evalharness.domain.record import Record


class CaseOutline(NamedTuple):
    """What a case is, as far as its result tells it."""

    case_id: str
    key: str = ""
    weight: float = 1.0
    cluster: str = ""
    category: str = ""
    criticality: str = ""
    topic: str = ""


class CaseResult(Record):
    """`trials` and `passed` count first answers that were judged: what pass@k, pass^k and comparisons follow.

    `category` is the eval type where the case has one, else the category it gives itself, its `topic`.
    `key` names, by digest, what was asked and who judged: cases with equal keys can be compared.
    Times and costs are means over judged trials, and the largest single one.
    """

    case_id: str
    key: str = ""
    trials: int = 0
    passed: int = 0
    errors: int = 0
    state: str = "pending"
    score: float | None = None
    duration_s: float | None = None
    longest_s: float | None = None
    cost_usd: float | None = None
    dearest_usd: float | None = None
    weight: float = 1.0
    cluster: str = ""
    category: str = ""
    criticality: str = ""
    topic: str = ""

    @property
    def share(self) -> float | None:
        return self.passed / self.trials if self.trials else None
