"""Foresee code: whether a suite has code run that nobody vouches for, as far as its files tell. Nothing is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalharness.domain.suite import Suite

RUNS_CODE = ("function_output", "code_tests")
"""The graders that run what the target wrote."""


def runs_code(suite: Suite) -> bool:
    """Rather once too often: a grader inside of another is known by its name alone."""
    named = {
        word for case in suite.cases for spec in suite.graders_for(case) for word in (spec.kind, *_words(spec.options))
    }
    targets = [suite.target, *(case.target for case in suite.cases)]
    sandboxed = any(
        isinstance(found.options, dict) and found.options.get("sandbox") is True for found in targets if found
    )
    return sandboxed or not named.isdisjoint(RUNS_CODE) or any(case.setup for case in suite.cases)


def _words(options: Any) -> Iterator[str]:
    """Keys, and the values of `type`."""
    if isinstance(options, dict):
        yield from options
        yield str(options.get("type"))
    for inner in (
        options.values() if isinstance(options, dict) else options if isinstance(options, list | tuple) else ()
    ):
        yield from _words(inner)
