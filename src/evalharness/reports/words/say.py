"""Every finding and every hint in English: one table, so that all reports say the same thing.

An entry is a template, or a function of the parameters; the entries of an area are in the file beside this one that
has its name. Numbers are worded there, too; nothing is concluded.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from evalharness.domain.finding import TEXT_WRITER, Finding
from evalharness.domain.problem import Problem
from evalharness.domain.record import Record
from evalharness.errors import Hint
from evalharness.reports.wording import Words
from evalharness.reports.words import choices, comparisons, gates, hints, phases, plans, runs, selftests, verifications
from evalharness.values.json_value import Json


def _joined(findings: Sequence[str]) -> str:
    return "; ".join(findings)


WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "text": "{text}",
        "joined": _joined,
        **runs.WORDS,
        **gates.WORDS,
        **comparisons.WORDS,
        **plans.WORDS,
        **phases.WORDS,
        **verifications.WORDS,
        **selftests.WORDS,
        **choices.WORDS,
        **hints.WORDS,
    }
)
"""By code."""


def say(found: Finding | Hint | Problem | str | None) -> str:
    """Empty where there is nothing to say; a text is said as it is."""
    if found is None or isinstance(found, str):
        return found or ""
    if isinstance(found, Problem):
        return f"{found}; {say(found.hint)}" if found.hint else str(found)
    words = WORDS[found.code]
    params = {name: _worded(value) for name, value in found.params.items()}
    try:
        return words.format(**params) if isinstance(words, str) else words(**params)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # A report may have been read from a file that somebody edited, and it is shown all the same.
        return f"{found.code} {json.dumps(found.params, ensure_ascii=False, default=str)}"


def _worded(value: Json) -> Json:
    """What a sentence quotes is said first."""
    if isinstance(value, list):
        return [_worded(each) for each in value]
    return say(value) if isinstance(value, Finding) else value


def with_texts(record: Record, **options: Any) -> dict[str, Json]:
    """A record as JSON, with the text of every finding in it."""
    written: dict[str, Json] = record.model_dump(mode="json", context={TEXT_WRITER: say}, **options)
    return written


def problem_fields(problem: Problem) -> dict[str, Json]:
    """A problem as JSON, with its hint in words."""
    fields: dict[str, Json] = {field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)}
    return {**fields, "hint": say(problem.hint)}
