"""`reporting:` of a suite: report files in folders by date, with and without details."""

from __future__ import annotations

import base64
import json
import re
import zlib
from datetime import datetime
from pathlib import Path

import pytest
from capitals import AGENT, SUITE
from driving import Outcome, drive, write

RIGHT = ("--target", "agent.py:later")


def project(folder: Path, reporting: str) -> Path:
    return write(folder, agent_py=AGENT, suite_yaml=f"{SUITE}\n{reporting}\n", pyproject_toml="")


def read(file: Path) -> str:
    """With what a page has packed."""
    text = file.read_text()
    packed = re.findall(r'<script type="application/json" id="[^"]+">"([^"]*)"', text)
    assert packed or file.suffix != ".html"
    return text + b"".join(zlib.decompress(base64.b64decode(each)) for each in packed).decode()


def started(done: Outcome) -> datetime:
    return datetime.fromisoformat(done.report["metadata"]["timestamp"])


def test_each_format_is_a_file_in_a_folder_by_date(tmp_path: Path) -> None:
    project(tmp_path, "reporting: {format: [json, markdown], output_dir: ./eval-results}")
    done = drive(tmp_path, "run", "suite.yaml", "--json")
    assert (done.code, done.err) == (1, "")
    results = tmp_path / "eval-results"
    day, stem = f"{started(done):%Y-%m-%d}", f"run-{started(done):%H%M%S}"
    assert sorted(
        path.relative_to(results).as_posix() for path in results.rglob("run-*") if path.parent.name == day
    ) == [
        f"{day}/{stem}.json",
        f"{day}/{stem}.md",
    ]
    assert (results / "latest").readlink() == Path(day)
    assert json.loads((results / "latest" / f"{stem}.json").read_text())["eval_report"]["trials"]
    assert "FAILED: capitals" in (results / day / f"{stem}.md").read_text()
    assert not list(results.rglob(".*")), "nothing unfinished is left"


@pytest.mark.parametrize("reporting", ["reporting: json", "reporting: [json]", "reporting: {format: json}"])
def test_short_forms_and_the_default_folder(tmp_path: Path, reporting: str) -> None:
    project(tmp_path, reporting)
    assert drive(tmp_path, "run", "suite.yaml").code == 1
    [file] = (tmp_path / "results" / "latest").iterdir()
    assert re.fullmatch(r"run-\d{6}\.json", file.name)


def test_without_a_format_it_is_json_and_markdown(tmp_path: Path) -> None:
    project(tmp_path, "reporting: {output_dir: out}")
    drive(tmp_path, "run", "suite.yaml")
    assert {file.suffix for file in (tmp_path / "out" / "latest").iterdir()} == {".json", ".md"}


def test_a_suite_that_asks_for_nothing_writes_nothing(tmp_path: Path) -> None:
    project(tmp_path, "")
    drive(tmp_path, "run", "suite.yaml")
    assert not (tmp_path / "results").exists()


