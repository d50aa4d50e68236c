"""Stale outputs: where a command ends in an error, a report of an earlier one under its name is moved aside.

Where it comes to its end, what it moved aside itself is removed.

Also where its words cannot be understood: so they are read here once more, as far as they go, and nothing is checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from evalharness.errors import OverwritesBaseline, UsageError


@contextmanager
def none_stale(command: click.Command, words: list[str]) -> Iterator[None]:
    """What the command wrote itself stays, and so does what it reads."""
    before = {path: _identity(path) for path in _outputs(command, words)}
    if not before:
        yield
        return
    from evalharness.reports.report_files import asides, set_aside  # slow to load: only where there is a file

    try:
        yield
    except (click.exceptions.Exit, OverwritesBaseline):
        raise
    except BaseException:
        for path, known in before.items():
            with suppress(OSError):  # then the error that is on its way says more
                if _identity(path) == known:
                    set_aside([path])  # not lost, if it was a baseline after all
        raise
    for path, known in before.items():
        with suppress(OSError):  # it was never moved, or nobody may
            moved = (each for each in takewhile(os.path.lexists, asides(path)) if _identity(each) == known)
            if path.is_file() and (found := next(moved, None)):
                found.unlink()


def _identity(path: Path) -> tuple[int, int]:
    """Another one once it is written anew."""
    about = path.lstat()
    return about.st_ino, about.st_mtime_ns


def _outputs(command: click.Command, words: list[str]) -> Iterator[Path]:
    """The files that would be replaced, less all that the command line or a variable names for another purpose."""
    option = next((param for param in command.params if param.name == "outputs"), None)
    if option is None:
        return
    context = click.Context(command, resilient_parsing=True, ignore_unknown_options=True, allow_extra_args=True)
    written, rest, _ = command.make_parser(context).parse_args(list(words))
    given = {param.name: param.consume_value(context, written)[0] for param in command.params}
    outputs = [] if given.pop("dry_run", False) else list(_texts(given["outputs"]))
    del given["outputs"]
    others = {os.path.realpath(text) for text in _texts([rest, *given.values()])}
    for text in outputs:
        is_free = os.path.realpath(text) not in others and _may_be_replaced(option, context, text)
        if is_free and Path(text).is_file():
            yield Path(text)


def _may_be_replaced(option: click.Parameter, context: click.Context, text: str) -> bool:
    assert option.callback is not None, "it knows its own reports"
    try:
        option.callback(context, option, (text,))
    except UsageError:
        return False
    return True


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
