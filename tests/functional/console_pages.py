"""A page of the documentation as a script: its files are written, its commands run, its outputs compared or rewritten.

Every page has a folder of its own, which starts with a copy of `examples/`. Its blocks run in order, so that a page
tells one story:

- a block whose first line is a comment with a file's name (`# suite.yaml`) writes that file, and so does one with the
  name beside its language (```` ```json tasks.json ````);
- in a `console` block, a line `$ command` runs, and the lines below it are its output, compared by shape;
- `$ cat FILE` writes the file that it shows if there is none yet, for formats without comments;
- a line `…` in an output stands for any lines, and no lines at all for an output that is not shown;
- a command that is meant to be refused or to break (exit codes 2, 3 and 130) is followed by `$ echo $?`;
- `<!-- setup: … -->` has commands that readers need not see, one per line, and `<!-- file: agent.py … -->` a file;
- ```` ```console no-run: reason ```` is for commands that a test cannot run.

The shape of an output is the output without durations, dates and ids, and without the lines of progress that a terminal
overwrites. Names of runs are always drawn in the same order, and a trial takes no time (see `tests/goldens/steady`), so
that everything else is compared.
"""

from __future__ import annotations

import atexit
import difflib
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from pathlib import Path
from tempfile import TemporaryFile

from driving import LONGEST_WAIT_S, clean_environment, kept_environment, start
from warm_command import WarmCommand

