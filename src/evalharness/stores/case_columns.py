"""The cases of a report as columns: how a run's figures are kept, so that a hundred thousand are read at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import repeat
from operator import attrgetter

from pydantic_core import from_json, to_json

from evalharness.domain.case_result import CaseResult
from evalharness.redaction import Redactor
from evalharness.stores.cleaning import Cleaner
from evalharness.stores.encoding import pack, unpack

_DEFAULTS = {field.name: field.default for field in fields(CaseResult)}
_WRITTEN_BY_OTHERS = ("cluster", "category", "criticality", "topic")
"""May hold anything; a case's id is stored as it is or not at all, and all else is ours."""
_LEVEL = 1
"""Figures hardly get smaller with more effort, and that would take as long again as everything else."""


def cases_body(cases: Sequence[CaseResult], redactor: Redactor) -> bytes:
    """A column that holds the default alone is left out."""
    columns = {name: list(map(attrgetter(name), cases)) for name in _DEFAULTS}
    cleaner = Cleaner(redactor)
    for name in _WRITTEN_BY_OTHERS:
        clean = {text: cleaner.clean(text) for text in set(columns[name])}
        columns[name] = [clean[text] for text in columns[name]]
    told = {name: column for name, column in columns.items() if any(value != _DEFAULTS[name] for value in column)}
    return pack(to_json(told), _LEVEL)


def cases_from(body: bytes) -> tuple[CaseResult, ...]:
    """As they were written: what is read here has gone through `cases_body`."""
    told = from_json(unpack(body), cache_strings="keys")
    size = len(told.get("case_id", ()))
    return tuple(map(CaseResult, *[told.get(name) or repeat(default, size) for name, default in _DEFAULTS.items()]))
