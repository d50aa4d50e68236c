"""Fields of a server's reply with their expected types; ValueError names the field that has another type."""

from __future__ import annotations

from evalharness.values.json_value import Json

LONGEST_COUNT = 15


def object_at(holder: Json, key: str) -> dict[str, Json]:
    value = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(value, dict):
        raise ValueError(f"'{key}' is not an object")
    return value


def objects_at(holder: Json, key: str) -> list[dict[str, Json]]:
    value = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"'{key}' is not a list of objects")
    return value


def text_at(holder: dict[str, Json], key: str) -> str:
    value = holder.get(key)
    if not isinstance(value, str):
        raise ValueError(f"'{key}' is not text")
    return value


def optional_text_at(holder: dict[str, Json], key: str) -> str:
    """The text; "" if absent or null."""
    return "" if holder.get(key) is None else text_at(holder, key)


def count_at(holder: dict[str, Json], key: str) -> int:
    """The count; 0 if absent or null. A negative number, a fraction or another type is an error."""
    value = holder.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"'{key}' is not a count")
    return value


def readable_count_at(holder: Json, key: str) -> int | None:
    """The count, also from a float or a text; None if it cannot be read."""
    value = holder.get(key) if isinstance(holder, dict) else None
    if isinstance(value, str) and value.isdecimal() and len(value) <= LONGEST_COUNT:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**LONGEST_COUNT:
        return None
    return int(value) if value == value // 1 else None
