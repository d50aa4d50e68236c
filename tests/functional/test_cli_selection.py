"""Which cases `eval-harness run` runs, how often, how many at a time, and when it stops early."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from capitals import capitals_project
from driving import drive, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return capitals_project(tmp_path)


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["--only", "FR*"], {"france"}),
        (["--only", "capital of"], {"france"}),
        (["--only", "SUITE.y*"], {"france", "peru", "japan"}),
        (["--only", "p?ru", "--only", "japan"], {"peru", "japan"}),
        (["--tag", "quick"], {"france", "japan"}),
        (["--tag", "quick", "--tag", "am", "--only", "UIT"], {"france", "peru", "japan"}),
        (["--category", "capability", "--category", "america"], {"peru", "japan"}),
        (["--category", "asia"], {"japan"}),
        (["--category", "CAPABILITY", "--category", "America"], {"peru", "japan"}),
        (["--difficulty", "Hard"], {"peru"}),
        (["--difficulty", "easy", "--difficulty", "hard", "--tag", "am"], {"peru"}),
        (["--limit", "2"], {"france", "peru"}),
    ],
)
def test_choosing_cases(project: Path, words: list[str], chosen: set[str]) -> None:
    done = drive(project, "run", "--suite", "suite.yaml", "--target", "oracle", "--json", *words)
    assert set(done.states()) == chosen


def test_what_nothing_matches_is_told_with_names_in_quotes(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml="test_cases: [{id: my case, input: x, expected: x}, {id: other, input: x, expected: x}]")
    done = drive(tmp_path, "run", "suite.yaml", "--target", "oracle", "--only", "no such", "--difficulty", "hard")
    assert done.code == 2
    assert "no case of suite.yaml matches the name 'no such' and the difficulty 'hard'" in done.err
    assert "cases: 'my case', other" in done.err


def test_only_what_failed_last_time(project: Path) -> None:
    assert "has not been run before" in drive(project, "run", "suite.yaml", "--failed").err
    first = drive(project, "run", "suite.yaml", "--trials", "1", "--json")
    name = first.run_name

    assert set(drive(project, "run", "--failed", "suite.yaml", "--json").states()) == {"peru"}
    passed = drive(project, "run", "suite.yaml", "--json", "--target", "oracle", "--failed")
    assert set(passed.states()) == {"peru"}
    nothing = drive(project, "run", "suite.yaml", "--target", "oracle", "--failed")
    assert (nothing.code, "every case passed" in nothing.err) == (0, True)
    named = drive(project, "run", "suite.yaml", "--json", "--failed", name, "--target", "oracle")
    assert set(named.states()) == {"peru"}


def test_how_often_and_how_many_at_a_time(project: Path) -> None:
    write(
        project,
        counting_py="""
import asyncio, os, time
active = most = 0
deadline = time.monotonic() + 30
async def answer(country):
    global active, most
    active += 1
    most = max(most, active)
    while most < int(os.environ["WANTED"]) and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    active -= 1
    return str(most)
""",
    )
    cpus = str(os.cpu_count() or 1)
    for words, trials, most in (
        (("--repeat", "4", "-c", "3"), 12, "3"),
        (("--trials", "3", "-j", "0"), 9, cpus),
        (("--epochs", "1", "--max-concurrency", "1"), 3, "1"),
    ):
        counted = ("run", "suite.yaml", "--target", "counting.py:answer", "--json")
        done = drive(project, *counted, *words, env={"WANTED": most})
        outputs = [trial["output"] for trial in done.report["trials"]]
        assert len(outputs) == trials
        assert max(outputs, key=int) == most, words


def test_stopping_after_failures(project: Path) -> None:
    words = ("run", "suite.yaml", "--target", "null", "--repeat", "20", "-j", "1", "--max-failures", "3", "--json")
    done = drive(project, *words)
    trials = done.report["summary"]["trials"]

    assert done.code == 1
    assert trials["failed"] == 3
    assert trials["planned"] == 60 == trials["failed"] + trials["pending"]
