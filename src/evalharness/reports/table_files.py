"""Trials and grades as data files: CSV, JSON lines or one JSON list, written row by row.

In CSV, a text that a spreadsheet would take for a formula begins with an apostrophe, and control characters are left
out. JSON has every character, escaped where a terminal would act on it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import IO, ClassVar, TypeAlias

from evalharness.contracts.reporter import Reporter
from evalharness.domain.case import as_text
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.json_text import json_text
from evalharness.reports.table_rows import TABLES, Row, What
from evalharness.reports.wording import clean
from evalharness.values.json_value import Json

Redact: TypeAlias = Callable[[str], str]
Writer: TypeAlias = Callable[[Sequence[str], Iterable[Row], IO[str], Redact], None]
_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
"""How a text begins that Excel, LibreOffice or Google Sheets may compute."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_csv(columns: Sequence[str], rows: Iterable[Row], stream: IO[str], redact: Redact) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        values = [row[name] for name in columns]
        texts = ["" if value is None else as_text(value) for value in values]
        whole = "\n".join(texts)
        if clean(whole, redact) != whole:  # once for all: hardly a row has anything to take out
            texts = [clean(text, redact) for text in texts]
        writer.writerow(list(map(_cell, values, texts)))


def _cell(value: Json, text: str) -> str:
    is_formula = not isinstance(value, int | float) and _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def write_jsonl(columns: Sequence[str], rows: Iterable[Row], stream: IO[str], redact: Redact) -> None:  # noqa: ARG001
    for row in rows:
        stream.write(json_text(row, redact, indent=None) + "\n")


def write_json(columns: Sequence[str], rows: Iterable[Row], stream: IO[str], redact: Redact) -> None:  # noqa: ARG001
    stream.write("[")
    for position, row in enumerate(rows):
        stream.write((",\n" if position else "\n") + json_text(row, redact, indent=None))
    stream.write("\n]\n")


WRITERS: Mapping[str, Writer] = MappingProxyType({"csv": write_csv, "jsonl": write_jsonl, "json": write_json})
"""By format, which is also the ending of its files."""
_BEGINNINGS = {"csv": ("run_id,",), "jsonl": ('{"run_id": ',), "json": ('[\n{"run_id": ', "[\n]")}


def write_table(
    what: What, data_format: str, runs: Iterable[ReportedRun], stream: IO[str], presentation: Presentation
) -> None:
    table = TABLES[what]
    WRITERS[data_format](table.columns, table.rows(runs), stream, presentation.redact)


def is_table(data_format: str, head: str) -> bool:
    """Whether a file that begins so is such a table, or has nothing in it."""
    return not head.strip() or head.startswith(_BEGINNINGS[data_format])


class CsvReporter(Reporter):
    """The trials of runs."""

    name: ClassVar[str] = "csv"
    endings: ClassVar[tuple[str, ...]] = (".csv",)

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        write_table("trials", "csv", runs, stream, presentation)

    def recognises(self, head: str) -> bool:
        return is_table("csv", head)


class JsonlReporter(Reporter):
    """The same."""

    name: ClassVar[str] = "jsonl"
    endings: ClassVar[tuple[str, ...]] = (".jsonl",)

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        write_table("trials", "jsonl", runs, stream, presentation)

    def recognises(self, head: str) -> bool:
        return is_table("jsonl", head)
