"""The plug-in from the documentation: installed, used by its names, and run through its contract tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from driving import COMMAND, Outcome, clean_environment

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
SUITE = """
name: shouted
target: {type: parrot}
test_cases:
  - {id: loud, input: hey you, setup: "true", graders: [{shouts: hey}]}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder where pip would have put it."""
    folder = tmp_path / "site"
    information = folder / "shouting-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    [described] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    points = re.sub(r'project\.entry-points\."([\w.]+)"', r"\1", described[described.index("[project.entry-points") :])
    (information / "entry_points.txt").write_text(points.replace('"', ""))
    for name, code in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL):
        (folder / name).write_text(code)
    return folder


def run(folder: Path, site: Path, *words: str) -> Outcome:
    environment = clean_environment(folder, {"PYTHONPATH": str(site)})
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_it_is_used_by_its_names(tmp_path: Path, site: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE)
    words = ("run", "suite.yaml", "--sandbox", "noted", "-o", "report.lines", "--store", "shelf:top", "--json")
    done = run(tmp_path, site, *COMMAND, *words)
    assert done.code == 0, done.both
    [trial] = done.report["trials"]
    assert (trial["state"], trial["output"], trial["grades"][0]["kind"]) == ("passed", "HEY YOU", "shouts")
    assert (tmp_path / "report.lines").read_text() == f"{done.report['metadata']['run_name']}: PASSED\n"
    unknown = run(tmp_path, site, *COMMAND, "run", "suite.yaml", "--sandbox", "nted")
    assert (unknown.code, "Did you mean 'noted'?" in unknown.err) == (2, True)


def test_its_report_is_chosen_by_name_and_asked_for_by_a_suite(tmp_path: Path, site: Path) -> None:
    (tmp_path / "suite.yaml").write_text(f"{SUITE}\nreporting: [lines]\n")
    (tmp_path / "pyproject.toml").write_text("")
    done = run(tmp_path, site, *COMMAND, "run", "suite.yaml", "--run-name", "first")
    assert done.code == 0, done.both
    [file] = (tmp_path / "results" / "latest").iterdir()
    assert (file.suffix, file.read_text()) == (".lines", "first: PASSED\n")
    assert run(tmp_path, site, *COMMAND, "report", "first", "--format", "lines").out == "first: PASSED\n"
    done = run(tmp_path, site, *COMMAND, "report", "first", "first", "-o", "x.lines")
    assert (done.code, (tmp_path / "x.lines").read_text()) == (0, "first: PASSED\n" * 2)
    assert run(tmp_path, site, *COMMAND, "compare", "first", "first", "-o", "x.lines").code == 2


def test_a_bug_ends_in_3_and_says_that_it_is_one(tmp_path: Path, site: Path) -> None:
    with (site / "shouting.py").open("a") as code:
        code.write("\nShelf.open = classmethod(lambda cls, *about, **more: 1 / 0)\n")
    for words in (("runs",), ("runs", "--json")):
        done = run(tmp_path, site, *COMMAND, *words, "--store", "shelf:top")
        assert (done.code, "internal error: ZeroDivisionError: division by zero" in done.both) == (3, True), done.both


def test_a_reporter_that_raises_loses_its_own_file_alone(tmp_path: Path, site: Path) -> None:
    with (site / "shouting.py").open("a") as code:
        code.write("\ndef kaboom(*_): raise RuntimeError('kaboom')\nLines.write = kaboom\n")
    failing = SUITE.replace("shouts: hey", "shouts: nothing")
    (tmp_path / "suite.yaml").write_text(f"{failing}\nreporting: [lines, json]\n")
    (tmp_path / "pyproject.toml").write_text("")
    run_it = ("run", "suite.yaml", "-q", "-o", "a.lines", "-o", "z.md")
    done = run(tmp_path, site, *COMMAND, *run_it)
    assert done.code == 1, done.both
    assert (tmp_path / "z.md").exists() and not (tmp_path / "a.lines").exists()
    assert [file.suffix for file in (tmp_path / "results" / "latest").iterdir()] == [".json"]
    assert done.err.startswith("error: a.lines was not written: the reporter 'lines' failed: RuntimeError: kaboom (")
    assert re.match(r".*shouting\.py:\d+\)\n", done.err), done.err
    assert done.err.count("kaboom") == 2 and "bug in evalharness" not in done.err
    printed = run(tmp_path, site, *COMMAND, "report", "latest", "--format", "lines")
    assert (printed.code, "the reporter 'lines' failed: RuntimeError: kaboom" in printed.err) == (3, True)
    (tmp_path / "suite.yaml").write_text(SUITE)
    assert run(tmp_path, site, *COMMAND, *run_it).code == 3, "the run passed, but a file is missing"


def test_a_reporter_that_cannot_be_loaded_stops_only_who_asks_for_it(tmp_path: Path, site: Path) -> None:
    points = site / "shouting-1.0.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("shouting:Lines", "shouting:Gone"))
    (tmp_path / "pyproject.toml").write_text("")
    for name, code in (("json", 0), ("lines", 2)):
        (tmp_path / "suite.yaml").write_text(f"{SUITE}\nreporting: [{name}]\n")
        done = run(tmp_path, site, *COMMAND, "run", "suite.yaml", "-q", "-o", "z.md")
        assert (done.code, "shouting:Gone" in done.err) == (code, code == 2), done.both


def test_it_passes_the_contract_tests(tmp_path: Path, site: Path) -> None:
    done = run(
        tmp_path, site, sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", str(site / "test_shouting.py")
    )
    assert done.code == 0, done.both
    assert int(re.findall(r"(\d+) passed", done.out)[0]) > 90, done.out


PROGRAM = """
from evalharness import Case, Harness, Suite

suite = Suite(name="s", cases=[Case(id="a", input="hey", graders=[{"shouts": "hey"}])])
with Harness.open("shelf:top") as harness:
    run = harness.run(suite, "parrot", executor="travelling")
    print(harness.load_run(run.name).report.verdict)
"""


def test_a_store_and_an_executor_are_used_by_their_names(tmp_path: Path, site: Path) -> None:
    done = run(tmp_path, site, sys.executable, "-c", PROGRAM)
    assert done.code == 0, done.both
    assert done.out == "PASSED\n"
