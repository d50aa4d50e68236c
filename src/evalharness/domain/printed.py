"""Printed: what a target prints in this process while it answers.

The engine says whose trial it is (`PRINTED`); who catches the text is up to the program around it: the command line
does, the library leaves `sys.stdout` and `sys.stderr` alone. Threads that a target starts itself are not followed.
What is passed on goes line by line, so that trials which print at the same time do not mix theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from threading import Lock
from typing import Literal, TypeAlias

LONGEST = 1_000_000
"""Characters of each stream that are kept."""
CUT = "\n… the rest was not kept"
LONGEST_LINE = 65_536
"""Characters that are passed on even though their line has not ended."""
StreamName = Literal["stdout", "stderr"]
PassOn: TypeAlias = Callable[[str], object]


class Printed:
    """The texts of one trial, by stream; empty for most."""

    __slots__ = ("_length", "_lock", "_texts", "_unfinished")

    def __init__(self) -> None:
        self._texts: dict[StreamName, list[str]] = {}
        self._length: dict[StreamName, int] = {}
        self._unfinished: dict[StreamName, tuple[str, PassOn]] = {}
        self._lock = Lock()

    def add(self, stream: StreamName, text: str, pass_on: PassOn) -> None:
        """Keep a text, and pass on every line that it ends."""
        with self._lock:
            self._keep(stream, text)
            waiting, _ = self._unfinished.pop(stream, ("", pass_on))
            lines, end, rest = (waiting + text).rpartition("\n")
            if len(rest) > LONGEST_LINE:
                lines, end, rest = waiting + text, "", ""
            if rest:
                self._unfinished[stream] = (rest, pass_on)
            if lines or end:
                pass_on(lines + end)

    def flush(self, stream: StreamName, end: str = "") -> None:
        """Pass on a line that has not ended: somebody may wait for an answer to it."""
        with self._lock:
            waiting, pass_on = self._unfinished.pop(stream, ("", str))
            if waiting:
                pass_on(waiting + end)

    def finish(self) -> None:
        """The trial has answered: what it did not end is a line all the same."""
        if not self._length:  # most trials print nothing
            return
        self.flush("stdout", "\n")
        self.flush("stderr", "\n")

    def _keep(self, stream: StreamName, text: str) -> None:
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
