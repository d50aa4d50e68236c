"""Printed: what a target prints in this process while it answers.

The engine says whose trial it is (`PRINTED`); who catches the text is up to the program around it: the command line
does, the library leaves `sys.stdout` and `sys.stderr` alone. Threads that a target starts itself are not followed.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Literal

LONGEST = 1_000_000
"""Characters of each stream that are kept."""
CUT = "\n… the rest was not kept"
StreamName = Literal["stdout", "stderr"]


class Printed:
    """The texts of one trial, by stream; empty for most."""

    __slots__ = ("_length", "_texts")

    def __init__(self) -> None:
        self._texts: dict[StreamName, list[str]] = {}
        self._length: dict[StreamName, int] = {}

    def add(self, stream: StreamName, text: str) -> None:
        before = self._length.get(stream, 0)
        if before < LONGEST:
            kept = text[: LONGEST - before]
            self._texts.setdefault(stream, []).append(kept if kept == text else kept + CUT)
        self._length[stream] = before + len(text)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def __getitem__(self, stream: StreamName) -> str:
        return "".join(self._texts.get(stream, ()))


PRINTED: ContextVar[Printed | None] = ContextVar("printed", default=None)
"""Where the trial that is being answered keeps what is printed; None outside of trials."""
