"""CaseResult: one case of a run in figures, without its transcripts; CaseHistory: the same case over all runs.

What baselines, comparisons and gates work on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Annotated, NamedTuple

from pydantic import ConfigDict, Field, Strict

from evalharness.domain.case import Case
from evalharness.stats.thresholds import SAME

Count = Annotated[int, Strict()]
Figure = Annotated[float, Strict()]
"""`true` is neither."""


@dataclass(slots=True)
class CaseResult:
    """`trials` and `passed` count first answers that were judged: what pass@k, pass^k and comparisons follow.

    `category` is the eval type where the case has one, else the category it gives itself, its `topic`.
    `key` names, by digest, what was asked and who judged: cases with equal keys can be compared.
    Times and costs are means over judged trials, and the largest single one.
    `unscored` counts judged trials without a score, or without a grade that belongs in it, and `unpriced` those without
    a cost; `least_score` is the score if all that is missing were worth 0, and None where nothing is.
    `figures` are means over judged trials of what else its graders measure; None where they measure nothing else.

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
    score: Figure | None = None
    duration_s: Figure | None = None
    longest_s: Figure | None = None
    cost_usd: Figure | None = None
    dearest_usd: Figure | None = None
    weight: Figure = 1.0
    cluster: str = ""
    category: str = ""
    criticality: str = ""
    topic: str = ""
    difficulty: str = ""
    unscored: Annotated[Count, Field(ge=0)] = 0
    least_score: Annotated[Figure, Field(ge=0, le=1 + SAME)] | None = None
    unpriced: Annotated[Count, Field(ge=0)] = 0
    figures: dict[str, Annotated[Figure, Field(ge=0, le=1 + SAME)]] | None = None

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


# One case of several runs of a baseline, as one.

_WORST_FIRST = ("failed", "error", "awaiting", "pending", "skipped", "passed")


def asks_the_same(one: CaseResult, other: CaseResult) -> bool:
    """And is judged the same, as far as both tell."""
    return not (one.key and other.key) or one.key == other.key


def pooled(cases: Sequence[CaseResult]) -> CaseResult:
    """All trials of one case in several runs; scores, times and costs are means of the runs, and passed is all of them.

    A mean of which one run does not tell its part is not known.
    """
    if len(cases) == 1:
        return cases[0]
    return replace(
        cases[0],
        trials=sum(case.trials for case in cases),
        passed=sum(case.passed for case in cases),
        errors=sum(case.errors for case in cases),
        state=min((case.state for case in cases), key=_WORST_FIRST.index),
        score=_mean([case.score for case in cases]),
        duration_s=_mean([case.duration_s for case in cases]),
        longest_s=max((case.longest_s for case in cases if case.longest_s is not None), default=None),
        cost_usd=_mean([case.cost_usd for case in cases]),
        dearest_usd=max((case.dearest_usd for case in cases if case.dearest_usd is not None), default=None),
        unscored=sum(case.unscored for case in cases),
        least_score=None,
        unpriced=sum(case.unpriced for case in cases),
        figures=None,
    )


def _mean(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return fmean(known) if len(known) == len(figures) else None


def earlier_cases(runs: Sequence[Sequence[CaseResult]], now: Iterable[CaseResult]) -> list[CaseResult]:
    """Of each case that there is now and in one of the runs: those that asked the same pooled, else the first."""
    by_id = [{case.case_id: case for case in run} for run in runs]
    found = []
    for case in now:
        earlier = [run[case.case_id] for run in by_id if case.case_id in run]
        if earlier:
            found.append(pooled([each for each in earlier if asks_the_same(each, case)] or earlier[:1]))
    return found


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
