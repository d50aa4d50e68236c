"""Users' Python functions: imports them by reference, identifies them by their code, and calls them.

A reference is `module:attr` or `path/to/file.py:attr`. Named parts are in `registry.py`. The part that calls a function
decides what its arguments and return value mean.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from evalharness.contracts.services import Threads
from evalharness.domain.specification import function_name
from evalharness.errors import HarnessError, ImportFailed, UnknownName, UsageError
from evalharness.user_modules import UserModules, own_spec
from evalharness.values.digest import digest_file


def split_reference(reference: str) -> tuple[str, str]:
    """The two halves of `module:attr` or `path/to/file.py:attr`."""
    place, colon, attribute = reference.rpartition(":")
    if not colon or not place or not attribute.replace(".", "").isidentifier():
        raise UsageError(f"'{reference}' is not a reference to a function", hint="write module:attr or file.py:attr")
    return place, attribute


def reference_file(reference: str, root: Path) -> Path | None:
    """The file of a reference, or None if it names a module."""
    place, _ = split_reference(reference)
    return (root / place) if place.endswith(".py") or "/" in place else None


def import_reference(reference: str, root: Path, modules: UserModules) -> Any:
    """Import what a reference names; exceptions of the imported code become ImportFailed."""
    place, attribute = split_reference(reference)
    file = reference_file(reference, root)
    try:
        found: Any = modules.import_module(place, root) if file is None else _import_file(file, root, modules)
        for name in attribute.split("."):
            if not hasattr(found, name):
                public = [known for known in getattr(found, "__dict__", ()) if not known.startswith("_")]
                raise UnknownName(f"name in {place}", name, public)
            found = getattr(found, name)
    except HarnessError:
        raise
    except (Exception, SystemExit) as error:
        raise ImportFailed(error) from error
    return found


def _import_file(file: Path, root: Path, modules: UserModules) -> Any:
    if not file.is_file():
        raise UsageError(
            f"no file {file}", hint="paths are relative to the suite file, or on the command line to the current folder"
        )
    if importlib.util.spec_from_file_location("", file) is None:
        raise UsageError(f"{file} is not a Python file")
    return modules.import_file(file, root)


def only_its_program_has(noun: str, name: str) -> str:
    """Why a function that was passed in from Python is not available elsewhere."""
    return f"the {noun} {name} is a Python function that exists only in the program that created it"


def code_of(function: Callable[..., Any] | None, reference: str, root: Path) -> str | None:
    """What a digest uses as a function's code; None if it is not found. Nothing is imported.

    For a function that was passed in, it is the source. For a reference, it is the digest of the whole file, since
    other code in the file affects its answers too.
    """
    if function is not None:
        return function_source(function)
    if not reference:
        return None
    file = reference_file(reference, root)
    if file is None:
        file = _module_file(split_reference(reference)[0], root)
    return digest_file(file) if file is not None and file.is_file() else None


def _module_file(name: str, root: Path) -> Path | None:
    """The file of a module, found without importing its packages, so that no code runs for a digest."""
    top, *rest = name.split(".")
    try:
        found = own_spec(top, root) or importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if found is None or not rest:
        return Path(found.origin) if found and found.origin else None
    places = [Path(folder, *rest) for folder in found.submodule_search_locations or ()]
    candidates = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return next((file for file in candidates if file.is_file()), None)


def function_source(function: Callable[..., Any]) -> str:
    """What decides a function's answers, as far as Python knows: its source (or its class's), else its name."""
    while isinstance(function, partial):
        function = function.func
    for source in (function, type(function)):
        with suppress(OSError, TypeError):
            return inspect.getsource(source)
    return function_name(function)


async def call_function(in_thread: Threads, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """Call a function: an async one on the event loop, a sync one in a thread."""
    if _is_async(function):
        return await function(*arguments, **keywords)
    returned = await in_thread(function, *arguments, **keywords)
    return await returned if inspect.isawaitable(returned) else returned


def _is_async(function: Callable[..., Any]) -> bool:
    call = function if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
