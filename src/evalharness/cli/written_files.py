"""Files that a command writes besides its output: where they are, and its exit code if one cannot be written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from evalharness.errors import HarnessError, UsageError
from evalharness.reports.terminal.screen import Screen
from evalharness.reports.wording import harmless

WIDTH = len("PASSED   ")


class Written(NamedTuple):
    code: int
    files: list[Path]


def write_all(code: int, writes: Iterable[Callable[[], Iterable[Path]]], redact: Callable[[str], str] = str) -> Written:
    """Write everything that can be written. If a file cannot, 0 and 4 become 3; a failure is never hidden."""
    has_failed = False
    files: list[Path] = []
    for write in writes:
        try:
            for path in write():
                files.append(path)  # one by one: those before one that fails are kept
        except UsageError:
            raise
        except (OSError, HarnessError) as error:
            says = error.message if isinstance(error, HarnessError) else f"{error.filename}: {error.strerror}"
            print(harmless(redact(f"error: {says}")), file=sys.stderr)
            has_failed = True
    return Written(3 if has_failed and code in (0, 4) else code, files)


def write_below(
    show: Callable[[], object], code: int, writes: Iterable[Callable[[], Iterable[Path]]], redact: Callable[[str], str]
) -> Written:
    """Print the result, then write the files: what is wrong with them is said below it. They are for others than those
    who read the screen, so they are written whatever becomes of it."""
    try:
        show()
        sys.stdout.flush()
    finally:
        written = write_all(code, writes, redact)
    return written


def say_written(files: Iterable[Path], screen: Screen, width: int = WIDTH) -> None:
    """`width` is that of the first column of what is printed above."""
    for path in files:
        screen.labelled("wrote", str(from_here(path)), width=width)


def from_here(path: Path) -> Path:
    """Shorter where it is below the current folder."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
