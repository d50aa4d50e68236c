"""Encodes Python values as JSON and back, for two processes that must not run each other's code.

Data arrives as an equal value of one of Python's own types, regardless of its class: numbers, texts, bytes, dates and
times, lists, tuples, sets, mappings, and some collections of the library. Built-in types and the exceptions of Python's
library are the same on both sides; `find` maps such a class to the one used here. Everything else, including modules,
stays where it is and is lent: `lend` gives it a number, and `find` returns an object for the number. `keep` may do the
same for data whose class is derived from a built-in type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from evalharness.runners.kept import derived_from

COLLECTIONS = {"tuple": tuple, "set": set, "frozenset": frozenset}
EXACT = {"Decimal": "decimal", "Fraction": "fractions"}
"""Numbers that are encoded as text, and their modules."""
MOMENTS = ("datetime", "date", "time")
"""Classes of the module datetime that are encoded as ISO text. A datetime is also a date, so it comes first."""
COUNTED = ("Counter", "OrderedDict")
"""Mappings of the module collections that are encoded as pairs."""
FACTORIES = {kind.__name__: kind for kind in (bool, int, float, str, list, tuple, dict, set)}
"""Default factories that a defaultdict may have to be encoded; with any other, it is lent as an object."""
MOST_BITS = 8192
"""Integers up to this size are encoded as decimals. Python is slow to read longer ones, and refuses very long ones."""
Keep = Callable[[Any, str, Any], Any]
RUN_WHEN_IMPORTED = {"antigravity", "idlelib", "lib2to3", "test", "tests", "this", "tkinter", "turtle", "turtledemo"}
"""Parts of library names that run something when imported; so do all that begin with `__`."""
STANDS_FOR = "_stands_for"
"""The attribute of a class that names the class it represents on the other side."""
TELLS_TESTS = "unittest"
"""The module whose exceptions have a meaning for test runners (`SkipTest`); the code must not raise them."""


def encode(value: Any, lend: Callable[[Any], Any], keep: Keep | None = None) -> Any:
    """The value as JSON. Each mapping in it has one key, the kind of the value."""
    if value is None or isinstance(value, bool):
        return value
    if (found := _encode_collection(value, lend, keep)) is not None:
        return found
    kind = derived_from(value) if keep else ""
    data = _encode_data(value, lend, keep)
    if keep and kind and (kept := keep(value, kind, data)) is not None:
        return {"object": kept}
    return _encode_special(value, lend) if data is None else data


def _encode_data(value: Any, lend: Callable[[Any], Any], keep: Keep | None) -> Any:
    """The data of Python's own type, not what a derived class claims."""
    if isinstance(value, int):
        number = int.__int__(value)
        return number if number.bit_length() <= MOST_BITS else {"int": hex(number)}
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return "".join(str.__iter__(value)) if type(value) is not str else value
    if isinstance(value, list):
        return [encode(item, lend, keep) for item in list.__iter__(value)]
    if isinstance(value, dict):
        return {"dict": [[encode(key, lend, keep), encode(item, lend, keep)] for key, item in dict.items(value)]}
    for name, collection in COLLECTIONS.items():
        if isinstance(value, collection):
            return {name: [encode(item, lend, keep) for item in collection.__iter__(value)]}
    return None


def _encode_collection(value: Any, lend: Callable[[Any], Any], keep: Keep | None) -> Any:
    """Collections of the library itself; instances of derived classes are objects, or data of a built-in type."""
    if type(value) is range:
        return {"range": [encode(number, lend) for number in (value.start, value.stop, value.step)]}
    if "pathlib" in sys.modules and type(value) is type(sys.modules["pathlib"].Path()):
        return {"Path": str(value)}
    library = sys.modules.get("collections")
    if library is None:
        return None
    if type(value) is library.deque:
        return {"deque": [[encode(item, lend, keep) for item in value], value.maxlen]}
    for name in COUNTED:
        if type(value) is getattr(library, name):
            return {name: _encode_data(value, lend, keep)}
    if type(value) is library.defaultdict and (made := value.default_factory) in (None, *FACTORIES.values()):
        return {"defaultdict": [made and made.__name__, _encode_data(value, lend, keep)]}
    return None


def _encode_special(value: Any, lend: Callable[[Any], Any]) -> Any:
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, type):
        shared: type = vars(value).get(STANDS_FOR, value)
        if library_class(shared.__module__, shared.__qualname__) is shared:
            return {"class": [shared.__module__, shared.__qualname__]}
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
    if kind == "int":
        return int(held, 16)
    if kind in ("range", "Path", "deque", "defaultdict", *COUNTED):
        return _decode_collection(kind, held, find)
    if kind in EXACT:
        return getattr(import_module(EXACT[kind]), kind)(held)
    if kind in MOMENTS:
        return getattr(import_module("datetime"), kind).fromisoformat(held)
    if kind == "timedelta":
        return import_module("datetime").timedelta(*held)
    if kind == "class" and (found := library_class(*held)):
        return find(found)
    return find(held)


def _decode_collection(kind: str, held: Any, find: Callable[[Any], Any]) -> Any:
    if kind == "range":
        return range(*decode(held, find))
    if kind == "Path":
        return import_module("pathlib").Path(held)
    library = import_module("collections")
    if kind == "deque":
        return library.deque(decode(held[0], find), held[1])
    if kind == "defaultdict":
        return library.defaultdict(held[0] and FACTORIES[held[0]], decode(held[1], find))
    return getattr(library, kind)(decode(held, find))


def library_class(module: str, name: str) -> type | None:
    """A built-in type, or an exception class of Python's library, by its name; None if there is none."""
    if not is_library(module) or module.partition(".")[0] == TELLS_TESTS:
        return None
    found = getattr(import_module(module), name, None)
    is_shared = isinstance(found, type) and (module == "builtins" or issubclass(found, Exception))
    return found if is_shared else None


def is_library(name: str) -> bool:
    """Whether this is a module of Python's own library. Each side uses its own, so neither can change it for the other.

    A module that the other side names is imported here, so it must not run anything: `unittest.__main__` would run
    tests from the working folder.
    """
    parts = name.split(".")
    runs = any(part.startswith("__") or part in RUN_WHEN_IMPORTED for part in parts)
    return name == "builtins" or (parts[0] in sys.stdlib_module_names and not runs)
