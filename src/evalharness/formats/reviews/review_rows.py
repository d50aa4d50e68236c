"""Reviews as rows: one per review, in JSONL or CSV. What is exported can be imported."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalharness.domain.review import ReviewedItem
from evalharness.errors import UsageError
from evalharness.syntax.json_source import parse_jsonl
from evalharness.syntax.source import read_text
from evalharness.values.json_value import Json

COLUMNS = (
    *("run", "case", "trial", "grader", "item", "reviewer", "kind", "rating", "comment"),
    *("submitted_at", "took_s", "is_late", "is_surplus", "is_gold", "source"),
)
NEEDED = ("reviewer", "rating")


class GivenReview(NamedTuple):
    """A review as a file has it; `where` is its place in the file."""

    where: str
    reviewer: str
    rating: Json
    comment: str = ""
    submitted_at: str = ""
    item_id: str = ""
    case_id: str = ""
    trial_index: int = 0
    grader: str = ""


def review_rows(reviewed: ReviewedItem, run_name: str) -> Iterator[dict[str, Json]]:
    """Every review that was given of an item; `trial` counts from 1. Gold items have no case."""
    item, reviews, links = reviewed
    place = links[0] if links and not item.is_gold else None
    for review in reviews:
        yield {
            "run": run_name,
            "case": place.case_id if place else "",
            "trial": place.trial_index + 1 if place else None,
            "grader": item.grader,
            "item": item.id,
            "reviewer": review.reviewer,
            "kind": review.kind,
            "rating": review.rating,
            "comment": review.comment,
            "submitted_at": review.submitted_at,
            "took_s": review.took_s,
            "is_late": review.is_late,
            "is_surplus": review.is_surplus,
            "is_gold": item.is_gold,
            "source": review.source,
        }


def jsonl_text(rows: Iterable[Mapping[str, Json]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def csv_text(rows: Iterable[Mapping[str, Json]]) -> str:
    """Ratings, which may be mappings, as JSON. A text that a spreadsheet would compute is written with a quote."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(name, row[name]) for name in COLUMNS])
    return written.getvalue()


def _cell(name: str, value: Json) -> Any:
    if name == "rating":
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def read_jsonl(file: Path) -> list[GivenReview]:
    rows, _ = parse_jsonl(read_text(file), str(file))
    return [each for number, row in enumerate(rows, 1) for each in _given(row, f"{file}:{number}")]


def read_csv(file: Path) -> list[GivenReview]:
    rows = csv.DictReader(io.StringIO(read_text(file)))
    return [each for row in rows for each in _given(_parsed(row, f"{file}:{rows.line_num}"), f"{file}:{rows.line_num}")]


def _parsed(row: Mapping[str | None, Any], where: str) -> dict[str, Json]:
    if None in row or None in row.values():
        raise UsageError(f"{where}: the row has not as many cells as there are columns")
    kept: dict[str, Json] = {str(name): value for name, value in row.items() if value != ""}
    try:
        kept["rating"] = json.loads(str(kept["rating"])) if "rating" in kept else None
    except json.JSONDecodeError:  # a bare label, such as Pass
        pass
    return kept


def _given(row: Json, where: str) -> Iterator[GivenReview]:
    """Nothing for what is no rating: a skip, an undo, or an answer with a known rating."""
    if not isinstance(row, dict):
        raise UsageError(f"{where}: a review is a JSON object")
    if row.get("kind", "rated") != "rated" or row.get("is_gold") in (True, "true"):
        return
    if missing := [name for name in NEEDED if row.get(name) is None]:
        raise UsageError(f"{where}: '{missing[0]}' is missing")
    if not row.get("item") and not row.get("case"):
        raise UsageError(f"{where}: a review names its item, or its case, trial and grader")
    trial = str(row.get("trial") or 1)
    if not trial.isdecimal() or int(trial) < 1:
        raise UsageError(f"{where}: 'trial' is a number from 1 on, not {trial}")
    texts = {name: _text(row.get(name)) for name in ("reviewer", "comment", "submitted_at", "item", "case", "grader")}
    yield GivenReview(
        where,
        texts["reviewer"],
        row["rating"],
        texts["comment"],
        texts["submitted_at"],
        texts["item"],
        texts["case"],
        int(trial) - 1,
        texts["grader"],
    )


def _text(value: Json) -> str:
    text = "" if value is None else str(value)
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@", "\t", "\r") else text
