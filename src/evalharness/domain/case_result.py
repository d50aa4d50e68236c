"""CaseResult: one case of a run in figures, without its transcripts; CaseHistory: the same case over all runs.

What baselines, comparisons and gates work on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field, Strict

from evalharness.domain.case import Case
from evalharness.stats.thresholds import SAME

Count = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
"""`true` is neither."""


@dataclass(slots=True)
class CaseResult:
    """`trials` and `passed` count first answers that were judged: what pass@k, pass^k and comparisons follow.

    `category` is the eval type where the case has one, else the category it gives itself, its `topic`.
    `key` names, by digest, what was asked and who judged: cases with equal keys can be compared.
    Times and costs are means over judged trials, and the largest single one.
    `unscored` counts judged trials without a score, or without a grade that belongs in it, and `unpriced` those without
    a cost; `least_score` is the score if all that is missing were worth 0, and None where nothing is.

    No `Record`, and frozen by custom alone: a run may have a hundred thousand cases, and a comparison has two runs. A
    frozen one takes six times as long to make, a `Record` twice the memory besides.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    case_id: str
    key: str = ""
    trials: Count = 0
    passed: Count = 0
    errors: Count = 0
    state: str = "pending"
    score: Number | None = None
    duration_s: Number | None = None
    longest_s: Number | None = None
    cost_usd: Number | None = None
    dearest_usd: Number | None = None
    weight: Number = 1.0
    cluster: str = ""
    category: str = ""
    criticality: str = ""
    topic: str = ""
    unscored: Annotated[Count, Field(ge=0)] = 0
    least_score: Annotated[Number, Field(ge=0, le=1 + SAME)] | None = None
    unpriced: Annotated[Count, Field(ge=0)] = 0

    @property
    def whole_score(self) -> float | None:
        """None where a trial lacks a part of it: the rest says nothing of what is missing."""
        return None if self.unscored else self.score

    @property
    def whole_cost_usd(self) -> float | None:
        return None if self.unpriced else self.cost_usd

    @property
    def share(self) -> float | None:
        return self.passed / self.trials if self.trials else None


_MOST_FAILURES = 2**53
WRITTEN = frozenset(("failure_count", "last_passed"))
"""Keys of a case's metadata that tell what became of it, not what is asked: they change with every run."""


class CaseHistory(NamedTuple):
    failure_count: int = 0
    last_passed: str | None = None

    @property
    def known(self) -> dict[str, int | str]:
        """What there is to tell, by name; a case that never failed nor passed has nothing."""
        return {name: value for name, value in self._asdict().items() if value}


def written_history(case: Case) -> CaseHistory:
    """What the file says (`failure_count` and `last_passed` among the metadata): where the store starts to count."""
    count, passed = case.metadata.get("failure_count"), case.metadata.get("last_passed")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_FAILURES:
        count = 0
    return CaseHistory(count, passed if isinstance(passed, str) and passed else None)