import evalharness

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
REWRITE = "REWRITE_CONSOLE_BLOCKS"
NO_RUN = "no-run: "
LEFT_OUT = "…"
STEADY = {
    "PYTHONPATH": os.pathsep.join([str(ROOT / "tests/goldens/steady"), str(Path(evalharness.__file__).parents[1])])
}
ASK_CODE = "echo $?"
USUAL_CODES = (0, 1, 4)  # it has run, whatever its verdict
_PART = re.compile(
    r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$|^<!-- (setup|file): ?([^\n]*)\n(.*?)^-->$", re.MULTILINE | re.DOTALL
)
_FILE = re.compile(r"# ([\w./-]+\.\w+)\n")
_FILE_NAME = re.compile(r"[\w./-]+\.\w+")
_PROGRESS = re.compile(r"\d+ of \d+ trials\b.*")
_NEEDS_SHELL = re.compile(r"[|<>&;$*`]")
_SHAPES = (
    (re.compile(r"\beval-\d{8}-\d{6}-[0-9a-f]{4}\b"), "<id>"),
    (re.compile(r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?"), "<date>"),
    (re.compile(r"(?<=Total Time: )[\d.]+s$"), "<duration>"),
    (re.compile(r"\b\d[\d.,]* (?:min \d+ s|h \d+ min|µs|ms|s|min|h)(?: ago)?(?=\W|$)|\bjust now\b"), "<duration>"),
    (re.compile(r"(?<=\S) {2,}"), "  "),  # the width of a column depends on the durations in it
)


@dataclass(frozen=True)
class Command:
    text: str
    """As it is shown, without the prompt; a continued command has several lines."""
    shown: tuple[str, ...]


def commands_of(block: str) -> Iterator[Command]:
    lines = block.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"a console block starts with a command: {block}"
    for begin, end in pairwise([*starts, len(lines)]):
        last = next(number for number in range(begin, end) if not lines[number].endswith("\\"))
        yield Command("\n".join(lines[begin : last + 1]).removeprefix("$ "), tuple(lines[last + 1 : end]))


def shape(line: str) -> str:
    for pattern, instead in _SHAPES:
        line = pattern.sub(instead, line)
    return line.rstrip()


def matches(shown: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Line by line by their shapes; `…` is any number of lines."""
    wanted = [".*" if line.strip() == LEFT_OUT else re.escape(shape(line) + "\n") for line in shown]
    return re.fullmatch("".join(wanted), "".join(shape(line) + "\n" for line in printed), re.DOTALL) is not None


@functools.cache
def steady_command() -> WarmCommand:
    command = WarmCommand({**kept_environment(), **STEADY, "PYTHONDONTWRITEBYTECODE": "1"})
    atexit.register(command.close)
    return command


class Terminal:
    """Runs one command after the other, as a shell with a current folder and an exit code does."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.code = folder, 0
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._env = clean_environment(folder, {**STEADY, "PATH": path})
        self._home = folder

    def run(self, text: str) -> tuple[str, ...]:
        """The lines that it prints, on stdout and stderr."""
        words = shlex.split(text.replace("\\\n", " "), comments=True)
        if words[0] == "cd":
            self.folder, self.code = (self.folder / words[1]).resolve(strict=True), 0
            return ()
        if text == ASK_CODE:
            code, self.code = self.code, 0
            return (str(code),)
        with TemporaryFile() as out:
            if words[0] == "eval-harness" and not _NEEDS_SHELL.search(text.partition(" #")[0]):
                with start(
                    self.folder,
                    *words[1:],
                    env=self._env,
                    stdout=out.fileno(),
                    stderr=out.fileno(),
                    whole_shutdown=False,
                    command=steady_command(),
                ) as started:
                    self.code = started.wait(LONGEST_WAIT_S).code
            else:
                self.code = subprocess.run(
                    ["bash", "-c", text],
                    cwd=self.folder,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=LONGEST_WAIT_S,
                    check=False,
                ).returncode
            out.seek(0)
            printed = out.read().decode().replace(str(self._home), "/home/ada/evals")
        lines = (line.rstrip() for line in printed.strip("\n").splitlines())
        return tuple(line for line in lines if not _PROGRESS.fullmatch(line))

    def write_shown(self, command: Command) -> None:
        """`$ cat FILE` of a file that is not there yet."""
        words = command.text.split()
        if words[0] == "cat" and len(words) == 2 and not (self.folder / words[1]).exists():
            self.write(words[1], "\n".join(command.shown) + "\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8")


@dataclass
class Page:
    path: Path
    text: str
    wrong: list[str]
    """What differs between the page and what was printed, as diffs."""

    @staticmethod
    def read(path: Path) -> Page:
        return Page(path, path.read_text(encoding="utf-8"), [])

    def not_run(self) -> list[str]:
        """The reasons of the blocks that are not run."""
        parts = _PART.finditer(self.text)
        return [part[2].removeprefix(NO_RUN) for part in parts if part[1] == "console" and part[2]]

    def play(self, folder: Path) -> str:
        """The page as it should be. Differences are added to `wrong`."""
        shutil.copytree(ROOT / "examples", folder / "examples")
        (folder / "pyproject.toml").write_text("")  # the store is in this folder, whatever the parent folders contain
        terminal = Terminal(folder)
        return _PART.sub(lambda part: self._played(part, terminal), self.text)

    def _played(self, part: re.Match[str], terminal: Terminal) -> str:
        language, info, block, hidden, name, text = part.groups()
        if hidden == "file":
            terminal.write(name, text)
        elif hidden == "setup":
            for line in filter(None, map(str.strip, text.splitlines())):
                printed = terminal.run(line)
                if terminal.code not in USUAL_CODES:
                    self.wrong.append("\n".join([f"$ {line}", *printed]))
        elif language == "console" and not info:
            commands = list(commands_of(block))
            entered = [
                self._entered(command, terminal, shows_code=after is not None and after.text == ASK_CODE)
                for command, after in zip_longest(commands, commands[1:])
            ]
            return f"```console\n{''.join(entered)}```"
        elif _FILE_NAME.fullmatch(info):
            terminal.write(info, block)
        elif named := _FILE.match(block):
            terminal.write(named[1], block)
        return part[0]

    def _entered(self, command: Command, terminal: Terminal, *, shows_code: bool) -> str:
        terminal.write_shown(command)
        printed = terminal.run(command.text)
        shown = command.shown
        if terminal.code not in USUAL_CODES and not shows_code:
            self.wrong.append("\n".join([f"$ {command.text}", f"exit code {terminal.code}", *printed]))
        if shown and not matches(shown, printed):
            differing = difflib.unified_diff(shown, printed, "shown", "printed", lineterm="", n=1)
            self.wrong.append("\n".join([f"$ {command.text}", *differing]))
            shown = printed
        return "".join(f"{line}\n" for line in (f"$ {command.text}", *shown))
