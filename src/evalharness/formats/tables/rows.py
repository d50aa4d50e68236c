"""Tables: CSV, TSV, JSON Lines or a JSON list of objects as rows, each a mapping from column to value.

What the columns mean is not decided here: see `columns.py`. Cells of CSV and TSV are texts, those of JSON any value.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from evalharness.domain.problem import Problem, quoted
from evalharness.errors import InvalidFile
from evalharness.formats.parts import kind_of
from evalharness.syntax import limits
from evalharness.syntax.limits import Lines
from evalharness.syntax.source import DELIMITED, Source, read_source, read_text
from evalharness.values.json_value import Json

DELIMITERS = (",", ";", "\t")
CASE_KEYS = frozenset(("input", "expected", "graders", "grader"))


def read_table(path: Path) -> Source:
    """`data` is a list of rows; raises `InvalidFile` with every problem."""
    if path.suffix.lower() in DELIMITED:
        return _delimited(read_text(path).removeprefix("\ufeff"), path)
    try:
        return rows_of(read_source(path))
    except InvalidFile as error:
        more = row_problems(only_list(error.rest)) if error.rest is not None else []
        raise InvalidFile(sorted((*error.problems, *more), key=lambda problem: problem.line)) from None


def rows_of(source: Source) -> Source:
    """The list of rows that the source is, or that it holds as its only list: `{"data": […]}`."""
    rows = only_list(source)
    if problems := row_problems(rows):
        raise InvalidFile(problems)
    return rows


def only_list(source: Source) -> Source:
    """What the source holds, or the source itself where that is not one list."""
    lists = _lists_in(source.data)
    if len(lists) != 1:
        return source
    return Source(source.path, source.data[lists[0]], lambda: _below(source.lines(), lists[0]))


def _lists_in(data: Json) -> list[str]:
    return [key for key, value in data.items() if isinstance(value, list)] if isinstance(data, Mapping) else []


def row_problems(source: Source) -> list[Problem]:
    """What keeps the source from being a list of rows."""
    file, rows = str(source.path), source.data
    if not isinstance(rows, list):
        lists = _lists_in(rows)
        held = f" with several lists ({', '.join(lists)}); keep only the one that is the table" if lists else ""
        message = f"a table must be a list of objects, one for each row, not {kind_of(rows)}{held}"
        return [Problem(file, 0, "", message)]
    message = "a row must be a mapping from column to value, not"
    wrong = [(place, row) for place, row in enumerate(rows) if not isinstance(row, Mapping)]
    return [Problem(file, source.line_of((place,)), "", f"{message} {kind_of(row)}") for place, row in wrong]


def looks_like_table(data: Json) -> bool:
    """A list of objects that have nothing of a case."""
    is_list = isinstance(data, list) and bool(data)
    return is_list and all(isinstance(row, Mapping) and CASE_KEYS.isdisjoint(row) for row in data)


def _below(lines: Lines, key: str) -> Lines:
    return lines[1][key] if isinstance(lines, tuple) and isinstance(lines[1], dict) else lines


def _delimited(text: str, path: Path) -> Source:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(text)
    records = _records(text, delimiter)
    header = _header(*next(records, (0, [])), path)
    rows: list[dict[str, str]] = []
    lines: list[Lines] = []
    problems: list[Problem] = []
    for line, cells in records:
        if isinstance(cells, csv.Error):
            problems.append(Problem(str(path), line, "", f"not a valid row: {cells}"))
        elif len(cells) > len(header):
            message = f"{len(cells)} cells, but the header has {len(header)}; quote cells that contain {delimiter!r}"
            problems.append(Problem(str(path), line, "", message))
        else:
            rows.append(dict(zip(header, cells, strict=False)))
            lines.append(line)
    if problems:
        raise InvalidFile(problems)
    return Source(path, rows, lambda: (1, lines))


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Each record that is not blank, with the line it starts on; an error in place of one that is not sound."""
    former = csv.field_size_limit(limits.MAX_CHARS)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield line, error
                continue
            if any(cells):
                yield line, cells
    finally:
        csv.field_size_limit(former)


def _delimiter(text: str) -> str:
    """The one that splits the header into most columns."""

    def columns(delimiter: str) -> int:
        _, cells = next(_records(text, delimiter), (0, []))
        return len(cells) if isinstance(cells, list) else 0

    return max(DELIMITERS, key=columns)


def _header(line: int, cells: list[str] | csv.Error, path: Path) -> list[str]:
    if isinstance(cells, csv.Error) or not cells:
        message = f"not a valid row: {cells}" if cells else "is empty: the first line must name the columns"
        raise InvalidFile([Problem(str(path), line, "", message)])
    names = [cell.strip() for cell in cells]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        listed = ", ".join(quoted(name) for name in twice)
        raise InvalidFile([Problem(str(path), line, "", f"the header names {listed} more than once")])
    return names
