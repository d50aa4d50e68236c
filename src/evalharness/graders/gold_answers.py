"""Gold answers: a JSONL file of answers with known ratings, `{input, output, rating}`, mixed in among those to rate.

`description` and `expected` are what a case would have: a rubric may show them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalharness.domain.rating import Rating, RatingScale
from evalharness.errors import UsageError
from evalharness.syntax.json_source import parse_jsonl
from evalharness.syntax.source import read_text
from evalharness.values.json_value import Json
from evalharness.workspaces import confined

KEYS, MORE_KEYS = ("input", "output", "rating"), ("description", "expected")


class GoldAnswer(NamedTuple):
    input: Json
    output: Json
    rating: Rating
    description: str = ""
    expected: Json = ""


def read_gold(root: Path, file: str, scale: RatingScale) -> list[GoldAnswer]:
    """Raises UsageError with the first line that is none."""
    rows, _ = parse_jsonl(read_text(confined(root, file)), file)
    if not rows:
        hint = 'write lines such as {"input": "2 + 2", "output": "5", "rating": false}'
        raise UsageError(f"{file} has no gold answers", hint=hint)
    return [_read(row, f"{file}:{number}", scale) for number, row in enumerate(rows, 1)]


def _read(row: Json, where: str, scale: RatingScale) -> GoldAnswer:
    if not isinstance(row, dict) or not set(KEYS) <= row.keys() <= {*KEYS, *MORE_KEYS}:
        known = f"{', '.join(KEYS)}, perhaps {' and '.join(MORE_KEYS)}, and no others"
        raise UsageError(f"{where}: a gold answer has the keys {known}")
    try:
        rating = scale.read(row["rating"])
        return GoldAnswer(row["input"], row["output"], rating, str(row.get("description", "")), row.get("expected", ""))
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from None
