"""Imports the modules next to users' functions for one call of the harness, and discards them afterwards.

A folder is imported as a package with a unique name. Import statements of its code search that folder first, then the
suite's folder, then the usual places. So folders of two runs may have modules of the same name, code edited between two
runs is imported again, and `sys.path` does not change. What is not found there (such as installed packages) is imported
as usual, once per process.

Functions and references are handled by `references.py`.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from itertools import count
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from evalharness.errors import UsageError
from evalharness.values.digest import digest

NEVER_OWN = frozenset((*sys.builtin_module_names, "__main__", __name__.partition(".")[0]))
YOUNG_S = 2.0

_changing_finders = threading.Lock()
_being_imported: ContextVar[frozenset[str]] = ContextVar("being imported", default=frozenset())


def own_spec(top: str, folder: Path) -> ModuleSpec | None:
    """The module or package `top` in `folder`; None if it is to be imported as usual.

    As on `sys.path`, a folder without `__init__.py` is a package only if nothing else has its name.
    """
    spec = None if top in NEVER_OWN else FileFinder(str(folder), *_LOADERS).find_spec(top)
    if spec is not None and spec.loader is None and _is_found_elsewhere(top):
        return None
    return spec


def _is_found_elsewhere(top: str) -> bool:
    return top in sys.modules or importlib.util.find_spec(top) is not None


class UserModules:
    """The modules that the functions of one call need. Close it when none of them is called any more."""

    def __init__(self) -> None:
        self._folders: dict[tuple[Path, Path], _Folder] = {}
        self._finder = _Finder()

    def __enter__(self) -> UserModules:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def import_file(self, file: Path, root: Path) -> ModuleType:
        """Import a file; `root` is the suite's folder. Raises whatever the code raises."""
        path = file.resolve()
        with _not_by_itself(str(path)):
            return self._folder(path.parent, root.resolve()).import_file(path)

    def import_module(self, name: str, root: Path) -> ModuleType:
        """Import a module of the suite's folder, else one from the usual places. Raises whatever the code raises."""
        root = root.resolve()
        with _not_by_itself(f"{root}:{name}"):
            return self._folder(root, root).import_module(name)

    def close(self) -> None:
        """Discard the modules. May be called more than once."""
        self._finder.remove()
        names = tuple(self._finder.folders)
        for name in [name for name in sys.modules if name.partition(".")[0] in names]:
            del sys.modules[name]
        self._folders.clear()
        self._finder.folders.clear()

    def _folder(self, place: Path, root: Path) -> _Folder:
        known = self._folders.get((place, root))
        if known is not None:
            return known
        behind = () if place == root else (self._folder(root, root),)
        folder = self._folders[place, root] = _Folder(place, behind)
        self._finder.add(folder)
        return folder


@contextmanager
def _not_by_itself(key: str) -> Iterator[None]:
    """Prevent endless recursion if code starts a run of itself when it is imported."""
    before = _being_imported.get()
    if key in before:
        raise UsageError(
            f"{key} is evaluated by its own code while it is imported",
            hint='put the call under: if __name__ == "__main__":',
        )
    mark = _being_imported.set(before | {key})
    try:
        yield
    finally:
        _being_imported.reset(mark)


