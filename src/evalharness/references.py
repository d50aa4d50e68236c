"""Somebody's own Python function: found by its reference, told apart by its code, called as what it is.

A reference is `module:attr` or `path/to/file.py:attr`. Parts that have a name are the business of `registry.py`; what
a function's arguments and its return value mean is decided by the part that calls it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from evalharness.contracts.services import Threads
from evalharness.domain.specification import function_name
from evalharness.errors import HarnessError, ImportFailed, UnknownName, UsageError
from evalharness.values.digest import digest, digest_file


def split_reference(reference: str) -> tuple[str, str]:
    """`module:attr` or `path/to/file.py:attr` → its two halves."""
    place, colon, attribute = reference.rpartition(":")
    if not colon or not place or not attribute.replace(".", "").isidentifier():
        raise UsageError(f"'{reference}' is not a reference to a function", hint="write module:attr or file.py:attr")
    return place, attribute


def reference_file(reference: str, root: Path) -> Path | None:
    """The file a reference names, or None when it names a module."""
    place, _ = split_reference(reference)
    return (root / place) if place.endswith(".py") or "/" in place else None


def import_reference(reference: str, root: Path) -> Any:
    """Import what a reference names; whatever the imported code raises becomes ImportFailed."""
    place, attribute = split_reference(reference)
    file = reference_file(reference, root)
    _make_importable(root)
    try:
        found: Any = importlib.import_module(place) if file is None else _import_file(file)
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


def _import_file(file: Path) -> Any:
    """Import a file as running it would: its own folder comes first on the path."""
    path = file.resolve()
    if not path.is_file():
        raise UsageError(
            f"no file {file}", hint="paths start at the suite file, on the command line at the current folder"
        )
    name = f"evalharness_user_{path.stem}_{digest(str(path))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    _make_importable(path.parent)
    module = importlib.util.module_from_spec(spec)
    with ExitStack() as unfinished:
        sys.modules[name] = module
        unfinished.callback(sys.modules.pop, name, None)
        spec.loader.exec_module(module)
        unfinished.pop_all()
    return module


def _make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def only_its_program_has(noun: str, name: str) -> str:
    """Why a function that was handed in from Python cannot be had elsewhere."""
    return f"the {noun} {name} is a Python function that only its own program has"


def code_of(function: Callable[..., Any] | None, reference: str, root: Path) -> str | None:
    """What a digest takes for a function's code; None when there is none to be found. Nothing is imported.

    Of a function that was handed in it is the source; of a reference the digest of the whole file, since what stands
    beside the function decides its answers too.
    """
    if function is not None:
        return function_source(function)
    if not reference:
        return None
    file = reference_file(reference, root)
    if file is None:
        _make_importable(root)
        file = _module_file(split_reference(reference)[0])
    return digest_file(file) if file is not None and file.is_file() else None


def _module_file(name: str) -> Path | None:
    """The file of a module, found without importing the packages it is in: their code is not run for a digest."""
    top, *rest = name.split(".")
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    if found is None or not rest:
        return Path(found.origin) if found and found.origin else None
    places = [Path(folder, *rest) for folder in found.submodule_search_locations or ()]
    candidates = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return next((file for file in candidates if file.is_file()), None)


def function_source(function: Callable[..., Any]) -> str:
    """What decides a function's answers, as far as Python can tell: its source (or its class's), else its name."""
    while isinstance(function, partial):
        function = function.func
    for source in (function, type(function)):
        with suppress(OSError, TypeError):
            return inspect.getsource(source)
    return function_name(function)


async def call_function(in_thread: Threads, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """What a function returns: an async one is called on the loop, a sync one on a thread."""
    if _is_async(function):
        return await function(*arguments, **keywords)
    returned = await in_thread(function, *arguments, **keywords)
    return await returned if inspect.isawaitable(returned) else returned


def _is_async(function: Callable[..., Any]) -> bool:
    call = function if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
