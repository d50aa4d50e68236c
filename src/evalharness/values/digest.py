"""Content digests: two things with equal digests affect results in the same way."""

from __future__ import annotations

import hashlib
from pathlib import Path

from evalharness.values.json_value import Json, written_json


def canonical_json(value: Json) -> bytes:
    """The only spelling of a value: keys sorted, no spaces, UTF-8."""
    return written_json(_sorted(value)).encode()


def digest(value: Json) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()[:16]


def digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


_NESTED = (dict, list, tuple)


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {
            key: item if type(item := value[key]) is str else _sorted(item)  # most are texts
            for key in sorted(value)
        }
    return [_sorted(item) for item in value] if isinstance(value, _NESTED) else value
