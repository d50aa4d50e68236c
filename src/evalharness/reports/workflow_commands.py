"""Text that GitHub Actions does not take for a command.

Its runner reads what a step prints. A line that begins with `::` (after white space), or `##[` anywhere in a line, is a
workflow command to it. Answers of an agent are printed as well, and must not set outputs, hide errors or mask texts. So
a space is put into whatever looks like a command; only a `WorkflowCommand` passes unchanged.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

_UNSEEN = r"[\s\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
"""What the runner skips before a command, or may not see."""
_COMMAND = re.compile(rf"(?<![^\r\n]){_UNSEEN}*:(?=:)|\#\#(?=\[)")
_LINE_END = re.compile(r"[\r\n]")
_NOT_YET = re.compile(rf"{_UNSEEN}*(:?)")
"""The beginning of a line that may still become a command."""


class WorkflowCommand(str):
    """A whole line that GitHub should act on."""

    __slots__ = ()


def disarmed(text: str) -> str:
    """A whole text, for a line of its own."""
    stream = io.StringIO(newline="")
    DisarmedStream(stream).write(text)
    return stream.getvalue()


class DisarmedStream:
    """Passes on everything else to the stream that it stands for. Commands may come in pieces, by several writes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._before = ""
        """What is written of the current line already, as far as it matters."""

    def write(self, text: str) -> int:
        if isinstance(text, WorkflowCommand):
            begin, self._before = "\n" if self._before else "", ""
            self._stream.write(f"{begin}{text}")
            return len(text)
        before = self._before
        shown = _COMMAND.sub(lambda found: f"{found[0]} ", before + text)
        line = _LINE_END.split(shown)[-1]
        beginning = _NOT_YET.fullmatch(line)
        self._before = beginning[1] if beginning else f"x{line[-2:]}"
        self._stream.write(shown[len(before) :])
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """All else is the stream's own."""
        return getattr(self._stream, name)