class _Folder:
    """A folder as a package. `behind` are folders that its code searches next."""

    def __init__(self, place: Path, behind: tuple[_Folder, ...]) -> None:
        self.place = place
        self.name = _new_package(place)
        self._search = (self, *behind)
        self._files: dict[str, Path] = {}
        self._foreign: set[str] = set()
        self._builtins = {**vars(builtins), "__import__": self._import}

    def import_file(self, file: Path) -> ModuleType:
        """Import a file, under the name that an import statement would use if possible."""
        spec = own_spec(file.stem, self.place) if "." not in file.stem else None
        if spec is not None and spec.origin == str(file):
            return self._imported(f"{self.name}.{file.stem}")
        name = f"{self.name}.{file.name.replace('.', '_')}"
        self._files[name] = file
        return self._imported(name)

    def import_module(self, name: str) -> ModuleType:
        folder = self._folder_of(name.partition(".")[0])
        return self._imported(f"{folder.name}.{name}" if folder else name)

    def find_spec(self, name: str, places: Sequence[str]) -> ModuleSpec | None:
        if name in self._files:
            return self._loaded_here(importlib.util.spec_from_file_location(name, self._files[name]))
        portions: list[str] = []
        for place in places:
            spec = FileFinder(place, *_LOADERS).find_spec(name)
            if spec is not None and spec.loader is not None:
                return self._loaded_here(spec)
            portions += (spec.submodule_search_locations or ()) if spec else ()
        package = ModuleSpec(name, None, is_package=True)
        package.submodule_search_locations = portions
        return package if portions else None

    def _loaded_here(self, spec: ModuleSpec | None) -> ModuleSpec | None:
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.name, spec.loader.path, self._builtins)
        return spec

    def _imported(self, name: str) -> ModuleType:
        try:
            return importlib.import_module(name)
        except ImportError as error:
            for folder in self._search:
                error.msg = error.msg.replace(f"{folder.name}.", "")
            raise

    def _folder_of(self, top: str) -> _Folder | None:
        if top in self._foreign:
            return None
        for folder in self._search:
            if f"{folder.name}.{top}" in sys.modules or own_spec(top, folder.place) is not None:
                return folder
        return None

    def _import(
        self,
        name: str,
        globals: Any = None,  # noqa: A002 - the names of the built-in function that it replaces
        locals: Any = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        """The meaning of `import` in the code of this folder, also inside functions that are called later."""
        top = name.partition(".")[0]
        folder = self._folder_of(top) if level == 0 else None
        if folder is not None:
            found = __import__(f"{folder.name}.{name}", globals, locals, fromlist, 0)
            return found if fromlist else sys.modules[f"{folder.name}.{top}"]
        found = __import__(name, globals, locals, fromlist, level)
        if level == 0:
            self._foreign.add(top)  # ignore a file of that name that appears later
        return found


def _new_package(place: Path) -> str:
    """The same name for the same folder, so that messages do not differ; numbered while another call uses it."""
    for number in count(1):
        name = f"evalharness_user_{digest(str(place))}{'' if number == 1 else f'_{number}'}"
        package = ModuleType(name)
        package.__spec__ = ModuleSpec(name, None, is_package=True)
        package.__package__ = name
        package.__path__ = [str(place)]
        if sys.modules.setdefault(name, package) is package:
            return name
    raise AssertionError("numbers do not end")


class _Finder(MetaPathFinder):
    """Finds modules below the packages of its folders, and nothing else; other imports are not affected."""

    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}

    def add(self, folder: _Folder) -> None:
        self.folders[folder.name] = folder
        with _changing_finders:
            if self not in sys.meta_path:
                sys.meta_path = [self, *sys.meta_path]  # a new list: other threads may be reading the old one

    def remove(self) -> None:
        with _changing_finders:
            if self in sys.meta_path:
                sys.meta_path = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - part of the protocol
    ) -> ModuleSpec | None:
        folder = self.folders.get(fullname.partition(".")[0])
        return folder.find_spec(fullname, path) if folder is not None and path is not None else None


class _Loader(SourceFileLoader):
    """`names` are the built-in names for the code, with its own `__import__`."""

    def __init__(self, fullname: str, path: str, names: dict[str, Any]) -> None:
        super().__init__(fullname, path)
        self._names = names

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self._names
        super().exec_module(module)

    def path_stats(self, path: str) -> Any:
        """Do not use compiled code for a recent source, because it stores the source's time only to the second."""
        stats = super().path_stats(path)
        if time.time() - stats["mtime"] < YOUNG_S:
            raise OSError("too young")
        return stats


_LOADERS = ((SourceFileLoader, SOURCE_SUFFIXES), (ExtensionFileLoader, EXTENSION_SUFFIXES))
