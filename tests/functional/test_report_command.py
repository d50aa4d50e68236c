"""`report`: any report from stored runs and report files. `export`: their trials and grades as data."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from capitals import capitals_project
from driving import drive, start, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = capitals_project(tmp_path)
    assert drive(project, "run", "suite.yaml", "--run-name", "first").code == 1
    return project


def test_a_format_that_is_unknown_is_called_a_format(project: Path) -> None:
    done = drive(project, "report", "latest", "--format", "markdwn")
    assert (done.code, "unknown format 'markdwn'. Did you mean 'markdown'?" in done.err) == (2, True), done.both


def test_what_is_no_report_says_how_to_write_one_and_sets_no_baseline(project: Path) -> None:
    (project / "notes.json").write_text("not JSON")
    for words in (("report", "notes.json"), ("compare", "notes.json", "latest")):
        done = drive(project, *words)
        assert (done.code, "write one: eval-harness report RUN -o FILE.json" in done.err) == (2, True), done.both


class TestReport:
    def test_without_a_format_it_prints_markdown_and_judges_nothing(self, project: Path) -> None:
        done = drive(project, "report", "latest")
        assert (done.code, done.err) == (0, "")
        assert "## ✗ FAILED: capitals" in done.out
        assert "- [ ] peru (FAILED 0/2)\n  - Expected: Lima\n  - Actual: Cusco\n" in done.out
        assert "- [x] france: The Capital of France" in done.out

    def test_a_format_that_does_not_exist_is_refused_as_the_flag_calls_it(self, project: Path) -> None:
        for output in ([], ["-o", "report.txt"]):
            done = drive(project, "report", "first", "--format", "markdwn", *output)
            assert done.code == 2
            assert "unknown format 'markdwn'. Did you mean 'markdown'?" in done.err

    def test_a_flag_wins_over_the_ending_and_that_over_the_variable(self, project: Path) -> None:
        env = {"EVALHARNESS_REPORT_FORMAT": "junit"}
        assert drive(project, "report", "first", env=env).out.startswith("<?xml")
        assert drive(project, "report", "first", "-o", "a.json", "-o", "a.txt", env=env).code == 0
        assert "eval_report" in json.loads((project / "a.json").read_text())
        assert ElementTree.parse(project / "a.txt").getroot().tag == "testsuites"
        assert drive(project, "report", "first", "--format", "markdown", "-o", "b.json", env=env).code == 0
        assert (project / "b.json").read_text().startswith("<!-- eval-harness report -->")

    @pytest.mark.parametrize("ending", ["json", "md", "xml", "csv", "jsonl"])
    def test_run_and_report_write_the_same_file_and_replace_it(self, project: Path, ending: str) -> None:
        file = project / f"x.{ending}"
        assert drive(project, "run", "suite.yaml", "-o", file.name, "--run-name", "second").code == 1
        written = file.read_text()
        assert drive(project, "report", "second", "-o", file.name).code == 0
        assert file.read_text() == written
        file.write_text("mine")
        done = drive(project, "report", "second", "-o", file.name)
        assert (done.code, "contains something else" in done.err, file.read_text()) == (2, True, "mine")

    def test_several_runs_are_one_document(self, project: Path) -> None:
        drive(project, "run", "suite.yaml", "--target", "agent.py:later", "--run-name", "second")
        done = drive(project, "report", "first", "second")
        assert "| first | agent.py:answer | ✗ FAILED |" in done.out
        assert "| Case | agent.py:answer | agent.py:later |" in done.out
        assert "| peru | ✗ 0/2 Cusco | ✓ |" in done.out
        both = json.loads(drive(project, "report", "-2", "-1", "--format", "json").out)["eval_reports"]
        assert [report["metadata"]["run_name"] for report in both] == ["first", "second"]

    def test_a_report_file_is_as_good_as_its_run(self, project: Path) -> None:
        drive(project, "report", "first", "first", "-o", "two.json")
        (project / ".evalharness" / "store.db").unlink()
        done = drive(project, "report", "two.json")
        assert (done.code, done.out.count("FAILED 0/2")) == (0, 2)
        rows = list(csv.DictReader(io.StringIO(drive(project, "export", "two.json").out)))
        assert [row["output"] for row in rows if row["case_id"] == "peru"] == ["Cusco"] * 4

    def test_a_baseline_of_several_runs_is_all_of_them(self, project: Path) -> None:
        drive(project, "run", "suite.yaml", "--run-name", "second")
        assert drive(project, "baseline", "set", "first", "second").code == 0
        assert "2 runs" in drive(project, "report", "default").out.splitlines()[1]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("nobody",), "unknown run 'nobody'"),
            (("first", "--format", "markdwn"), "Did you mean 'markdown'?"),
            (("first", "-o", "x.foo"), "no report format has the ending '.foo'"),
            ((), "RUN"),
            (("gone.json",), "there is no file gone.json"),
            (("first", "-o", ".", "--format", "json"), "is a folder"),
            (("first", "-o", "pipe", "--format", "json"), "is not a regular file"),
        ],
    )
    def test_wrong_usage_is_exit_code_2(self, project: Path, words: tuple[str, ...], said: str) -> None:
        os.mkfifo(project / "pipe")
        done = drive(project, "report", *words)
        assert (done.code, said in done.err, done.out) == (2, True, ""), done.both

    def test_a_report_never_overwrites_what_it_is_made_of(self, project: Path) -> None:
        drive(project, "report", "first", "-o", "x.json")
        assert drive(project, "report", "x.json", "-o", "x.json").code == 2
        assert drive(project, "export", "x.json", "-o", "x.json").code == 2

    def test_an_output_that_cannot_be_written_is_exit_code_3(self, project: Path) -> None:
        full = os.open("/dev/full", os.O_WRONLY)
        try:
            for command in ("report", "export"):
                with start(project, command, "first", stdout=full) as started:
                    done = started.wait()
                    assert (done.code, done.err) == (
                        3,
                        "error: the output cannot be written: No space left on device\n",
                    )
        finally:
            os.close(full)

    def test_details_are_left_out_on_request(self, project: Path) -> None:
        for name in ("markdown", "json", "junit", "csv", "jsonl"):
            shown = drive(project, "report", "first", "--format", name)
            hidden = drive(project, "report", "first", "--format", name, "--no-details")
            assert (shown.code, hidden.code) == (0, 0)
            assert "Cusco" in shown.out, name
            assert "Cusco" not in hidden.out, name
            assert "first" in hidden.out

    def test_a_report_without_details_can_still_be_verified_and_compared(self, project: Path) -> None:
        drive(project, "report", "first", "--no-details", "-o", "x.json")
        assert drive(project, "verify", "x.json").code == 0
        assert "NO REGRESSION" in drive(project, "compare", "x.json", "first", "--margin", "99%").out


class TestExport:
    def test_one_row_per_trial_or_per_grade(self, project: Path) -> None:
        trials = list(csv.DictReader(io.StringIO(drive(project, "export", "first").out)))
        assert len(trials) == 6
        assert trials[0] | {"duration_s": "", "seed": "", "run_id": ""} == {
            "run_id": "",
            "run_name": "first",
            "suite_name": "capitals",
            "variant": "agent.py:answer",
            "run_verdict": "FAILED",
            "case_id": "france",
            "category": "europe",
            "difficulty": "",
            "trial": "1",
            "state": "passed",
            "first_state": "passed",
            "score": "1.0",
            "reason": "",
            "cause": "",
            "output": "Paris",
            "duration_s": "",
            "cost_usd": "",
            "input_tokens": "",
            "output_tokens": "",
            "attempts": "1",
            "seed": "",
        }
        words = ("export", "first", "--what", "grades", "--format", "jsonl")
        grades = [json.loads(line) for line in drive(project, *words).out.splitlines()]
        peru = next(grade for grade in grades if grade["case_id"] == "peru")
        assert (peru["grader"], peru["state"], peru["evidence"]) == (
            "exact",
            "fail",
            {"expected": "Lima", "actual": "Cusco"},
        )

    def test_the_ending_of_the_file_is_the_format(self, project: Path) -> None:
        assert drive(project, "export", "first", "-o", "x.csv", "-o", "x.jsonl", "-o", "x.json").code == 0
        rows = json.loads((project / "x.json").read_text())
        assert rows == [json.loads(line) for line in (project / "x.jsonl").read_text().splitlines()]
        assert [row["trial"] for row in rows] == [1, 2, 1, 2, 1, 2]
        assert drive(project, "export", "first", "-o", "x.json").code == 0, "a file of its own is replaced"
        assert drive(project, "export", "first", "-o", "x.md").code == 2

    def test_a_spreadsheet_computes_nothing_that_was_answered(self, tmp_path: Path) -> None:
        answers = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "-5", "+3.5e2", "fine", "'=1"]
        agent = f"ANSWERS = {answers!r}\ndef answer(number):\n    return ANSWERS[int(number)]\n"
        cases = [{"id": f"c{number}", "input": str(number), "expected": "x"} for number in range(len(answers))]
        suite = json.dumps({"name": "a", "target": "agent.py:answer", "test_cases": cases})
        write(tmp_path, agent_py=agent, suite_yaml=suite, pyproject_toml="")
        drive(tmp_path, "run", "suite.yaml")
        rows = list(csv.DictReader(io.StringIO(drive(tmp_path, "export", "latest").out)))
        shown = {row["case_id"]: row["output"] for row in rows}
        assert [shown[f"c{number}"] for number in range(len(answers))] == [
            "'=cmd|' /C calc'!A0",
            "'+1+1",
            "'-1+1",
            "'@SUM(A1)",
            "'\t=1",
            "'=1",
            "-5",
            "+3.5e2",
            "fine",
            "'=1",
        ]
        as_json = drive(tmp_path, "export", "latest", "--format", "json").json
        assert {row["output"] for row in as_json} == set(answers), "a program gets what was answered"
