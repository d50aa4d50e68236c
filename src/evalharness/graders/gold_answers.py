"""Gold answers: a JSONL file of answers with known ratings, `{input, output, rating}`, mixed in among those to rate."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalharness.domain.rating import Rating, RatingScale
from evalharness.errors import UsageError
from evalharness.syntax.json_source import parse_jsonl
from evalharness.syntax.source import read_text
from evalharness.values.json_value import Json
from evalharness.workspaces import confined

KEYS = ("input", "output", "rating")


class GoldAnswer(NamedTuple):
    input: Json
    output: Json
    rating: Rating


def read_gold(root: Path, file: str, scale: RatingScale) -> list[GoldAnswer]:
    """Raises UsageError with the first line that is none."""
    rows, _ = parse_jsonl(read_text(confined(root, file)), file)
    if not rows:
        hint = 'write lines such as {"input": "2 + 2", "output": "5", "rating": false}'
        raise UsageError(f"{file} has no gold answers", hint=hint)
    return [_read(row, f"{file}:{number}", scale) for number, row in enumerate(rows, 1)]


def _read(row: Json, where: str, scale: RatingScale) -> GoldAnswer:
    if not isinstance(row, dict) or sorted(row) != sorted(KEYS):
        raise UsageError(f"{where}: a gold answer has the keys {', '.join(KEYS)} and no others")
    try:
        return GoldAnswer(row["input"], row["output"], scale.read(row["rating"]))
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from None
