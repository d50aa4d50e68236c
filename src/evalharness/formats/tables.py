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
from evalharness.formats import limits
from evalharness.formats.checking import kind_of
from evalharness.formats.lines import Lines
from evalharness.formats.source import Source, read_source, read_text

DELIMITED = (".csv", ".tsv")
DELIMITERS = (",", ";", "\t")


def read_table(path: Path) -> Source:
    """`data` is a list of rows; raises `InvalidFile` with every problem."""
    if path.suffix.lower() in DELIMITED:
        return _delimited(read_text(path).removeprefix("\ufeff"), path)
    source = read_source(path)
    if not isinstance(source.data, list):
        raise InvalidFile(
            [Problem(str(path), 0, "", f"a table is a list of objects, one for each row, not {kind_of(source.data)}")]
        )
    wrong = [(place, row) for place, row in enumerate(source.data) if not isinstance(row, Mapping)]
    if wrong:
        message = "a row is a mapping from column to value, not"
        raise InvalidFile(
            [Problem(str(path), source.line_of((place,)), "", f"{message} {kind_of(row)}") for place, row in wrong]
        )
    return source


def _delimited(text: str, path: Path) -> Source:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(text)
    rows: list[dict[str, str]] = []
    lines: list[Lines] = []
    header: list[str] | None = None
    try:
        for line, cells in _records(text, delimiter):
            if header is None:
                header = _header(cells, path, line)
            elif len(cells) > len(header):
                message = f"{len(cells)} cells under a header of {len(header)}; quote cells that hold {delimiter!r}"
                raise InvalidFile([Problem(str(path), line, "", message)])
            else:
                rows.append(dict(zip(header, cells, strict=False)))
                lines.append(line)
    except csv.Error as error:
        line = lines[-1] + 1 if lines and isinstance(lines[-1], int) else 1
        raise InvalidFile([Problem(str(path), line, "", f"not a sound row: {error}")]) from None
    if header is None:
        raise InvalidFile([Problem(str(path), 0, "", "is empty: the first line must name the columns")])
    return Source(path, rows, lambda: (1, lines))


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not blank, with the line it starts on."""
    former = csv.field_size_limit(limits.MAX_CHARS)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        line = 1
        for cells in reader:
            if any(cells):
                yield line, cells
            line = reader.line_num + 1
    finally:
        csv.field_size_limit(former)


def _delimiter(text: str) -> str:
    """The one that splits the header into most columns."""

    def columns(delimiter: str) -> int:
        try:
            return len(next(_records(text, delimiter), (0, []))[1])
        except csv.Error:
            return 0

    return max(DELIMITERS, key=columns)


def _header(cells: list[str], path: Path, line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        listed = ", ".join(quoted(name) for name in twice)
        raise InvalidFile([Problem(str(path), line, "", f"the header names {listed} more than once")])
    return names
