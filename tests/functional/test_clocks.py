"""Clocks that stop or jump: runs stay separate, and durations are never negative."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from driving import drive, drive_fresh, write
from missing_parts import missing

SUITE = "target: agent.py:answer\ntrials: 6\ntest_cases: [{id: a, input: x, expected: y}]\n"
AGENT = """
import os, pathlib, select, time
def answer(text, context):
    started = time.time()
    select.select([], [], [], 0.05)  # time.sleep does not work under faketime with a monotonic clock left alone
    if context.index == 2:
        pathlib.Path(os.environ["FAKETIME_TIMESTAMP_FILE"]).write_text("-1h")
    if context.index == 4:
        pathlib.Path(os.environ["FAKETIME_TIMESTAMP_FILE"]).write_text("+1h")
    with open("clock.txt", "a") as log:
        print(started, file=log)
    return "y"
"""


@pytest.fixture
def faketime() -> str:
    found = shutil.which("faketime")
    if found is None:
        missing("faketime", "scripts/debian-packages faketime")
    return found


def library(faketime: str) -> str:
    """The library that `faketime` preloads."""
    asked = [faketime, "-f", "+0", sys.executable, "-c", "import os; print(os.environ['LD_PRELOAD'])"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def test_a_clock_that_jumps_gives_no_negative_duration(tmp_path: Path, faketime: str) -> None:
    write(tmp_path, agent_py=AGENT, suite_yaml=SUITE)
    (tmp_path / "now").write_text("+0")
    env = {
        "LD_PRELOAD": library(faketime),
        "FAKETIME_TIMESTAMP_FILE": str(tmp_path / "now"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    done = drive_fresh(tmp_path, "run", "-j", "1", "--json", env=env)

    clock = [float(line) for line in (tmp_path / "clock.txt").read_text().split()]
    assert min(clock) < clock[0] - 3000, "the clock jumped back"
    assert max(clock) > clock[0] + 3000, "and forward"
    assert done.code == 0, done.both
    assert all(0.04 < trial["duration_s"] < 60 for trial in done.report["trials"])
    assert 0 < done.report["metadata"]["duration_seconds"] < 600


def test_a_day_is_the_same_for_every_command(tmp_path: Path, faketime: str) -> None:
    """Just before midnight in UTC, a clock far to the east already shows the next day."""
    held = "{case: a, reason: flaky, owner: Ada, expires: 2030-01-01}"
    suite = SUITE.replace("trials: 6", f"name: days\ngate: {{regression: true, quarantine: [{held}]}}")
    cases = "test_cases: [{id: a, input: x, expected: y}, {id: b, input: z, expected: z}]"
    write(tmp_path, suite_yaml=suite.partition("test_cases")[0] + cases, pyproject_toml="")
    env = {
        "LD_PRELOAD": library(faketime),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME": "2030-01-02 11:00:00",
        "TZ": "UTC-12",
    }
    first = drive_fresh(tmp_path, "run", "--target", "oracle", "--baseline", "none", "--json", env=env)
    assert first.report["metadata"]["timestamp"].startswith("2030-01-01T23:"), first.both
    drive_fresh(tmp_path, "baseline", first.run_name, env=env)
    gated = drive_fresh(tmp_path, "run", "--target", "oracle", "--json", env=env).report
    assert gated["gate"]["quarantined"] == ["a"]
    checked = drive_fresh(tmp_path, "regressions", "days", "--json", env=env).json["regressions"]
    assert checked["comparisons"][0]["n_cases"] == gated["comparison"]["n_cases"] == 1


def test_runs_of_one_second_keep_apart_and_in_order(tmp_path: Path, faketime: str) -> None:
    write(tmp_path, agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    env = {"LD_PRELOAD": library(faketime), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    moments = ("2030-01-01 12:00:00", "2030-01-01 12:00:00", "2029-01-01 12:00:00")
    reports = []
    for moment in moments:
        done = drive_fresh(tmp_path, "run", "--target", "oracle", "--json", env={**env, "FAKETIME": moment})
        assert done.code == 0, done.both
        reports.append(done.report)

    ids = [report["metadata"]["run_id"] for report in reports]
    assert len(set(ids)) == 3
    assert ids[0][:20] == ids[1][:20] == "eval-20300101-120000"
    assert [len(report["trials"]) for report in reports] == [6, 6, 6]
    listed = [row["run_id"] for row in drive(tmp_path, "runs", "--json").json["runs"]]
    assert listed == ids[::-1], "the newest run is the one that was started last, whatever the clock said"
