"""Every command in its own interpreter: it imports everything it needs, and prints what the other tests see."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from capitals import capitals_project
from driving import Outcome, clean_environment, drive, drive_fresh, write

from evalharness.cli.main import COMMANDS

WORDS = {
    "init": ["new"],
    "validate": ["suite.yaml"],
    "run": ["suite.yaml"],
    "regrade": ["--json"],
    "runs": ["--json"],
    "show": ["--json"],
    "import": ["table.csv"],
    "store": ["prune", "--older-than", "30d"],
    "serve": ["--host", "0.0.0.0"],  # refused: it would not end by itself
}
MEASURED = ("slowest", "latency")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one stored run."""
    folder = capitals_project(tmp_path_factory.mktemp("fresh") / "project")
    write(folder, table_csv="input,expected\nFrance,Paris\n")
    assert drive(folder, "run", "suite.yaml").code == 1
    return folder


def timeless(text: str) -> list[str]:
    """Its lines in any order, without what differs between runs: names, times, durations."""
    same = re.sub(r"[a-z]+-[a-z]+-\d+|eval-[\w-]+|\d{4}-\d\d-\d\d\S*|[\d.]+ m?s\b|\d+\.\d+(e-\d+)?", "…", text)
    return sorted(line.rstrip(",") for line in same.splitlines() if not line.startswith(MEASURED))


def outcome_of(done: Outcome) -> tuple[int, list[str], list[str]]:
    return done.code, timeless(done.out), timeless(done.err)


@pytest.mark.parametrize("command", COMMANDS)
def test_it_says_what_a_fresh_interpreter_says(project: Path, command: str) -> None:
    told = []
    for driven in (drive_fresh, drive):
        copied = project.parent / "copied"
        shutil.copytree(project, copied)
        told.append(outcome_of(driven(copied, command, *WORDS.get(command, []))))
        shutil.rmtree(copied)
    assert told[0] == told[1]
    assert not [line for line in told[0][2] if line.startswith("Traceback")]


def test_a_plain_run_imports_neither_sandboxes_nor_models(project: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "evalharness", "run", "suite.yaml", "--store", ":memory:"]
    env = clean_environment(project)
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    imported = re.findall(r"\| +(evalharness\.(?:sandboxes|llms)\.\S+)", done.stderr)
    assert (done.returncode, imported) == (1, [])
