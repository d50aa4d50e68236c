"""What goes to the terminal: screens with its colour and width, plain and stable elsewhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from rich.console import Console

from evalharness.cli.command import is_plain
from evalharness.cli.process import PROGRAM
from evalharness.reports.terminal import screen
from evalharness.reports.terminal.screen import PipeConsole, Screen
from evalharness.settings import Settings


class ProgressConsole(Console):
    def on_broken_pipe(self) -> None:
        """A run goes on when its reader has gone; its report fails at the end, if at all."""
        self.quiet = True


def is_live(stream: TextIO) -> bool:
    """Whether a person watches who did not ask for plain output: bars and colours are for nobody else."""
    settings = Settings.read()
    plain = is_plain() or settings.no_color or settings.is_ci or settings.environment.get("TERM") == "dumb"
    return stream.isatty() and not plain


def screen_on(
    stream: TextIO, redact: Callable[[str], str] = str, kind: type[PipeConsole | ProgressConsole] = PipeConsole
) -> Screen:
    return screen.screen_on(stream, redact, command_name(), is_live=is_live(stream), kind=kind)


def command_name() -> str:
    """What to type to call this program again: its name where the shell would find it, else the path that was used."""
    called = Path(sys.argv[0])
    found = shutil.which(PROGRAM)
    if called.name != PROGRAM or (found and Path(found).resolve() == called.resolve()):
        return PROGRAM
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)
