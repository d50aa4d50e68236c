"""CaseLine: a case of a run in a list, without its definition and transcripts; CaseQuery: which lines, in which order.

A list of a run's cases is read page by page, so that a run of a hundred thousand is shown as fast as one of ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from evalharness.domain.report import CaseState
from evalharness.domain.trial import Outcome
from evalharness.errors import UsageError, closest
from evalharness.stats.thresholds import reaches

TRIAL_MARKS: Mapping[str, str] = MappingProxyType(
    {"passed": "p", "failed": "f", "error": "e", "skipped": "s", "awaiting": "a", "pending": "o"}
)
"""The state of a trial in one letter."""
CASE_STATES: tuple[CaseState, ...] = get_args(CaseState)
CaseFilter = Literal["", "not_passed", "flaky", "passed", "failed", "error", "skipped", "awaiting", "pending"]
CaseOrder = Literal["position", "urgency", "id", "name", "score", "rate", "cost", "latency"]
URGENCY = ("failed", "error", "flaky", "awaiting", "pending", "skipped", "passed")
"""What says most comes first."""
MOST_LINES = 100
"""On a page."""


@dataclass(frozen=True, slots=True)
class CaseLine:
    """`trials` is how many were planned. Means are over judged trials, sums over all of them."""

    position: int
    """In the suite, from 0."""
    case_id: str
    name: str
    category: str
    tags: tuple[str, ...]
    state: CaseState
    trials: int
    marks: str
    """A letter for each finished trial, in their order: see `TRIAL_MARKS`."""
    passed: int
    graded: int
    score: float | None
    latency_s: float | None
    cost_usd: float | None
    """The mean of what a judged trial cost."""
    spent_usd: float | None
    """The sum; None where no trial has a price."""
    tokens: int | None
    tool_calls: int | None
    """The sum; None where an earlier version stored the trials."""
    first_not_passed: int | None
    """The index of the first trial that did not pass."""

    @property
    def is_flaky(self) -> bool:
        """Passed and failed trials together: a mark, not a state."""
        return self.state in ("passed", "failed") and 0 < self.passed < self.graded

    @property
    def rate(self) -> float | None:
        return self.passed / self.graded if self.graded else None


@dataclass(frozen=True, slots=True)
class CaseQuery:
    """`q` is looked for in the ids and names; every condition that is given must be met."""

    state: CaseFilter = ""
    category: str = ""
    tag: str = ""
    q: str = ""
    sort: CaseOrder = "position"
    descending: bool = False
    offset: int = 0
    limit: int = MOST_LINES

    def __post_init__(self) -> None:
        """Raises UsageError, so that every way in has the same words."""
        _check_word("state", self.state, get_args(CaseFilter))
        _check_word("sort", self.sort, get_args(CaseOrder))
        if self.offset < 0:
            raise UsageError(f"offset must be at least 0, not {self.offset}")
        if not 1 <= self.limit <= MOST_LINES:
            raise UsageError(f"limit must be between 1 and {MOST_LINES}, not {self.limit}")

    @property
    def words(self) -> str:
        return search_text(self.q)

    @property
    def is_of_all(self) -> bool:
        return not (self.state or self.category or self.tag or self.q)

    @property
    def first_of_them(self) -> CaseQuery:
        """For lines that are known to be those of the page."""
        return CaseQuery(sort=self.sort, descending=self.descending, limit=self.limit)

    @property
    def asks_of_results(self) -> bool:
        """Whether it takes the trials to answer it; else what the suite says of its cases is enough."""
        return bool(self.state) or self.sort not in ("position", "id", "name")


def _check_word(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        guess = closest(given, known)
        hint = f"did you mean {guess}?" if guess else f"choose one of {', '.join(filter(None, known))}"
        raise UsageError(f"{name} cannot be '{given}'", hint=hint)


class CasePage(NamedTuple):
    """`total` counts the lines of all pages."""

    lines: list[CaseLine]
    total: int


class CaseTally(NamedTuple):
    """The cases of one category in one state: how many, and their scores added up where they have one."""

    category: str
    state: CaseState
    cases: int
    score_sum: float
    scored: int


class CaseLabels(NamedTuple):
    """What the cases of a run can be filtered by, each once, in alphabetical order."""

    categories: tuple[str, ...]
    tags: tuple[str, ...]


class ChangeKey(NamedTuple):
    """A place in the order in which the trials of a run were written.

    `number` grows with each row that is written in a run, whether new or replaced; it is 0 for all trials that an
    earlier version wrote.
    """

    number: int = 0
    case_id: str = ""
    trial_index: int = -1


class TrialChange(NamedTuple):
    number: int
    outcome: Outcome

    @property
    def key(self) -> ChangeKey:
        return ChangeKey(self.number, self.outcome.case_id, self.outcome.trial_index)


def search_text(text: str) -> str:
    """How texts are compared in a search."""
    return text.casefold()


def case_state(passed: int, graded: int, error: int, awaiting: int, pending: int, threshold: float) -> CaseState:
    """From the numbers of its trials; one with no graded trial is skipped unless one erred."""
    if pending:
        return "pending"
    if awaiting:
        return "awaiting"
    if graded:
        return "passed" if reaches(passed / graded, threshold) else "failed"
    return "error" if error else "skipped"
