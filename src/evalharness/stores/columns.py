"""What each column may contain. SQLite keeps whatever is written to a cell, so every row is checked when it is read.

A wrong value of the right kind (another state, another score) is no damage that can be seen here: that is what
verifying a run is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Annotated, Any, NamedTuple, get_args

from pydantic import Field, TypeAdapter
from pydantic_core import from_json

from evalharness.domain.case_line import CASE_STATES, TRIAL_MARKS, CaseTally
from evalharness.domain.exchange import MODES, ExchangeKind, Replayed
from evalharness.domain.grade import Grade, Judging
from evalharness.domain.review import Doing, Role, Stage
from evalharness.domain.trial import TRIAL_STATES, Cause
from evalharness.errors import Hint, StoreError
from evalharness.values.text import head

_LONGEST_QUOTE = 40
_MOST = 1e15
"""No time and no cost is longer or higher."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?")
_GRADES = TypeAdapter(tuple[Grade, ...])
_JUDGINGS = TypeAdapter(tuple[Judging, ...])
COUNTS = TypeAdapter(dict[str, Annotated[int, Field(gt=0, strict=True)]])
TALLIES = TypeAdapter(tuple[CaseTally, ...])
_TAGS = TypeAdapter(tuple[str, ...])


class _Column(NamedTuple):
    kinds: frozenset[type]
    is_right: Callable[[Any], bool] | None = None
    """Of a value that is of the right kind and not None."""

    @property
    def or_none(self) -> _Column:
        return self._replace(kinds=self.kinds | {NoneType})

    def wrong(self, values: Sequence[Any]) -> int | None:
        """The place of the first wrong value; a page of rows has few different ones in most columns."""
        wrong = {(type(value), value) for value in set(values) if not self._is_fine(value)}
        if not wrong:
            return None
        return next((place for place, value in enumerate(values) if (type(value), value) in wrong))

    def _is_fine(self, value: Any) -> bool:
        return type(value) in self.kinds and (value is None or self.is_right is None or self.is_right(value))


def _are_grades(text: str) -> bool:
    try:
        _GRADES.validate_json(text)
    except ValueError:
        return False
    return True


def _are_judgings(text: str) -> bool:
    try:
        return bool(_JUDGINGS.validate_json(text))
    except ValueError:
        return False


def _are_tags(text: str) -> bool:
    try:
        _TAGS.validate_json(text)
    except ValueError:
        return False
    return True


def _are_counts(text: str) -> bool:
    try:
        return COUNTS.validate_json(text).keys() <= set(TRIAL_STATES)
    except ValueError:
        return False


def _are_tallies(text: str) -> bool:
    try:
        TALLIES.validate_json(text)
    except ValueError:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True


def _says_what_was_replayed(text: str) -> bool:
    try:
        Replayed.model_validate_json(text)
    except ValueError:
        return False
    return True


_TEXT = _Column(frozenset({str}))
_NAME = _Column(frozenset({str}), bool)
_MOMENT_TEXT = _Column(frozenset({str}), lambda text: _MOMENT.fullmatch(text) is not None)
_STATE = _Column(frozenset({str}), TRIAL_STATES.__contains__)
_INTEGER = _Column(frozenset({int}))
_COUNT = _Column(frozenset({int}), lambda number: number >= 0)
_AMOUNT = _Column(frozenset({float}), lambda number: 0 <= number <= _MOST)
_BODY = _Column(frozenset({bytes}), bool)

