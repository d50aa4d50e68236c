"""Python values as JSON and back, for two processes of which neither may run what the other sends.

Data arrives as an equal value of a built-in type, whatever class it had: numbers, texts, bytes, lists, tuples, sets,
mappings. Everything else stays where it is and is lent: `lend` gives it a number, `find` makes something of the number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

COLLECTIONS = {"tuple": tuple, "set": set, "frozenset": frozenset}
EXACT = {"Decimal": "decimal", "Fraction": "fractions"}
"""Numbers that are text on the way, and the modules they are in."""


def encode(value: Any, lend: Callable[[Any], Any]) -> Any:
    """A mapping on the way has one key, which tells what the value is."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, list):
        return [encode(item, lend) for item in value]
    if isinstance(value, dict):
        return {"dict": [[encode(key, lend), encode(item, lend)] for key, item in value.items()]}
    for name, collection in COLLECTIONS.items():
        if isinstance(value, collection):
            return {name: [encode(item, lend) for item in value]}
    return _encode_special(value, lend)


def _encode_special(value: Any, lend: Callable[[Any], Any]) -> Any:
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, ModuleType) and is_library(value.__name__):
        return {"module": value.__name__}
    for kind, module in EXACT.items():
        if module in sys.modules and isinstance(value, getattr(sys.modules[module], kind)):
            return {kind: str(value)}
    if hasattr(type(value), "tolist"):  # arrays and scalars of numeric packages
        return encode(value.tolist(), lend)
    return {"object": lend(value)}


def decode(written: Any, find: Callable[[Any], Any]) -> Any:
    if isinstance(written, list):
        return [decode(item, find) for item in written]
    if not isinstance(written, dict):
        return written
    [(kind, held)] = written.items()
    if kind == "dict":
        return {decode(key, find): decode(item, find) for key, item in held}
    if kind in COLLECTIONS:
        return COLLECTIONS[kind](decode(item, find) for item in held)
    if kind == "bytes":
        return held.encode("latin-1")
    if kind == "complex":
        return complex(*held)
    if kind == "module" and is_library(held):
        return import_module(held)
    if kind in EXACT:
        return getattr(import_module(EXACT[kind]), kind)(held)
    return find(held)


def is_library(name: str) -> bool:
    """Python's own library is the same on both sides, so each uses its own; nobody can change it for the other."""
    return name.partition(".")[0] in sys.stdlib_module_names
