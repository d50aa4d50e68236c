"""Users' Python functions: imports them by reference, identifies them by their code, and calls them.

A reference is `module:attr` or `path/to/file.py:attr`. Named parts are in `registry.py`. The part that calls a function
decides what its arguments and return value mean.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from evalharness.contracts.services import Threads
from evalharness.domain.specification import function_name
from evalharness.errors import HarnessError, ImportFailed, NoSuchFile, UnknownName, UsageError
from evalharness.user_modules import UserModules, own_spec
from evalharness.values.digest import digest_file

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class FileNames:
    """What a Python file defines at its top level, found without running it."""

    functions: list[str]
    """Those that it defines; `imported` may be functions, too."""
    imported: list[str]
    others: set[str]
    may_have_more: bool
    """Whether names may be there that its text does not show: after a star import, or by `globals()`."""


def names_in(file: Path) -> FileNames | None:
    """None for a file that is not there or is not Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None
    functions, imported, others, may_have_more = [], [], set(), False
    for node in _outside_of_functions(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            functions += [each.id for each in node.targets if isinstance(each, ast.Name)]
        elif isinstance(node, ast.ClassDef):
            others.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            others.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
            others |= set(names)
            if isinstance(node, ast.ImportFrom) and node.module != "__future__":
                imported += [name for name in names if name != "*"]
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Global):
            others |= set(inner.names)
        elif isinstance(inner, ast.Name) and inner.id in ("globals", "exec", "setattr", "vars", "locals"):
            may_have_more = True
    may_have_more |= "*" in others or "__getattr__" in functions
    return FileNames(functions, imported, others, may_have_more)


def syntax_error_in(file: Path) -> str:
    """`line 3: invalid syntax`; empty for a file that is Python."""
    try:
        ast.parse(file.read_bytes())
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
    except ValueError as error:
        return str(error)
    return ""


def no_such_file(place: str, root: Path, function: str = "") -> NoSuchFile:
    """With the file beside it that was probably meant."""
    folder = (root / place).parent
    beside = [str(Path(place).parent / each.name) for each in sorted(folder.glob("*.py"))] if folder.is_dir() else []
    return NoSuchFile(place, beside, function)


def _outside_of_functions(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node at the top level, also below `if` and `try`, but not inside of functions and classes."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _outside_of_functions(node)


def missing_function(reference: str, root: Path) -> UnknownName | None:
    """What is wrong with a reference into a file, found without importing it; None where nothing is, or who knows."""
    file = reference_file(reference, root)
    if file is None:
        return None
    place, attribute = split_reference(reference)
    if not file.is_file():
        return no_such_file(place, root, attribute)
    known = names_in(file)
    name = attribute.partition(".")[0]
    if known is None or known.may_have_more or name in known.others or name in known.functions:
        return None
    return UnknownName(f"function in {place}", name, [each for each in known.functions if not each.startswith("_")])


def import_reference(reference: str, root: Path, modules: UserModules) -> Any:
    """Import what a reference names; exceptions of the imported code become ImportFailed."""
    place, attribute = split_reference(reference)
    file = reference_file(reference, root)
    try:
        found: Any = modules.import_module(place, root) if file is None else _import_file(reference, root, modules)
        for name in attribute.split("."):
            if not hasattr(found, name):
                members = getattr(found, "__dict__", {}).items()
                public = [known for known, value in members if not known.startswith("_") and callable(value)]
                raise UnknownName(f"function in {place}", name, public)
            found = getattr(found, name)
    except HarnessError:
        raise
    except (Exception, SystemExit) as error:
        raise ImportFailed(error) from error
    return found


def _import_file(reference: str, root: Path, modules: UserModules) -> Any:
    place, attribute = split_reference(reference)
    file = root / place
    if not file.is_file():
        raise no_such_file(place, root, attribute)
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


async def call_function(
    in_thread: Threads, read: Callable[[Any], T], function: Callable[..., Any], *arguments: Any, **keywords: Any
) -> T:
    """Call a function, an async one on the event loop, a sync one in a thread, and return what `read` makes of it.

    It is read where the function ran, because the function's next call may change what it returned.
    """
    if _is_async(function):
        return read(await function(*arguments, **keywords))
    found = await in_thread(_call, read, function, *arguments, **keywords)
    return read(await found) if inspect.isawaitable(found) else found


def _call(read: Callable[[Any], Any], function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    returned = function(*arguments, **keywords)
    return returned if inspect.isawaitable(returned) else read(returned)


def _is_async(function: Callable[..., Any]) -> bool:
    call = function if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