COLUMNS: Mapping[str, _Column] = MappingProxyType(
    {
        "seq": _Column(frozenset({int}), lambda number: number > 0),
        "id": _NAME,
        "name": _NAME,
        "matrix_id": _NAME,
        "suite_name": _TEXT,
        "created_at": _MOMENT_TEXT,
        "finished_at": _MOMENT_TEXT.or_none,
        "planned": _COUNT,
        "elapsed_s": _AMOUNT,
        "stopped": _TEXT,
        "regrade_of": _TEXT,
        "mode": _Column(frozenset({str}), MODES.__contains__),
        "body": _BODY,
        "report": _BODY.or_none,
        "cases": _BODY.or_none,
        "case_id": _TEXT,
        "idx": _COUNT,
        "seed": _INTEGER,
        "state": _STATE,
        "first_state": _STATE,
        "score": _Column(frozenset({float}), lambda score: 0 <= score <= 1 + 1e-9).or_none,
        "reason": _TEXT,
        "cause": _Column(frozenset({str}), get_args(Cause).__contains__).or_none,
        "duration_s": _AMOUNT,
        "cost_usd": _AMOUNT.or_none,
        "input_tokens": _COUNT.or_none,
        "output_tokens": _COUNT.or_none,
        "grades": _Column(frozenset({str}), _are_grades),
        "judging": _Column(frozenset({str}), _are_judgings).or_none,
        "run_id": _NAME,
        "run_name": _NAME,
        "set_at": _MOMENT_TEXT,
        "path": _TEXT,
        "root": _TEXT,
        "format": _TEXT,
        "registered_at": _MOMENT_TEXT,
        "case_count": _COUNT,
        "failure_count": _COUNT,
        "last_passed": _TEXT.or_none,
        "key": _NAME,
        "verdict": _Column(frozenset({str}), _is_json),
        "job": _Column(frozenset({str}), _is_json),
        "tokens": _COUNT,
        "change": _COUNT,
        "last_change": _COUNT,
        "lines_change": _COUNT.or_none,
        "brief": _BODY.or_none,
        "counts": _Column(frozenset({str}), _are_counts).or_none,
        "tallies": _Column(frozenset({str}), _are_tallies).or_none,
        "tool_calls": _COUNT.or_none,
        "trials_per_case": _Column(frozenset({int}), lambda number: number > 0).or_none,
        "case_threshold": _Column(frozenset({float}), lambda share: 0 <= share <= 1).or_none,
        "start": _Column(frozenset({int}), lambda number: number >= -1),
        "position": _COUNT,
        "case_name": _TEXT,
        "category": _TEXT,
        "tags": _Column(frozenset({str}), _are_tags),
        "words": _TEXT,
        "case_state": _Column(frozenset({str}), CASE_STATES.__contains__),
        "case_score": _Column(frozenset({float}), lambda score: 0 <= score <= 1 + 1e-9).or_none,
        "marks": _Column(frozenset({str}), set(TRIAL_MARKS.values()).issuperset),
        "case_passed": _COUNT,
        "graded": _COUNT,
        "latency_s": _AMOUNT.or_none,
        "mean_cost_usd": _AMOUNT.or_none,
        "spent_usd": _Column(frozenset({float}), lambda number: number >= 0).or_none,
        "spent_tokens": _Column(frozenset({float}), lambda number: number >= 0).or_none,
        "calls": _COUNT.or_none,
        "first_not_passed": _COUNT.or_none,
        "item_id": _NAME,
        "stage": _Column(frozenset({str}), get_args(Stage).__contains__),
        "wanted": _COUNT,
        "counted": _COUNT,
        "role": _Column(frozenset({str}), get_args(Role).__contains__),
        "is_applied": _COUNT,
        "place": _TEXT,
        "reviewer": _NAME,
        "doing": _Column(frozenset({str}), get_args(Doing).__contains__),
        "boot": _TEXT,
        "begun_s": _AMOUNT,
        "expires_s": _AMOUNT,
        "draft": _TEXT,
        "replayed": _Column(frozenset({str}), _says_what_was_replayed).or_none,
        "attempt": _COUNT,
        "node": _NAME,
        "kind": _Column(frozenset({str}), get_args(ExchangeKind).__contains__),
        "digest": _NAME,
        "occurrence": _COUNT,
    }
)
"""By the name that a statement gives them; what a statement computes has none."""


def check_rows(rows: Sequence[Sequence[Any]], names: Sequence[str], place: str, whose: str = "") -> None:
    """Raises StoreError for the first cell that cannot be. `whose`: what the rows belong to, where they do not say."""
    if not rows:
        return
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        column = COLUMNS.get(name)
        wrong = None if column is None else column.wrong(values)
        if wrong is not None:
            row = dict(zip(names, rows[wrong], strict=True))
            value = head(repr(values[wrong]), _LONGEST_QUOTE)
            raise damaged(place, f"{name} of {_described(row, whose)} is {value}")


def _described(row: Mapping[str, Any], whose: str) -> str:
    """What a row is about, by the names in it."""
    if "case_id" in row:
        trial = f"trial {row['idx']} of " if "idx" in row else ""
        return f"{trial}case {row['case_id']}{whose and f' of {whose}'}"
    if whose or "name" not in row:
        return whose or "a row"
    noun = "run" if "id" in row else "baseline" if "run_id" in row else "suite"
    return f"{noun} {row['name']}"


def damaged(place: str, what: str) -> StoreError:
    hint = Hint("hint.other_store", first="restore it from a backup")
    return StoreError(f"the store {place} is damaged: {what}", hint=hint)
