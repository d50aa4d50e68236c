"""A run in a terminal: a live bar as wide as the terminal, colours, and plain lines on request."""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import termios
from pathlib import Path
from typing import IO

import pytest
from driving import start, write

AGENT = r"""
import os, threading, time
lock = threading.Lock()
asked = 0
def answer(text):
    global asked
    with lock:
        asked += 1
        is_early = asked <= 4
    deadline = time.monotonic() + 30
    while not is_early and "SEEN" in os.environ and not os.path.exists("seen") and time.monotonic() < deadline:
        time.sleep(0.01)
    return "\x1b]0;pwned\x07\x1b[5m" + text
"""
SUITE = """
name: a suite with quite a long name that has to be cut somewhere
target: agent.py:answer
trials: 4
test_cases: [{id: a, input: yes, expected: {contains: yes}}, {id: b, input: yes, expected: {contains: no}}]
"""
BAR = re.compile("[━╸╺]+")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def watch(
    folder: Path, columns: int, *words: str, env: dict[str, str] | None = None, out: IO[bytes] | None = None
) -> tuple[int, str]:
    """Runs the command in a pseudo-terminal; returns its exit code and everything the terminal received.

    Its stdout goes to `out` instead, if given. The file `seen` tells the agent that four trials were shown.
    """
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    streams = {"stdin": theirs, "stdout": out.fileno() if out else theirs, "stderr": theirs}
    with start(folder, "run", *words, env={"TERM": "xterm-256color", **(env or {})}, **streams) as process:
        os.close(theirs)
        received = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux ends a pseudo-terminal with EIO
                break
            if not chunk:
                break
            received += chunk
            if b"4/8" in received:
                (folder / "seen").touch()
        os.close(ours)
        return process.wait().code, received.decode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path, agent_py=AGENT, suite_yaml=SUITE)


def test_the_bar_is_as_wide_as_the_terminal(project: Path) -> None:
    widths = {}
    for columns in (60, 120):
        code, screen = watch(project, columns, "-j", "2", env={"SEEN": "is awaited"})
        assert code == 1
        frames = [ESCAPES.sub("", frame) for frame in re.split(r"[\r\n]+", screen) if BAR.search(frame)]
        assert max(len(frame.rstrip()) for frame in frames) <= columns
        assert any("4/8" in frame for frame in frames), "the bar moves"
        (project / "seen").unlink()
        assert all("8" in frame and "…" in frame for frame in frames), "one line contains label, bar and counts"
        widths[columns] = max(len(BAR.search(frame)[0]) for frame in frames)  # type: ignore[index]
        assert "8 planned = 4 passed + 4 failed" in screen
        assert "\x1b[" in screen
        assert "\x1b]" not in screen, "the target's escape sequences do not reach the terminal"
        assert "\x1b[5m" not in screen
    assert widths[120] > widths[60] >= 5


@pytest.mark.parametrize("variable", ["NO_COLOR", "CI"])
def test_plain_lines_for_those_who_ask_for_them(project: Path, variable: str) -> None:
    code, screen = watch(project, 80, "--trials", "1", "--verbose", env={variable: "1"})

    assert code == 1
    assert "\x1b" not in screen
    assert "failed   b #1" in screen
    assert screen.count("running a suite") == 1


def test_with_json_the_bar_is_on_stderr(project: Path) -> None:
    with (project / "out.json").open("wb") as out:
        code, screen = watch(project, 80, "--json", "--trials", "2", out=out)

    assert code == 1
    assert BAR.search(screen)
    assert "eval_report" not in screen
    assert list(json.loads((project / "out.json").read_text())) == ["eval_report"]
