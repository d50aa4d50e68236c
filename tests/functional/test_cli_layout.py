"""What commands print in a terminal: no line is wider than it, no word is split, and the answer comes first."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios
from pathlib import Path

import pytest
from driving import drive, drive_run, start, write

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CASES = "".join(f"  - {{id: a-case-with-quite-a-long-name-{n}, input: '{n}', expected: '{n}'}}\n" for n in range(12))
SUITE = f"name: a-suite-whose-name-is-long-enough-to-be-cut\ntarget: agent.py:answer\ntrials: 4\ntest_cases:\n{CASES}"
AGENT = """
def answer(text):
    return text

def a_function_whose_name_is_long_enough_to_be_cut(text):
    return text if text in "12345" else "a wrong answer that takes more room than there is in a line of the terminal"
"""
AGES = ("just", "now", "1", "min", "ago")
WORSE = "agent.py:a_function_whose_name_is_long_enough_to_be_cut"


def seen(folder: Path, columns: int, *words: str) -> list[str]:
    """The lines that a terminal of this width shows, without colours."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    received = b""
    with start(folder, *words, env={"TERM": "xterm-256color"}, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # Linux ends a pseudo-terminal with EIO
                break
            if not chunk:
                break
            received += chunk
        os.close(ours)
        process.wait()
    return ESCAPES.sub("", received.decode()).replace("\r", "").splitlines()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    folder = write(tmp_path_factory.mktemp("layout"), agent_py=AGENT, suite_yaml=SUITE, pyproject_toml="")
    good = drive_run(folder).run_name
    drive(folder, "baseline", good)
    bad = drive_run(folder, "--baseline", "none", target=WORSE).run_name
    (folder / "broken.yaml").write_text(
        SUITE.replace("trials: 4", "trails: 4\nretries: many") + "  - {id: x, graders: [{contain: a}]}\n"
    )
    return folder, good, bad


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "words",
    [
        "compare default BAD",
        "compare default BAD -v",
        "compare BAD default",
        "compare default default",
        "regressions SUITE",
        "regressions SUITE --threshold 0.1 -v",
        "runs",
        "validate .",
        "run broken.yaml",
        "list-suites",
        "plan suite.yaml",
        "plan suite.yaml -v",
        "verify BAD",
        "selftest suite.yaml",
    ],
)
def test_every_line_fits_and_no_word_is_split(project: tuple[Path, str, str], columns: int, words: str) -> None:
    folder, _, bad = project
    suite = "a-suite-whose-name-is-long-enough-to-be-cut"
    asked = [{"BAD": bad, "SUITE": suite}.get(word, word) for word in words.split()]
    lines = seen(folder, columns, *asked)
    wide = [line for line in lines if len(line) > columns and "eval-harness " not in line]
    assert not wide, "only commands may be longer, so that they can be copied"
    known = {*drive(folder, *asked).both.split(), *AGES}
    split = [word for line in lines for word in line.split() if word not in known and "…" not in word]
    assert not split


def test_a_comparison_begins_with_its_verdict_and_ends_with_a_command(project: tuple[Path, str, str]) -> None:
    folder, good, bad = project
    lines = drive(folder, "compare", "default", bad).out.splitlines()
    assert re.fullmatch(r"REGRESSION   100 % → \d+ %   −\d+ points \(95 % CI −\d+ to −\d+\)   p [=<] 0\.\d+", lines[0])
    assert lines[1] == ""
    assert lines[2:4] == [
        f"before   {good.ljust(max(len(good), len(bad)))}   {'agent.py:answer'.ljust(len(WORSE))}   baseline default",
        f"now      {bad.ljust(max(len(good), len(bad)))}   {WORSE}   12 cases × 4 trials",
    ]
    assert lines[5].startswith("✗ a-case-with-quite-a-long-name-") and "   4/4 → 0/4   " in lines[5]
    assert lines[-1].startswith(f"look     eval-harness show {bad} a-case-")
    brief = drive(folder, "compare", "default", bad, "-q").out
    assert brief == lines[0] + "\n"
    assert len(drive(folder, "compare", "default", bad, "-v").out.splitlines()) > len(lines)
    assert drive(folder, "compare", "default", bad, "-v", "-q").code == 2


