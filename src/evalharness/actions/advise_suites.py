"""Advise on suites: which graders, which metric and which gate fit. Nothing is run, and nothing is stored."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.domain.advice import Advice, Goal
from evalharness.engine.verifying.suite_advice import advise
from evalharness.steps.find_suites import find_suites


async def advise_suites(
    context: Context, named: tuple[str, ...], goal: Goal | None = None, format_name: str | None = None
) -> list[Advice]:
    """Raises InvalidFile for a file with errors: advice about half a suite would mislead."""
    files = find_suites(context.store, named, format_name)
    return [advise(file.suite, goal, file.label) for file in files if file.suite is not None]
