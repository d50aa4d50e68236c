"""Columns: what the rows of a table mean, written as `key=column` pairs.

A key is one of a case's (`id`, `input`, `expected`, …) or has a name behind a dot: `input.question`,
`expected.contains`, `metadata.source`, `files.notes.txt`. What stands behind `=` is the name of a column (`a.b` looks
inside `a`), a column and what a pattern finds in it (`answer~#### (.+)`), or a text with columns in braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalharness import registry
from evalharness.domain.case import as_text
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.values.json_value import MISSING, Json, look_along
from evalharness.workspaces import is_workspace_path

TEXT_KEYS = ("id", "name", "description", "category", "cluster", "difficulty", "criticality")
KEYS = (*TEXT_KEYS, "input", "expected", "reference", "tags", "weight")
FAMILIES = ("input", "expected", "metadata", "files")
USUAL = {
    "input": ("input", "question", "prompt", "query"),
    "expected": ("expected", "answer", "target", "ideal", "expected_output"),
}
"""What people call these columns; a table with such names needs no mapping. The first that is there is taken."""
LOOKED_INTO = 100
"""From how many rows the columns inside columns are taken that a message lists."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|\\([nt\\])|([{}])")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Cell:
    """What a row gives for one key: the value of a column, what `pattern` finds in it, or a text made of `pieces`."""

    columns: tuple[str, ...]
    pieces: tuple[str, ...] | None = None
    pattern: re.Pattern[str] | None = None

    def finds_nothing(self, row: Mapping[str, Json]) -> bool:
        """Whether there is something in the column, but not what the pattern looks for."""
        return self.pattern is not None and not is_empty(_value(row, self.columns[0])) and is_empty(self.read(row))

    def read(self, row: Mapping[str, Json]) -> Json:
        """None where every column is empty, or the pattern finds nothing."""
        values = [_value(row, column) for column in self.columns]
        if all(map(is_empty, values)):
            return None
        if self.pattern is not None:
            found = self.pattern.search(as_text(values[0]))
            return found and found[self.pattern.groups and 1]
        if self.pieces is None:
            return values[0]
        texts = ["" if value is None else as_text(value) for value in values]
        return "".join(text for pair in zip(self.pieces, [*texts, ""], strict=True) for text in pair)


def parse_mapping(written: Sequence[str]) -> dict[str, Cell]:
    """`["input=question", "expected.contains=answer"]` → key → cell; raises UsageError for what cannot be meant."""
    mapping: dict[str, Cell] = {}
    for pair in written:
        key, sign, value = pair.partition("=")
        key = key.strip()
        if not sign or not value.strip():
            raise UsageError(f"mapping {pair}: write KEY=COLUMN, such as input=question")
        _check_key(key)
        if key in mapping:
            raise UsageError(f"{key} is mapped twice")
        mapping[key] = _cell(key, value)
    families = {key.partition(".")[0] for key in mapping if "." in key}
    if "input" in mapping and "input" in families:
        raise UsageError("map either input or input.NAME, not both")
    if not {"input"} & {*mapping, *families}:
        raise UsageError("no column is mapped to input", hint=Hint("hint.map_input"))
    return mapping


def usual_mapping(rows: Sequence[Mapping[str, Json]]) -> dict[str, Cell]:
    """The columns that have usual names, in upper or lower case; nothing where none of them is the question."""
    columns = {name.lower(): name for row in reversed(rows) for name in row}
    names = {key: USUAL.get(key, (key,)) for key in KEYS}
    found = {key: next((columns[name] for name in usual if name in columns), None) for key, usual in names.items()}
    return {key: Cell((column,)) for key, column in found.items() if column} if found["input"] else {}


def _check_key(key: str) -> None:
    family, dot, name = key.partition(".")
    if dot and family in FAMILIES and name:
        if family == "expected":
            registry.load("grader", name)
        if family == "files" and not is_workspace_path(name):
            raise UsageError(f"mapping {key}: a file must be inside the workspace")
    elif key not in KEYS:
        raise UnknownName("key of a mapping", key, [*KEYS, *(f"{family}.NAME" for family in FAMILIES)])


def _cell(key: str, value: str) -> Cell:
    column, tilde, pattern = value.partition("~")
    if tilde and "{" not in column:
        try:
            return Cell((column.strip(),), pattern=re.compile(pattern))
        except re.error as error:
            message = f"mapping {key}={value}: {pattern!r} is not a regular expression: {error}"
            raise UsageError(message) from None
    if "{" not in value:
        return Cell((value.strip(),))
    return _template(key, value)


def _template(key: str, value: str) -> Cell:
    columns: list[str] = []
    pieces = [""]
    end = 0
    for found in _PIECE.finditer(value):
        pieces[-1] += value[end : found.start()]
        end = found.end()
        column, escaped, lonely = found.groups()
        if lonely:
            raise UsageError(f"mapping {key}={value}: unmatched '{lonely}'; write {{column}}, or {lonely * 2}")
        if column:
            columns.append(column.strip())
            pieces.append("")
        else:
            pieces[-1] += _ESCAPES[escaped] if escaped else found[0][0]
    pieces[-1] += value[end:]
    if not columns:
        raise UsageError(f"mapping {key}={value}: no column is named; write {{column}}")
    return Cell(tuple(columns), tuple(pieces))


def check_columns(mapping: Mapping[str, Cell], rows: Sequence[Mapping[str, Json]]) -> None:
    """Raises UnknownName for a column that no row has."""
    for cell in mapping.values():
        for column in cell.columns:
            if all(_found(row, column) is MISSING for row in rows):
                raise UnknownName("column", column, columns_of(rows))


def is_empty(value: Json) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _value(row: Mapping[str, Json], column: str) -> Json:
    found = _found(row, column)
    return None if found is MISSING else found


def _found(row: Mapping[str, Json], column: str) -> Any:
    """A column by its name, or inside of one: `choices.0`, `meta.source`."""
    return row[column] if column in row else look_along(row, column.split("."))


def columns_of(rows: Sequence[Mapping[str, Json]]) -> list[str]:
    """Every column, and those inside of columns."""
    names = dict.fromkeys(name for row in rows for name in row if name)
    for row in rows[:LOOKED_INTO]:
        for name, value in row.items():
            if isinstance(value, Mapping):
                names |= dict.fromkeys(f"{name}.{inner}" for inner in value)
    return list(names)
