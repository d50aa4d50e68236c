"""What a function returned, as JSON. Mappings are tagged, so that a set can be told from a list and a mapping.

null, true, 1, 1.5, "text", [...]   themselves; a tuple is a list
{"dict": {key: value}}              a mapping; keys that are no text become it as JSON writes them
{"set": [...]}                      a set or a frozen set
{"float": "nan" | "inf" | "-inf"}   what JSON has no number for
"""

from __future__ import annotations

import math
from typing import Any

TOO_DEEP = "the result is nested too deeply, or holds itself"


class NotPlain(Exception):
    """The value cannot be written as JSON; the message says why."""


def to_plain(value: Any) -> Any:
    try:
        return _plain(value)
    except RecursionError:
        raise NotPlain(TOO_DEEP) from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(float(value))}
    if isinstance(value, int | float):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return {"set": [_plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": {_key(key): _plain(item) for key, item in value.items()}}
    if hasattr(type(value), "tolist"):  # arrays and scalars of numeric packages
        return _plain(value.tolist())
    raise NotPlain(f"the result holds a value of type {type(value).__name__}, which JSON cannot hold")


def _key(key: Any) -> str:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, str | int | float):
        return str(key)
    raise NotPlain(f"the result has a key of type {type(key).__name__}, which JSON cannot hold")
