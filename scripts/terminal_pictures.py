"""Draws docs/images/terminal-*.svg: real commands on a real terminal, at 80 and 120 columns, dark and light.

    .venv/bin/python scripts/terminal_pictures.py [SCENE...]

A picture whose text has not changed, apart from durations, is left alone. Nothing is loaded from elsewhere: the
reader's own monospaced font is used.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import unescape
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTHS = (80, 120)
ERASE_LINE = "\r\x1b[2K"
DURATIONS = r"\b[\d.]+ (?:µs|ms|s|min)\b"
PROGRESS = r"[\d.]+|[━─]+"
DIM, MUTED = "\x1b[2m", "\x1b[90m"
THEMES = {
    # background, line around it, muted; then black, red, green, yellow, blue, magenta, cyan, white
    "dark": ("#13161c #303643 #a3acba", "#1b1f27 #ff8f86 #63c987 #e6b450 #74c0e8 #dd9ae6 #8fb2ff #e5e8ee"),
    "light": ("#ffffff #d9dde4 #565e6c", "#ffffff #b3201b #146c35 #7f5300 #0b6085 #8a2b93 #2453b8 #1b1f27"),
}
TEMPLATE = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<style>
.{unique_id}-matrix {{
  font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
SLOW_AGENT = """\
import time


def answer(question):
    time.sleep(0.12)
    return "Lyon" if question.endswith(("7", "13")) else "Paris"
"""
SLOW_SUITE = "name: capitals\ntarget: agent.py:answer\ntrials: 5\ntest_cases:\n" + "".join(
    f"  - {{id: city-{number}, input: 'question {number}', expected: Paris}}\n" for number in range(1, 41)
)
BUSY_AGENT = """\
def answer(question):
    if "Peru" in question:
        raise ConnectionError("the server does not answer")
    return "Canberra" if "Australia" in question else "Paris"
"""
TWO_AGENTS = """\
CITIES = {"France": "Paris", "Australia": "Canberra", "Peru": "Lima"}


def small(question):
    return "Sydney" if "Australia" in question else "Paris"


def large(question):
    return next((city for country, city in CITIES.items() if country in question), "I do not know.")
"""
MATRIX_SUITE = """\
name: capitals
target: agent.py:small
trials: 4
test_cases:
  - {id: france, input: What is the capital of France?, expected: Paris}
  - {id: australia, input: What is the capital of Australia?, expected: Canberra}
  - {id: peru, input: What is the capital of Peru?, expected: {contains: Lima}}
  - {id: japan, input: What is the capital of Japan?, expected: {contains: Tokyo}}
"""
BROKEN_SUITE = """\
name: capitals
target: agent.py:anwser
trails: 4
test_cases:
  - {id: france, input: What is the capital of France?, expected: Paris}
  - {id: france, input: What is the capital of Peru?, expected: {contians: Lima}}
"""


@dataclass(frozen=True)
class Scene:
    """Commands in a copy of an example. The picture shows the last one, up to what the pattern `until` matches."""

    name: str
    example: str
    commands: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    until: str = ""


SCENES = (
    Scene("pass", "quick-start", ("run suite.yaml",)),
    Scene("fail", "failing", ("run suite.yaml",)),
    Scene("flaky", "failing", ("run suite.yaml --only peru --only france --repeat 10",)),
    Scene("error", "failing", ("run suite.yaml",), {"agent.py": BUSY_AGENT}),
    Scene("compare", "changed", ("run suite.yaml --target agent.py:before --target agent.py:after", "compare -2 -1")),
    Scene(
        "matrix",
        "failing",
        ("run suite.yaml --target agent.py:small --target agent.py:large",),
        {"suite.yaml": MATRIX_SUITE, "agent.py": TWO_AGENTS},
    ),
    Scene("validate", "failing", ("validate suite.yaml",), {"suite.yaml": BROKEN_SUITE}),
    Scene(
        "progress", "failing", ("run suite.yaml -j 4",), {"agent.py": SLOW_AGENT, "suite.yaml": SLOW_SUITE}, r"K9\d/200"
    ),
)


def main(wanted: list[str]) -> None:
    for scene in SCENES:
        if not wanted or scene.name in wanted:
            for width in WIDTHS:
                draw(scene, width)


def draw(scene: Scene, width: int) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / scene.example
        shutil.copytree(ROOT / "examples" / scene.example, folder)
        (folder / "pyproject.toml").write_text("")  # the store is in this folder
        for name, text in scene.files.items():
            (folder / name).write_text(text, encoding="utf-8")
        for command in scene.commands:
            printed = on_terminal(folder, command, width, scene.until)
    for theme in THEMES:
        path = IMAGES / f"terminal-{scene.name}-{width}-{theme}.svg"
        picture = svg(f"eval-harness {scene.commands[-1]}", printed, width, theme, path.stem)
        changing = PROGRESS if scene.until else DURATIONS
        if not path.exists() or words(path.read_text(encoding="utf-8"), changing) != words(picture, changing):
            path.write_text(picture, encoding="utf-8")


def on_terminal(folder: Path, command: str, width: int, until: str) -> str:
    """What a terminal of this width shows at the end, or as soon as this pattern matches: then it is interrupted."""
    program = Path(sys.executable).parent / "eval-harness"
    steady = os.pathsep.join([str(ROOT / "tests" / "goldens" / "steady"), str(ROOT / "src")])
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "xterm-256color"}
    env |= {"LANG": "C.UTF-8", "PYTHONPATH": steady}
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execve(program, ["eval-harness", *shlex.split(command)], env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    read = bytearray()
    while not (until and re.search(until, read.decode(errors="ignore"))) and (more := received(terminal)):
        read += more
    if until:
        os.kill(pid, signal.SIGINT)
        while received(terminal):
            pass
    os.waitpid(pid, 0)
    os.close(terminal)
    lines = read.decode(errors="ignore").replace("\r\n", "\n").split("\n")
    return "\n".join(line.rpartition(ERASE_LINE)[2] for line in lines).strip("\n")


def received(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


def svg(command: str, printed: str, width: int, theme: str, name: str) -> str:
    background, line, muted = THEMES[theme][0].split()
    normal = [rgb(colour) for colour in THEMES[theme][1].split()]
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.assemble(("$ ", "bright_black"), (command, "bold")))
    console.print(Text.from_ansi(printed.replace(DIM, MUTED)), soft_wrap=True)
    shades = TerminalTheme(rgb(background), normal[-1], normal, [rgb(muted), *normal[1:]])
    made = console.export_svg(title="", theme=shades, code_format=TEMPLATE, unique_id=name)
    made = made.replace("rgba(255,255,255,0.35)", line)
    return re.sub(r"[ \t]+$", "", re.sub(r"\n\s*\n+", "\n", made), flags=re.MULTILINE)


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def words(picture: str, changing: str) -> str:
    """The text of a picture without what is different each time."""
    text = unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", picture, flags=re.DOTALL)).replace("\xa0", " ")
    return " ".join(re.sub(changing, "…", text).split())


if __name__ == "__main__":
    main(sys.argv[1:])
