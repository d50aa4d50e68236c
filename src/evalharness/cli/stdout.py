"""Standard output kept for us alone: while a run goes on, whatever a target prints goes to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console

from evalharness import settings
from evalharness.reports.screen import Screen


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """File descriptor 1 points to stderr; the stream given is the real standard output.

    It is given back only when an error has to be told there. Otherwise it stays reserved to the end of the process:
    a call that was given up, or a C library with a buffer, may still print after the report.
    """
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(real), "w", encoding="utf-8", errors="replace") as stream:
            yield stream
    except BaseException:
        sys.stdout.flush()
        os.dup2(real, 1)
        raise
    finally:
        os.close(real)


def is_live(stream: TextIO) -> bool:
    """Whether a person watches who did not ask for plain output: bars and colours are for nobody else."""
    plain = settings.no_color() or settings.is_ci() or settings.environment().get("TERM") == "dumb"
    return stream.isatty() and not plain


def screen_on(stream: TextIO, redact: Callable[[str], str] = str) -> Screen:
    """Colour and width from the terminal; plain and stable elsewhere, whatever the environment says."""
    if is_live(stream):
        return Screen(Console(file=stream, highlight=False, force_terminal=True), redact)
    width = None if stream.isatty() else 100_000
    return Screen(Console(file=stream, highlight=False, width=width, color_system=None, force_terminal=False), redact)
