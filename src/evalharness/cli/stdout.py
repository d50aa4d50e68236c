"""Standard output kept for us alone: while a run goes on, whatever a target prints goes to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from rich.console import Console

from evalharness import settings
from evalharness.reports.screen import Screen

PROGRAM = "eval-harness"


class PipeConsole(Console):
    def on_broken_pipe(self) -> None:
        """rich would leave the program from wherever it is; that nobody reads any more is told as any other error."""
        raise BrokenPipeError


class ProgressConsole(Console):
    def on_broken_pipe(self) -> None:
        """A run goes on when nobody watches any more; that its report cannot be told is found out at its end."""
        self.quiet = True


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """File descriptor 1 points to stderr; the stream given is the real standard output.

    It is given back only when an error has to be told there. Otherwise it stays reserved to the end of the process:
    a call that was given up, or a C library with a buffer, may still print after the report.
    """
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    stream = os.fdopen(os.dup(real), "w", encoding="utf-8", errors="replace")
    try:
        yield stream
        stream.flush()
    except BaseException:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.dup2(real, 1)
        raise
    finally:
        with suppress(OSError):  # what could not be written was told when it was flushed
            stream.close()
        os.close(real)


def is_live(stream: TextIO) -> bool:
    """Whether a person watches who did not ask for plain output: bars and colours are for nobody else."""
    plain = settings.no_color() or settings.is_ci() or settings.environment().get("TERM") == "dumb"
    return stream.isatty() and not plain


def screen_on(
    stream: TextIO, redact: Callable[[str], str] = str, kind: type[PipeConsole | ProgressConsole] = PipeConsole
) -> Screen:
    """Colour and width from the terminal; plain and stable elsewhere, whatever the environment says."""
    if is_live(stream):
        return Screen(kind(file=stream, highlight=False, force_terminal=True), redact, command_name())
    width = None if stream.isatty() else 100_000
    console = kind(file=stream, highlight=False, width=width, color_system=None, force_terminal=False)
    return Screen(console, redact, command_name())


def command_name() -> str:
    """What to type to call this program again: its name where the shell would find it, else the path that was used."""
    called = Path(sys.argv[0])
    found = shutil.which(PROGRAM)
    if called.name != PROGRAM or (found and Path(found).resolve() == called.resolve()):
        return PROGRAM
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)
