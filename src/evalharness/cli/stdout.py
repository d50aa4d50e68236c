"""Standard output kept for us alone: while a run goes on, whatever a target prints goes to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console

from evalharness import settings


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """File descriptor 1 points to stderr meanwhile; the stream given is the real standard output."""
    sys.stdout.flush()
    real = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(real), "w", encoding="utf-8", errors="replace") as stream:
            yield stream
    finally:
        sys.stdout.flush()
        os.dup2(real, 1)
        os.close(real)


def console_on(stream: TextIO) -> Console:
    """Colour and width from the terminal; plain and stable elsewhere."""
    if stream.isatty():
        return Console(file=stream, no_color=settings.no_color(), highlight=False)
    return Console(file=stream, no_color=True, highlight=False, width=100_000, color_system=None)
