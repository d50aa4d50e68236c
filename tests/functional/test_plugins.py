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


def test_a_bug_ends_in_3_and_says_that_it_is_one(tmp_path: Path, site: Path) -> None:
    with (site / "shouting.py").open("a") as code:
        code.write("\nShelf.open = classmethod(lambda cls, *about, **more: 1 / 0)\n")
    for words in (("runs",), ("runs", "--json")):
        done = run(tmp_path, site, *COMMAND, *words, "--store", "shelf:top")
        assert (done.code, "internal error: ZeroDivisionError: division by zero" in done.both) == (3, True), done.both


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