def test_runs_show_verdict_pass_rate_target_and_age(project: tuple[Path, str, str]) -> None:
    folder, good, bad = project
    failed, passed = drive(folder, "runs").out.splitlines()
    assert re.match(rf"✗ FAILED  {bad} +a-suite-\S+-cut  \d+ % \(\d+–\d+\) +12 cases  {WORSE}  \d{{4}}-\S+Z$", failed)
    assert re.match(
        rf"✓ PASSED  {good} +a-suite-\S+-cut  100 % \(\d+–100\) +12 cases  agent.py:answer +\d{{4}}-\S+Z$", passed
    )
    narrow = seen(folder, 80, "runs")
    assert narrow[0].startswith(f"✗ FAILED  {bad} ") and " …" in narrow[0] and narrow[0].endswith(("just now", " min"))


def test_runs_show_the_number_of_cases_where_nothing_else_has_to_give_way(tmp_path: Path) -> None:
    suite = "name: small\ntarget: oracle\ntest_cases: [{id: a, input: hi, expected: hello}]\n"
    write(tmp_path, suite_yaml=suite, pyproject_toml="")
    assert drive(tmp_path, "run", "suite.yaml").code == 0
    assert re.match(r"✓ PASSED  \S+ +small  100 % \(\d+–100\)  1 case  oracle  just now", seen(tmp_path, 80, "runs")[0])
    assert "1 case" not in seen(tmp_path, 60, "runs")[0]


def test_runs_can_be_limited_to_a_suite_and_a_number(project: tuple[Path, str, str]) -> None:
    folder, good, bad = project
    name = "a-suite-whose-name-is-long-enough-to-be-cut"
    rows = drive(folder, "runs", "--suite", name, "--json").json["runs"]
    assert [(row["run_name"], row["verdict"], row["variant"]) for row in rows] == [
        (bad, "FAILED", WORSE),
        (good, "PASSED", "agent.py:answer"),
    ]
    assert {row["suite_name"] for row in rows} == {name} and rows[1]["pass_rate"] == 1 and rows[1]["cases"] == 12
    assert all(row["run_id"].startswith("eval-") and row["timestamp"].endswith("Z") for row in rows)
    assert drive(folder, "runs", "--limit", "1").out.splitlines()[1] == "1 more; list them all: --limit 2"
    unknown = drive(folder, "runs", "--suite", name[:-1])
    assert f"error: unknown suite '{name[:-1]}'" in unknown.err
    assert (unknown.code, f"Did you mean '{name}'" in unknown.err) == (2, True)


def test_a_project_without_runs_says_how_to_start_one(tmp_path: Path) -> None:
    assert drive(tmp_path, "runs").out == "no runs yet; start one: eval-harness run SUITE\n"
    assert drive(tmp_path, "runs", "--suite", "any").code == 0


def test_runs_side_by_side_use_the_width_there_is(tmp_path: Path) -> None:
    reason = "contains: 'Lima' not in 'Cuzco!'"
    agent = 'def one(text): return "Cuzco!"\ndef other(text): return "Lima"\n'
    suite = "name: capitals\ntest_cases:\n  - {id: peru, input: Peru?, expected: {contains: Lima}}\n"
    write(tmp_path, agent_py=agent, suite_yaml=suite, pyproject_toml="")
    words = ("run", "suite.yaml", "--target", "agent.py:one", "--target", "agent.py:other")
    narrow, wide = (seen(tmp_path, columns, *words) for columns in (80, 120))
    assert not any(reason in line for line in narrow)
    assert any(reason in line and line.endswith("✓ passed") for line in wide)