def test_the_folder_is_the_suite_s_wherever_it_is_run_from(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    project(tmp_path / "evals", "reporting: [json]")
    (tmp_path / "evals" / "pyproject.toml").unlink()
    assert drive(tmp_path, "run", "evals/suite.yaml").code == 1
    assert (tmp_path / "evals" / "results" / "latest").is_dir()
    assert not (tmp_path / "results").exists()


def test_runs_of_one_second_get_names_of_their_own(tmp_path: Path) -> None:
    project(tmp_path, "reporting: [json, markdown]")
    words = ("run", "suite.yaml", "--target", "agent.py:answer", "--target", "agent.py:later", "--json")
    reports = drive(tmp_path, *words).json["eval_reports"]
    files = sorted(path.name for path in (tmp_path / "results" / "latest").iterdir())
    first, other = (f"run-{report['metadata']['timestamp'][11:19].replace(':', '')}" for report in reports)
    if other == first:  # as good as always
        other += f"-{reports[1]['metadata']['run_id'][-4:]}"
    assert files == sorted(f"{name}.{ending}" for name in (first, other) for ending in ("json", "md"))
    second = json.loads((tmp_path / "results" / "latest" / f"{other}.json").read_text())
    assert second["eval_report"]["metadata"]["variant"] == "agent.py:later"


def test_a_resumed_run_replaces_its_own_file(tmp_path: Path) -> None:
    project(tmp_path, "reporting: [json]")
    drive(tmp_path, "run", "suite.yaml", "-x", "-j", "1", "--run-name", "first")
    [file] = (tmp_path / "results" / "latest").iterdir()
    assert json.loads(file.read_text())["eval_report"]["summary"]["trials"]["pending"]
    assert drive(tmp_path, "resume", "first").code == 1
    [same] = (tmp_path / "results" / "latest").iterdir()
    assert same == file
    assert json.loads(file.read_text())["eval_report"]["summary"]["trials"]["pending"] == 0


def test_the_terminal_says_where_files_are_as_seen_from_here(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    project(tmp_path / "evals", "reporting: [json]")
    (tmp_path / "evals" / "pyproject.toml").unlink()
    words = ("run", "evals/suite.yaml", "-o", "x.md", "-o", str(tmp_path / "x.html"))
    done = drive(tmp_path, *words)
    written = re.findall(r"^wrote    (.*)$", done.out, re.MULTILINE)
    assert written[:2] == ["x.md", "x.html"]
    assert re.fullmatch(r"evals/results/\d{4}-\d\d-\d\d/run-\d{6}\.json", written[2])
    for quiet in ("-q", "--json"):
        assert "wrote" not in drive(tmp_path, *words, quiet).both
    for command in ("compare -2 -1", "gate -1 --fail-under 90", "trend capitals", "report -1", "export -1"):
        assert drive(tmp_path, *command.split(), "-o", "y.json").out.endswith("wrote    y.json\n"), command
        (tmp_path / "y.json").unlink()


class TestDetails:
    def test_are_left_out_of_every_report(self, tmp_path: Path) -> None:
        project(tmp_path, "reporting: {format: [json, markdown, html, junit, csv, jsonl], include_details: false}")
        done = drive(
            tmp_path,
            "run",
            "suite.yaml",
            "-o",
            "x.json",
            "-o",
            "x.md",
            "-o",
            "x.csv",
            "-o",
            "x.html",
            "--run-name",
            "first",
        )
        assert "Cusco" in done.out, "whoever runs it sees what went wrong"
        files = [*(tmp_path / "results" / "latest").iterdir(), *tmp_path.glob("x.*")]
        assert len(files) == 10
        for file in files:
            assert "Cusco" not in read(file), file
            assert "peru" in read(file), file
        for name in ("json", "markdown", "csv"):
            assert "Cusco" not in drive(tmp_path, "report", "first", "--format", name).out
        assert "Cusco" not in drive(tmp_path, "run", "suite.yaml", "--json").out
        assert "Cusco" in drive(tmp_path, "show", "first", "peru").out, "the store has all of it"

    def test_a_comparison_leaves_them_out_too(self, tmp_path: Path) -> None:
        project(tmp_path, "reporting: {format: [], include_details: false}")
        drive(tmp_path, "run", "suite.yaml", *RIGHT)
        drive(tmp_path, "run", "suite.yaml")
        shown = drive(tmp_path, "compare", "-2", "-1", "-o", "d.md", "-o", "d.json", "-o", "d.html")
        assert "Cusco" in shown.out
        for file in ("d.md", "d.json", "d.html"):
            assert "Cusco" not in read(tmp_path / file)


class TestWhatCannotBeWritten:
    @pytest.mark.parametrize(("target", "code"), [("agent.py:later", 3), ("agent.py:answer", 1)])
    def test_turns_0_into_3_and_leaves_1(self, tmp_path: Path, target: str, code: int) -> None:
        project(tmp_path, "reporting: [json]")
        (tmp_path / "results").write_text("in the way")
        done = drive(tmp_path, "run", "suite.yaml", "--target", target)
        assert (done.code, "error: " in done.err, "results" in done.err) == (code, True, True), done.both
        assert (tmp_path / "results").read_text() == "in the way"

    def test_turns_4_into_3(self, tmp_path: Path) -> None:
        project(tmp_path, "reporting: [json]\ngate: {thresholds: {pass_rate: 0.5}, inconclusive: fail}")
        suite = (tmp_path / "suite.yaml").read_text().replace("expected: Lima", "graders: [human: is it right?]")
        (tmp_path / "suite.yaml").write_text(suite)
        code = drive(tmp_path, "run", "suite.yaml").code
        assert code == 4
        (tmp_path / "results" / "latest").unlink()
        (tmp_path / "results" / "latest").write_text("mine")
        assert drive(tmp_path, "run", "suite.yaml").code == 3
        assert (tmp_path / "results" / "latest").read_text() == "mine"

    def test_does_not_keep_other_files_from_being_written(self, tmp_path: Path) -> None:
        project(tmp_path, "reporting: [json]")
        (tmp_path / "results").write_text("in the way")
        assert drive(tmp_path, "run", "suite.yaml", *RIGHT, "-o", "x.md").code == 3
        assert (tmp_path / "x.md").is_file()

    def test_a_link_to_something_else_is_left_alone_with_a_warning(self, tmp_path: Path) -> None:
        project(tmp_path, "reporting: [json]")
        (tmp_path / "results").mkdir()
        (tmp_path / "results" / "latest").symlink_to("/tmp")
        done = drive(tmp_path, "run", "suite.yaml", *RIGHT)
        warning = "warning: results/latest links to /tmp, so it does not show the newest reports\n"
        assert (done.code, done.err) == (0, warning)
        assert (tmp_path / "results" / "latest").readlink() == Path("/tmp")
        assert len(list((tmp_path / "results").glob("*-*-*/run-*.json"))) == 1

    def test_a_link_out_of_the_suite_s_folder_is_not_followed(self, tmp_path: Path) -> None:
        inside, outside = tmp_path / "inside", tmp_path / "outside"
        inside.mkdir()
        outside.mkdir()
        project(inside, "reporting: [json]")
        (inside / "results").symlink_to(outside)
        done = drive(inside, "run", "suite.yaml", *RIGHT)
        assert (done.code, "is outside the suite's folder" in done.err) == (3, True)
        assert list(outside.iterdir()) == []


class TestWrongBlocks:
    @pytest.mark.parametrize(
        ("reporting", "said"),
        [
            ("{output_dir: ../out}", "must be a folder inside the suite's own"),
            ("{output_dir: /tmp}", "must be a folder inside the suite's own"),
            ("{format: [markdwn]}", "unknown format 'markdwn'"),
            ("{formats: [json]}", "unknown key 'formats'"),
            ("{include_details: maybe}", "include_details"),
            ("3", "reporting"),
        ],
    )
    def test_are_reported_before_anything_is_run(self, tmp_path: Path, reporting: str, said: str) -> None:
        project(tmp_path, f"reporting: {reporting}")
        done = drive(tmp_path, "run", "suite.yaml")
        assert done.code == 2, done.both
        assert done.err.startswith("error: suite.yaml:10: ") and said in done.err
        assert not (tmp_path / ".evalharness").exists()
