"""`run -o FILE` and `--k`: reports for CI in addition to the terminal's."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from capitals import capitals_project
from driving import drive, line_of, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return capitals_project(tmp_path)


def test_files_are_written_beside_the_terminal_report(project: Path) -> None:
    done = drive(project, "run", "suite.yaml", "-o", "x.json", "-o", "x.xml", "--k", "1,2", "-v")
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
    [advice], [found] = report["recommendations"], report["findings"]
    assert advice == found["text"] and advice.startswith("1 case fails in every trial")
    assert (found["kind"], found["cases"]) == ("never", ["peru"])
    assert (found["code"], found["params"], found["severity"]) == ("advice.never_passes", {"number": 1}, "warning")
    assert (report["why"]["code"], report["why"]["text"]) == ("run.cases_failed", "1 case failed")
    [suite] = ElementTree.parse(project / "x.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")


def test_a_run_without_so_many_trials_knows_no_such_k(project: Path) -> None:
    done = drive(project, "run", "suite.yaml", "--k", "5", "--json")
    assert done.report["metrics"]["pass_at_5"] is None
    assert done.report["measurements"]["pass_at_5"]["value"] is None


@pytest.mark.parametrize("written", ["0", "a", "1,x", "-1", "1.5", "", "1,,3"])
def test_k_must_be_whole_numbers_from_one_on(project: Path, written: str) -> None:
    done = drive(project, "run", "suite.yaml", "--k", written)
    assert done.code == 2
    assert "integers from 1 to 1,000,000" in done.err
    assert not (project / ".evalharness").exists()


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x.txt", "no report format has the ending '.txt'"),
        ("agent.py/x.json", "is not a folder"),
        (".", "is a folder"),
        (f"{'x' * 300}.json", "name too long"),
    ],
)
def test_a_file_that_cannot_be_written_is_reported_before_anything_is_run(project: Path, path: str, said: str) -> None:
    done = drive(project, "run", "suite.yaml", "-o", path)
    assert done.code == 2
    assert f"error: {path}" in done.err and said in done.err
    assert not (project / ".evalharness").exists()


@pytest.mark.parametrize(("answer", "code"), [("wrong", 1), ("right", 3)])
def test_a_file_that_cannot_be_written_in_the_end_never_hides_a_failure(tmp_path: Path, answer: str, code: int) -> None:
    """The target takes the place of the folder that the report was to be written into."""
    agent = f"def answer(text):\n    open('out', 'w').close()\n    return {answer!r}\n"
    suite = "name: a\ntarget: agent.py:answer\ntest_cases: [{id: a, input: x, expected: right}]"
    write(tmp_path, agent_py=agent, suite_yaml=suite, pyproject_toml="")
    done = drive(tmp_path, "run", "suite.yaml", "-o", "out/report.json")
    assert (done.code, "error: out: " in done.err) == (code, True), done.both


def test_a_file_of_another_program_is_not_overwritten(project: Path) -> None:
    (project / "package.json").write_text('{"name": "mine"}')
    done = drive(project, "run", "suite.yaml", "-o", "package.json")
    assert (done.code, "contains something else" in done.err, done.out) == (2, True, "")
    assert (project / "package.json").read_text() == '{"name": "mine"}'
    for _ in range(2):
        assert drive(project, "run", "suite.yaml", "-o", "report.json").code == 1


def test_advice_comes_after_the_failures_and_is_silent_when_all_is_well(project: Path) -> None:
    lines = drive(project, "run", "suite.yaml", "-v").out.splitlines()
    [advice] = [number for number, line in enumerate(lines) if line.startswith("advice")]
    assert "fails in every trial" in lines[advice]
    assert lines[advice].endswith("(peru)")
    assert advice > next(number for number, line in enumerate(lines) if line.startswith("✗ peru"))
    assert "advice" not in drive(project, "run", "suite.yaml", "--target", "agent.py:right", "--repeat", "1", "-v").out


class TestAReportOfAnEarlierRun:
    """It is never mistaken for the report of a run that broke. A command that cannot begin changes no file."""

    @pytest.fixture
    def files(self, project: Path) -> list[Path]:
        drive(project, "run", "suite.yaml", "-o", "x.json", "-o", "x.xml")
        drive(project, "run", "suite.yaml", "-o", "base.json")
        assert (project / "x.json").is_file() and (project / "x.xml").is_file()
        return [project / "x.json", project / "x.xml"]

    @pytest.mark.parametrize(
        ("target", "code"),
        [("nobody.py:answer", 2), ("agent.py:nobody", 2), ("cmd:/no/such/program", 2), ("broken.py:answer", 3)],
    )
    def test_stays_where_the_target_cannot_be_had(
        self, project: Path, files: list[Path], target: str, code: int
    ) -> None:
        (project / "broken.py").write_text("import no_such_module_at_all")
        before = [file.read_bytes() for file in files]
        done = drive(project, "run", "suite.yaml", "--target", target, "-o", "x.json", "-o", "x.xml")
        assert (done.code, [file.read_bytes() for file in files]) == (code, before)

    def test_stays_where_a_run_cannot_be_resumed(self, project: Path, files: list[Path]) -> None:
        (project / "down.py").write_text(
            "from evalharness import TargetUnavailable\ndef answer(q): raise TargetUnavailable('down')"
        )
        assert drive(project, "run", "suite.yaml", "--target", "down.py:answer").code == 3
        (project / "down.py").write_text("def answer(q): return q")
        before = files[0].read_bytes()
        assert drive(project, "resume", "-o", "x.json").code == 2
        assert files[0].read_bytes() == before

    def test_is_gone_while_the_run_goes_on(self, project: Path, files: list[Path]) -> None:
        look = "import os\ndef answer(q):\n    return str([file for file in FILES if os.path.exists(file)])\n"
        (project / "look.py").write_text(look.replace("FILES", repr([*map(str, files)])))
        words = ("run", "suite.yaml", "--target", "look.py:answer", "-o", "x.json", "-o", "x.xml", "--json")
        report = drive(project, *words).report
        assert {trial["output"] for trial in report["trials"]} == {"[]"}
        assert sorted(project.glob("x.*")) == files

    def test_stays_where_the_suite_is_broken(self, project: Path, files: list[Path]) -> None:
        """It may be the baseline that the suite names."""
        before = [file.read_bytes() for file in files]
        (project / "suite.yaml").write_text("name: [")
        assert drive(project, "run", "suite.yaml", "-o", "x.json", "-o", "x.xml").code == 2
        assert [file.read_bytes() for file in files] == before

    @pytest.mark.parametrize(
        "words",
        [
            ("run", "suite.yaml", "--k", "0"),
            ("run", "suite.yaml", "--fail-undr", "50"),
            ("run", "suite.yaml", "--var", "broken"),
            ("run", "nobody.yaml"),
            ("gate", "nobody", "--fail-under", "99"),
            ("resume", "nobody"),
            ("regrade", "nobody"),
            ("regrade",),
        ],
        ids=" ".join,
    )
    def test_stays_where_the_command_cannot_begin(
        self, project: Path, files: list[Path], words: tuple[str, ...]
    ) -> None:
        before = [file.read_bytes() for file in files]
        assert drive(project, *words, "-o", "x.json", "-o", "x.xml").code == 2
        assert [file.read_bytes() for file in files] == before

    @pytest.mark.parametrize(
        "words",
        [
            ("run", "suite.yaml", "--baseline", "nobody"),
            ("run", "suite.yaml", "--baseline", "agent.py"),
            ("run", "suite.yaml", "--gate", "production", "--repeat", "1"),
        ],
        ids=" ".join,
    )
    def test_stays_where_the_run_cannot_be_planned(
        self, project: Path, files: list[Path], words: tuple[str, ...]
    ) -> None:
        assert drive(project, *words, "-o", "x.json", "-o", "x.xml").code == 2
        assert sorted(project.glob("x.*")) == files

    @pytest.mark.parametrize(
        "words",
        [
            ("run", "suite.yaml", "--k", "0", "--baseline", "x.json"),
            ("run", "suite.yaml", "--k", "0", "--dry-run"),
            ("run", "--help"),
            ("gate", "x.json", "--fail-under", "900"),
            ("compare", "x.json", "nobody"),
        ],
        ids=" ".join,
    )
    def test_stays_where_it_is_read_or_nothing_was_to_be_written(
        self, project: Path, files: list[Path], words: tuple[str, ...]
    ) -> None:
        drive(project, *words, "-o", "x.json")
        assert files[0].exists()

    def test_what_the_command_wrote_itself_stays(self, project: Path, files: list[Path]) -> None:
        taken = project / "taken"
        spoil = "import pathlib, shutil\ndef answer(q):\n    here = pathlib.Path(HERE)\n    shutil.rmtree(here, True)\n"
        (project / "spoil.py").write_text(spoil.replace("HERE", repr(str(taken))) + "    here.write_text(q)\n")
        before = files[0].read_text()
        words = ("--target", "spoil.py:answer", "-o", "x.json", "--save-sessions", "taken")
        assert drive(project, "run", "suite.yaml", *words).code == 2
        assert files[0].read_text() != before

    def test_stays_where_a_regrade_cannot_be_planned(self, project: Path, files: list[Path]) -> None:
        name = json.loads((project / "base.json").read_text())["eval_report"]["metadata"]["run_name"]
        assert drive(project, "regrade", name, "--baseline", "nobody", "-o", "x.json").code == 2
        assert (project / "x.json").exists()

    def test_a_folder_that_is_missing_is_made(self, project: Path) -> None:
        drive(project, "run", "suite.yaml", "-o", "new/folder/x.json")
        assert (project / "new" / "folder" / "x.json").is_file()
        drive(project, "compare", "new/folder/x.json", "new/folder/x.json", "-o", "more/c.json")
        assert (project / "more" / "c.json").is_file()

    def test_stays_where_nothing_is_to_be_run(self, project: Path, files: list[Path]) -> None:
        assert drive(project, "run", "suite.yaml", "--dry-run", "-o", "x.json", "-o", "x.xml").code == 0
        assert all(file.exists() for file in files)

    @pytest.mark.parametrize("named", ["flag", "gate"])
    def test_stays_where_it_is_the_baseline(self, project: Path, files: list[Path], named: str) -> None:
        words: tuple[str, ...] = ("--baseline", "x.json")
        if named == "gate":
            words = ()
            with (project / "suite.yaml").open("a") as suite:
                suite.write("\ngate: {regression: x.json}\n")
        before = files[0].read_text()
        done = drive(project, "run", "suite.yaml", *words, "--target", "nobody.py:answer", "-o", "x.json")
        assert done.code in (2, 3)
        assert files[0].read_text() == before

    def test_stays_where_there_is_nothing_to_compare(self, project: Path, files: list[Path]) -> None:
        drive(project, "compare", "base.json", "x.json", "-o", "c.json")
        assert (project / "c.json").is_file()
        assert drive(project, "compare", "base.json", "nobody", "-o", "c.json").code == 2
        assert (project / "c.json").is_file()
        assert drive(project, "compare", "base.json", "nobody", "-o", "base.json").code == 2
        assert (project / "base.json").is_file(), "a comparison was requested"


def test_a_budget_that_stops_the_run_names_what_used_it_up(project: Path) -> None:
    (project / "dear.py").write_text(
        "from evalharness import Answer\n"
        "def answer(q):\n"
        "    return Answer(output=q, cost_usd=5.0 if 'Peru' in q else 0.01)\n"
    )
    words = ("run", "suite.yaml", "--target", "dear.py:answer", "--max-cost", "5", "--max-concurrency", "1")
    done = drive(project, *words, "--repeat", "3", "-v")
    assert done.code == 3
    assert "cost the most, $5.0000: make it leaner, or raise the spend cap" in done.out


def test_the_gate_s_budget_is_reported_for_an_invalid_run(project: Path) -> None:
    (project / "dear.py").write_text(
        "from evalharness import Answer, TargetUnavailable\n"
        "def answer(q):\n"
        "    if 'Peru' not in q:\n"
        "        raise TargetUnavailable('down')\n"
        "    return Answer(output=q, cost_usd=5.0)\n"
    )
    with (project / "suite.yaml").open("a") as suite:
        suite.write("\ngate: {max_cost_usd: 1}\n")
    done = drive(project, "run", "suite.yaml", "--target", "dear.py:answer", "--repeat", "1", "-v")
    assert (done.code, "INVALID" in done.out) == (3, True)
    assert "peru cost the most, $5.0000: make it leaner, or raise max_cost_usd" in done.out
