"""Programs and scripts that do not exist: only what is certain is reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalharness.errors import UnknownName
from evalharness.targets.command_words import Command
from evalharness.targets.missing_programs import missing_program

PATH = os.environ["PATH"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("bot.py", "bot.js", "bot.sh", "tool"):
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("python3 bott.py", "bott.py"),
        (("python3", "bott.py"), "bott.py"),
        ("python3 -u -B bott.py --fast {input}", "bott.py"),
        ("/usr/bin/env", None),
        ("sh -eu boot.sh", "boot.sh"),
        ("python3 bott.py | tee log", "bott.py"),
        ("python3 src/bott.py", "src/bott.py"),
        ("python3 /no/such/bott.py", "/no/such/bott.py"),
        ("sh ./boot.sh", "./boot.sh"),
    ],
)
def test_a_misspelt_script_is_named(root: Path, command: Command, script: str | None) -> None:
    wrong = missing_program(command, root, PATH, given=())
    assert (wrong.name if isinstance(wrong, UnknownName) else None) == script


def test_the_script_that_was_meant_is_suggested(root: Path) -> None:
    wrong = missing_program("python3 bott.py", root, PATH, given=())
    assert str(wrong) == f"no such script 'bott.py' in {root}. Did you mean 'bot.py'?"


@pytest.mark.parametrize("command", ["no-such-program", ("no-such-program", "x"), "/no/such/program", "./missing --x"])
def test_a_program_that_does_not_exist_is_named(root: Path, command: Command) -> None:
    wrong = missing_program(command, root, PATH, given=())
    assert wrong is not None
    assert "was not found" in wrong.message


@pytest.mark.parametrize(
    "command",
    [
        "python3 bot.py",
        "./tool",
        "tool",
        "sh bot.sh",
        "python3 -m bott.py",
        "python3 -c pass bott.py",
        "python3 -X dev bott.py",
        "python3 --version",
        "python3 bott",
        "python3 'bott.py'",
        'python3 "$HOME/bott.py"',
        "python3 ~/bott.py",
        "python3 *.py",
        "python3 {input}.py",
        "python3 {{script}}.py",
        "{{program}} bott.py",
        "cat bott.py",
        "sh -c 'python3 bott.py'",
        ("sh", "-c", "python3 bott.py"),
        "cd there && python3 bott.py",
        "FAST=1 python3 bott.py",
        "if true; then python3 bott.py; fi",
        "exec python3 bott.py",
        "(python3 bott.py)",
        ". ./environment; python3 bott.py",
        "env python3 bott.py",
        "timeout 5 python3 bott.py",
        ("python3", "bot.py", "bott.py"),
        ("python3", "my bot.py"),
    ],
)
def test_what_may_be_right_is_never_a_problem(root: Path, command: Command) -> None:
    assert missing_program(command, root, PATH, given=()) is None


@pytest.mark.parametrize("command", ["python3 bott.py", "python3 ./bott.py", "./bott.py", ("./bott.py",)])
def test_a_file_that_the_cases_bring_is_there(root: Path, command: Command) -> None:
    assert missing_program(command, root, PATH, given=None) is None
    assert missing_program(command, root, PATH, given={"bott.py"}) is None
    assert missing_program(command, root, PATH, given={"other.py"}) is not None
