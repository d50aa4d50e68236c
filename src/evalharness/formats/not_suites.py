"""Files that are no suite, in words: one that was named outright is refused, one met in a folder is passed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalharness.domain.problem import Problem, field_text
from evalharness.errors import closest
from evalharness.formats.evals.layout import GRADERS, is_config
from evalharness.formats.evals.suite_fields import SUITE_KEYS
from evalharness.formats.evals.written_evals import CASE_KEYS
from evalharness.formats.recognising import Format
from evalharness.formats.syntax.source import Source, import_advice
from evalharness.formats.tables.columns import columns_of
from evalharness.formats.tables.rows import looks_like_table

NEEDED = (
    "a native file needs test_cases, an eval-harness file evals (expected_output, baseline, eval_suite), "
    "a task suite tasks, a workflow dataset cases with assertions, a recorded session messages"
)
TELLING_KEYS = ("test_cases", "eval_suite", "capability_eval", "regression_eval", "expected_output", "baseline")
ORDINARY_KEYS = frozenset((SUITE_KEYS | CASE_KEYS) - set(TELLING_KEYS))
SHORTEST_GUESSED = 5
"""Shorter keys resemble too many others."""


def not_a_suite(source: Source) -> Problem:
    """Why a file that the user takes for a suite is none."""
    if is_config(source.path):
        held = "graders by name" if source.path.match(GRADERS) else "what evals must reach"
        return _problem(source, f"holds {held} and is no suite; it is checked with the evals that use it")
    if looks_like_table(source.data):
        message = f"looks like a table of {', '.join(columns_of(source.data))}; {import_advice(source.path)}"
        return Problem(str(source.path), 0, "", message)
    if not source.data:
        return _problem(source, "is empty")
    needed = "" if _misspelled(source.data) else f": {NEEDED}"
    return _problem(source, f"not recognised as any format{needed}")


def passed_over(source: Source, found: Format | None) -> Problem:
    """`found` is the format that it is in, where another one was asked for."""
    what = (
        f"is a file of the format {found.name}"
        if found
        else "is empty"
        if not source.data
        else "not recognised as a suite"
    )
    return _problem(source, f"{what}, passed over", severity="note")


def _problem(source: Source, message: str, **more: Any) -> Problem:
    key = _misspelled(source.data)
    if key is None:
        return Problem(str(source.path), 0, "", message, **more)
    meant = closest(key, TELLING_KEYS) or ""
    return Problem(str(source.path), source.line_of((key,)), field_text((key,)), message, suggestion=meant, **more)


def _misspelled(data: Any) -> str | None:
    """A key that is almost one by which a suite is recognised."""
    keys = [key for key in data if key not in ORDINARY_KEYS] if isinstance(data, Mapping) else []
    return next((key for key in keys if len(key) >= SHORTEST_GUESSED and closest(key, TELLING_KEYS)), None)
