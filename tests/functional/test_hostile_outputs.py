"""Whatever a target answers, prints or raises: nothing that a terminal obeys leaves the command, in any format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driving import drive, drive_fresh, write

from evalharness import Harness

HOSTILE = "\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\x00\x08\x7f\x85\u202eevil\u2066\u200f"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
AGENT = f"""
import sys
from evalharness import Answer
BAD = {HOSTILE!r}

def answer(text):
    print(BAD)
    print(BAD, file=sys.stderr)
    if text == "raise":
        raise ValueError(BAD)
    said = {{"said": BAD, BAD: 1}} if text == "data" else BAD
    calls = ({{"name": BAD, "arguments": BAD, "result": BAD}},)
    return Answer(output=said, messages=({{"role": BAD, "content": BAD}},), tool_calls=calls)

def check(context):
    raise RuntimeError(BAD)
"""
LOUD = "target: agent.py:answer\ntest_cases: [{id: a, input: x, expected: x}]\n"
SUITE = """
name: "hostile"
target: agent.py:answer
trials: 2
test_cases:
  - {id: text, name: "\\e[31mname", input: text, expected: right, category: "\\e[31mkind"}
  - {id: data, input: data, expected: {json_equals: {a: 1}}}
  - {id: raises, input: raise, expected: right}
  - {id: broken, input: text, graders: [agent.py:check]}
reporting: {format: [json, markdown, junit, csv, jsonl]}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = write(tmp_path_factory.mktemp("hostile"), agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    drive(project, "run", "suite.yaml", "--run-name", "first")
    drive(project, "run", "suite.yaml", "--run-name", "second", "--target", "echo")
    return project


@pytest.mark.parametrize(
    "words",
    [
        "run suite.yaml",
        "run suite.yaml --json",
        "run suite.yaml -vv",
        "show first",
        "show first -vv",
        "show first text",
        "show first --failed",
        "show first --failed --json",
        "show first --json",
        *(f"report first second --format {name}" for name in ("terminal", "markdown", "json", "junit", "csv", "jsonl")),
        *(f"report first --format {name}" for name in ("terminal", "markdown", "json", "junit", "csv", "jsonl")),
        *(f"export first --what grades --format {name}" for name in ("csv", "jsonl", "json")),
        "compare second first",
        "compare second first -v",
        "compare second first --json",
        "gate first --fail-under 50 --json",
        "verify first",
        "regrade first",
        "runs",
    ],
)
def test_nothing_printed_is_obeyed(words: str, project: Path) -> None:
    """On stderr neither, where what the target prints is passed on."""
    done = drive(project, *words.split())
    assert done.code in (0, 1, 3), done.both
    assert not OBEYED.findall(done.both)


def test_what_a_target_prints_is_passed_on_without_orders_and_kept_as_it_is(tmp_path: Path) -> None:
    agent = "def answer(text):\n    print('a\\x1b[31mred\\x1b[0m', end='')\n    print('10 %\\r20 %')\n    return text\n"
    write(tmp_path, agent_py=agent, suite_yaml=LOUD, pyproject_toml="")
    done = drive_fresh(tmp_path, "run", "suite.yaml")
    assert (done.code, done.err) == (0, "ared10 %\r20 %\n"), done.both
    with Harness.open(tmp_path / ".evalharness" / "store.db") as harness:
        [trial] = harness.load_run("latest").trials
    assert trial.last.transcript is not None
    assert trial.last.transcript.stdout == "a\x1b[31mred\x1b[0m10 %\r20 %\n"


def test_nothing_in_a_file_is_obeyed(project: Path) -> None:
    endings = ("json", "md", "xml", "csv", "jsonl")
    outputs = [word for ending in endings for word in ("-o", f"x.{ending}")]
    drive(project, "run", "suite.yaml", *outputs, "--save-sessions", "saved")
    drive(project, "compare", "second", "first", "-o", "d.md", "-o", "d.json")
    files = [*project.glob("[xd].*"), *(project / "results" / "latest").iterdir(), *project.glob("saved/*.json")]
    assert len(files) > 12
    for file in files:
        assert not OBEYED.findall(file.read_text()), file
