"""The one way texts reach people: secrets taken out, control characters removed, long lines left whole.

A text is cleaned before it is cut or coloured, so that neither half a secret nor an escape sequence gets through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from evalharness.reports.wording import clean, one_line

Part: TypeAlias = str | tuple[str, str]
"""A text, or a text and its style."""
MARKS: dict[str, tuple[str, str]] = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "flaky": ("~", "yellow"),
    "error": ("!", "magenta"),
    "skipped": ("–", "bright_black"),
    "awaiting": ("?", "blue"),
    "pending": ("·", "bright_black"),
}
"""The mark and the colour of each state, the same wherever a state is shown; flaky is a mark, not a state."""
LABEL_WIDTH = 13
LEAST_ROOM = 20
BELOW = 4
"""How far a text is indented below a head that leaves no room beside it."""
_WORD = re.compile(r"\S+(?:(?<=\d) (?:%|ms|s|min|h)(?![^\W_])\S*)?\s*")
"""A number and its unit are one word."""


class Screen:
    """`command` is how this user calls the harness, so that the next step can be copied as it stands."""

    def __init__(self, console: Console, redact: Callable[[str], str] = str, command: str = "eval-harness") -> None:
        self.console = console
        self.command = command
        self._redact = redact

    def clean(self, text: str) -> str:
        return clean(text, self._redact)

    def one_line(self, text: str, limit: int = 160) -> str:
        return one_line(self.clean(text), limit)

    def cut(self, text: str, cells: int) -> str:
        """On one line, and no wider than this: wide characters take two columns."""
        joined = self.one_line(text, cells)
        while cell_len(joined) > cells:
            joined = joined[:-2].rstrip() + "…"
        return joined

    def width_of(self, text: str) -> int:
        return cell_len(self.clean(text))

    def room(self, used: int) -> int:
        """The columns that are left beside so many."""
        return max(LEAST_ROOM, self.console.width - used)

    def say(self, *parts: Part) -> None:
        self.console.print(Text.assemble(*map(self._styled, parts)), soft_wrap=True)

    def entry(self, head: Sequence[Part], *parts: Part) -> None:
        """A head, and beside it a text that is wrapped by words: its further lines begin where its first one does.

        Words, numbers and paths are never split; elsewhere than on a terminal nothing is wrapped.
        """
        first = Text.assemble(*map(self._styled, head))
        text = Text.assemble(*map(self._styled, parts))
        if first.cell_len > self.console.width - LEAST_ROOM and text:  # no room beside it: the text goes below
            first.rstrip()
            self.console.print(first, soft_wrap=True)
            first = Text(" " * BELOW)
        for number, line in enumerate(text.divide(_line_starts(text.plain, self.room(first.cell_len)))):
            begin = Text(" " * first.cell_len) if number else first
            shown = Text.assemble(begin, line)
            shown.rstrip()
            self.console.print(shown, soft_wrap=True)

    def line(self, label: str, text: str, small: str = "", *, width: int = LABEL_WIDTH) -> None:
        """`small` is for those who want to know exactly: dimmed, behind the text, or below it where room is short."""
        used = width + cell_len(text) + 3 + cell_len(small)
        if not (text and small):
            self.labelled(label, text, (small, "dim"), width=width)
        elif used <= self.console.width:
            self.labelled(label, text, (f"   {small}", "dim"), width=width)
        else:
            self.labelled(label, text, width=width)
            self.labelled("", (small, "dim"), width=width)

    def labelled(self, label: str, *parts: Part, width: int = LABEL_WIDTH) -> None:
        """One of several lines whose texts begin below each other."""
        self.entry([(f"{label} ".ljust(width), "dim")], *parts)

    def table(self, headings: Sequence[Part], rows: Iterable[Sequence[Part]]) -> None:
        from rich.table import Table  # slow to load: a run shows none

        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in headings:
            table.add_column(self._styled(heading), overflow="fold")
        for row in rows:
            table.add_row(*map(self._styled, row))
        self.console.print()
        for line in self.console.render_lines(table, pad=False):
            text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
            text.rstrip()  # the last column is padded, too
            self.console.print(text, soft_wrap=True)

    def _styled(self, part: Part) -> Text:
        text, style = (part, "") if isinstance(part, str) else part
        return Text(self.clean(text), style=style)


def _line_starts(text: str, room: int) -> list[int]:
    """Where the second and all further lines of a text begin that has so many columns: always at a word."""
    starts, used = [], 0
    for word in _WORD.finditer(text):
        if used and used + cell_len(word[0].rstrip()) > room:
            starts.append(word.start())
            used = 0
        used += cell_len(word[0])
    return starts


def padded(text: str, cells: int) -> str:
    """With as many spaces behind it as it takes to be this wide."""
    return text + " " * (cells - cell_len(text))


class PipeConsole(Console):
    def on_broken_pipe(self) -> None:
        """rich would leave the program from wherever it is; that nobody reads any more is reported as any other
        error."""
        raise BrokenPipeError


def screen_on(
    stream: IO[str], redact: Callable[[str], str], command: str, *, is_live: bool, kind: type[Console] = PipeConsole
) -> Screen:
    """Colour and width from the terminal where it `is_live`; plain and stable elsewhere."""
    if is_live:
        return Screen(kind(file=stream, highlight=False, force_terminal=True), redact, command)
    width = None if stream.isatty() else 100_000
    console = kind(file=stream, highlight=False, width=width, color_system=None, force_terminal=False)
    return Screen(console, redact, command)
