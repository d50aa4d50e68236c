"""`run -o FILE` and `--k`: reports for CI beside what the terminal shows."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from capitals import capitals_project
from driving import drive, line_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return capitals_project(tmp_path)


def test_files_are_written_beside_the_terminal_report(project: Path) -> None:
    done = drive(project, "run", "suite.yaml", "-o", "x.json", "-o", "x.xml", "--k", "1,2")
    assert done.code == 1
    assert line_of(done, "in 2 tries")
    report = json.loads((project / "x.json").read_text())["eval_report"]
    assert {name for name in report["metrics"] if name.startswith("pass_")} == {
        "pass_rate",
        "pass_at_1",
        "pass_hat_1",
        "pass_at_2",
        "pass_hat_2",
        "pass_hat_2_plugin",
    }
    assert len(report["trials"]) == 6
    assert [advice["cases"] for advice in report["recommendations"]] == [["peru"]]
    [suite] = ElementTree.parse(project / "x.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")


def test_a_run_without_so_many_trials_knows_no_such_k(project: Path) -> None:
    done = drive(project, "run", "suite.yaml", "--k", "5", "--json")
    assert done.report["metrics"]["pass_at_5"] is None
    assert "pass_at_5" not in done.report["measurements"]


@pytest.mark.parametrize("written", ["0", "a", "1,x", "-1", "1.5"])
def test_k_must_be_whole_numbers_from_one_on(project: Path, written: str) -> None:
    done = drive(project, "run", "suite.yaml", "--k", written)
    assert done.code == 2
    assert "whole numbers from 1 to 1,000,000" in done.err
    assert not (project / ".evalharness").exists()


@pytest.mark.parametrize("path", ["x.txt", "missing/x.json", "."])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_run(project: Path, path: str) -> None:
    done = drive(project, "run", "suite.yaml", "-o", path)
    assert done.code == 2
    assert f"-o {path}" in done.err
    assert not (project / ".evalharness").exists()


def test_a_file_of_somebody_else_is_not_written_over(project: Path) -> None:
    (project / "package.json").write_text('{"name": "mine"}')
    done = drive(project, "run", "suite.yaml", "-o", "package.json")
    assert (done.code, "is no report of ours" in done.err, done.out) == (2, True, "")
    assert (project / "package.json").read_text() == '{"name": "mine"}'
    for _ in range(2):
        assert drive(project, "run", "suite.yaml", "-o", "report.json").code == 1


def test_advice_stands_after_the_failures_and_is_silent_when_all_is_well(project: Path) -> None:
    lines = drive(project, "run", "suite.yaml").out.splitlines()
    [advice] = [number for number, line in enumerate(lines) if line.startswith("advice")]
    assert "fails in every trial" in lines[advice]
    assert lines[advice].endswith("(peru)")
    assert advice > next(number for number, line in enumerate(lines) if "FAILED peru" in line)
    assert "advice" not in drive(project, "run", "suite.yaml", "--target", "agent.py:right", "--repeat", "1").out
