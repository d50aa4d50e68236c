"""Python values as JSON and back, for two processes of which neither may run what the other sends.

Data arrives as an equal value of a built-in type, whatever class it had: numbers, texts, bytes, dates and times, lists,
tuples, sets, mappings. Built-in types, and the exceptions and modules of Python's library, are the same on both sides.
Everything else stays where it is and is lent: `lend` gives it a number, `find` makes something of the number.
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
MOMENTS = ("datetime", "date", "time")
"""Classes of the module datetime that are ISO text on the way; a datetime is a date, too, so it comes first."""
RUN_WHEN_IMPORTED = {"antigravity", "idlelib", "lib2to3", "test", "tests", "this", "tkinter", "turtle", "turtledemo"}
"""Parts of names in the library that do more than define something; so does all whose name begins with `__`."""
TELLS_TESTS = "unittest"
"""The module whose exceptions mean something to a test runner (`SkipTest`): they are nothing for code to raise."""


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
    if isinstance(value, type) and library_class(value.__module__, value.__qualname__) is value:
        return {"class": [value.__module__, value.__qualname__]}
    if isinstance(value, ModuleType) and is_library(value.__name__):
        return {"module": value.__name__}
    for kind, module in EXACT.items():
        if module in sys.modules and isinstance(value, getattr(sys.modules[module], kind)):
            return {kind: str(value)}
    if "datetime" in sys.modules:
        library = sys.modules["datetime"]
        for name in MOMENTS:
            if isinstance(value, getattr(library, name)):
                return {name: value.isoformat()}
        if isinstance(value, library.timedelta):
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
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
    if kind in MOMENTS:
        return getattr(import_module("datetime"), kind).fromisoformat(held)
    if kind == "timedelta":
        return import_module("datetime").timedelta(*held)
    if kind == "class" and (found := library_class(*held)):
        return found
    return find(held)


def library_class(module: str, name: str) -> type | None:
    """A built-in type, or an exception class of Python's library that can be found by its name."""
    if not is_library(module) or module.partition(".")[0] == TELLS_TESTS:
        return None
    found = getattr(import_module(module), name, None)
    is_shared = isinstance(found, type) and (module == "builtins" or issubclass(found, Exception))
    return found if is_shared else None


def is_library(name: str) -> bool:
    """Python's own library is the same on both sides, so each uses its own; nobody can change it for the other.

    What the other side names is imported here, so it must not run anything: `unittest.__main__` would run the tests
    that somebody put into the working folder.
    """
    parts = name.split(".")
    runs = any(part.startswith("__") or part in RUN_WHEN_IMPORTED for part in parts)
    return name == "builtins" or (parts[0] in sys.stdlib_module_names and not runs)
