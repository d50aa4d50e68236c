"""Commands as a step of a GitHub workflow runs them, with its real environment files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

AGENT = """
import random

ANSWERS = {"France": "Paris", "Australia": "Sydney"}


def answer(question, context):
    if "Peru" in question:
        return "Lima" if context.index % 2 else "Cusco"
    return next((city for country, city in ANSWERS.items() if country in question), "")


def right(question):
    return {"Australia?": "Canberra", "Peru?": "Lima"}.get(question.split()[-1], "Paris")


def hostile(question):
    print("::error::printed by the target")
    return "::set-output name=token::stolen\\n  ::add-mask::x\\n##[error]forged, 100 % sure: really"
"""
SUITE = """name: capitals
target: agent.py:answer
test_cases:
  - {id: france, input: Capital of France?, expected: Paris}
  - {id: australia, input: Capital of Australia?, expected: Canberra}

  - id: peru
    input: Capital of Peru?
    expected: {contains: Lima}
"""


class Step:
    """A step in a checked-out repository whose evals are in a folder."""

    def __init__(self, workspace: Path) -> None:
        self.folder = workspace / "evals"
        self.folder.mkdir(parents=True)
        (workspace / "pyproject.toml").touch()
        (self.folder / "agent.py").write_text(AGENT)
        (self.folder / "suite.yaml").write_text(SUITE)
        self.summary = workspace.parent / "summary.md"
        self.environment = {
            **os.environ,
            "GITHUB_ACTIONS": "true",
            "CI": "true",
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "evalharness", *words],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def step(tmp_path: Path) -> Step:
    return Step(tmp_path / "repository")


def commands(printed: str) -> list[str]:
    """What the runner obeys in a log: nothing from `::stop-commands::TOKEN` to `::TOKEN::`."""
    obeyed, token = list[str](), ""
    for line in printed.splitlines():
        if token:
            token = "" if line == f"::{token}::" else token
        elif line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif line.lstrip().startswith("::") or "##[" in line:
            obeyed.append(line)
    assert not token, "commands stay stopped"
    return obeyed


def test_a_run_annotates_failing_and_flaky_cases_at_their_lines(step: Step) -> None:
    done = step.run("run", "suite.yaml", "--repeat", "4")
    assert done.returncode == 1
    assert commands(done.stdout) == [
        "::error file=evals/suite.yaml,line=5,title=capitals%3A australia failed (0 of 4 trials passed)::"
        "exact%0A- Canberra%0A+ Sydney",
        "::warning file=evals/suite.yaml,line=7,title=capitals%3A peru is flaky (2 of 4 trials passed)::"
        "contains: 'Lima' not in 'Cusco'",
    ]
    assert done.stdout.splitlines()[-3].startswith("FAILED ")
    assert commands(done.stderr) == []


@pytest.mark.parametrize(("words", "stream"), [(["-q"], "stdout"), (["--json"], "stderr")])
def test_a_phase_annotates_and_summarises_its_runs(step: Step, words: list[str], stream: str) -> None:
    (step.folder / "phase.yaml").write_text("phase: {name: build, steps: [{type: eval, config: {suite: suite.yaml}}]}")
    done = step.run("phase", "phase.yaml", *words)
    assert done.returncode == 1
    first, *_ = commands(getattr(done, stream))
    assert first.startswith("::error file=evals/suite.yaml,line=5,title=capitals%3A australia failed::")
    written = (step.folder / "eval-results" / "phase-build.md").read_text()
    assert step.summary.read_text() == f"{written}\n", "the summary is the report of the phase"


def test_a_phase_whose_tests_are_red_says_so(step: Step) -> None:
    (step.folder / "phase.yaml").write_text("eval_trigger: {suite: suite.yaml, when: after_tests_pass}")
    red = '<testsuite name="unit"><testcase name="a"><failure/></testcase></testsuite>'
    (step.folder / "junit.xml").write_text(red)
    done = step.run("phase", "phase.yaml", "-q", "--tests", "junit.xml")
    assert done.returncode == 1
    assert commands(done.stdout) == ["::error title=capitals%3A FAILED::1 of 1 test failed"]
    assert "Not run: 1 of 1 test failed" in step.summary.read_text()


def test_failures_of_an_eval_that_does_not_block_are_warnings(step: Step) -> None:
    (step.folder / "phase.yaml").write_text("eval_trigger: {suite: suite.yaml, blocking: false}")
    done = step.run("phase", "phase.yaml", "-q")
    assert done.returncode == 0
    assert {line.partition(" ")[0] for line in commands(done.stdout)} == {"::warning"}


def test_the_summary_of_the_step_has_a_report_of_each_command(step: Step) -> None:
    step.summary.write_text("# Written before\n")
    step.run("run", "suite.yaml")
    step.run("run", "suite.yaml", "--target", "agent.py:right")
    text = step.summary.read_text()
    assert text.startswith("# Written before\n<!-- eval-harness report -->\n## ✗ FAILED: capitals\n")
    assert "\n## ✓ PASSED: capitals\n" in text


def test_with_json_only_the_document_is_on_stdout(step: Step) -> None:
    done = step.run("run", "suite.yaml", "--json")
    assert json.loads(done.stdout)["eval_report"]["verdict"] == "FAILED"
    assert [line.partition(" ")[0] for line in commands(done.stderr)] == ["::error", "::error"]


def test_what_an_agent_answers_or_prints_is_never_obeyed(step: Step) -> None:
    done = step.run("run", "suite.yaml", "--target", "agent.py:hostile", "-vv")
    ours = commands(done.stdout)
    assert len(ours) == 3
    assert all(line.startswith("::error file=evals/suite.yaml,line=") for line in ours)
    assert "%25 sure: really" in ours[0], "the message is data: nothing in it ends or adds a command"
    assert commands(done.stderr) == []
    for words in (["show", "latest", "france"], ["show", "latest", "--json"], ["report", "latest"], ["show", "latest"]):
        shown = step.run(*words)
        assert shown.returncode == 0, shown.stderr
        assert "stolen" in shown.stdout or words == ["show", "latest"]
        assert commands(shown.stdout + shown.stderr) == [], words
    trials = json.loads(step.run("show", "latest", "--json").stdout)
    assert "##[error]forged" in json.dumps(trials), "nothing is lost in JSON"


@pytest.mark.parametrize("words", [["run", "suite.yaml", "--target", "agent.py:loud"], ["phase", "phase.yaml"]])
def test_what_programs_of_a_target_print_is_never_obeyed(step: Step, words: list[str]) -> None:
    loud = "import os\n\n\ndef loud(question):\n    os.system(\"printf '::error::forged\\\\n::unfinished'\")\n"
    (step.folder / "agent.py").write_text(loud)
    (step.folder / "suite.yaml").write_text(SUITE.replace("agent.py:answer", "agent.py:loud"))
    (step.folder / "phase.yaml").write_text("phase: {name: build, steps: [{type: eval, config: {suite: suite.yaml}}]}")
    tokens = set()
    for _ in range(2):
        done = step.run(*words, "--json")
        assert "\n::error::forged\n" in done.stderr
        ours = commands(done.stderr)
        assert ours, "annotations come after it"
        assert all(line.startswith("::error file=evals/suite.yaml,line=") for line in ours)
        tokens.add(done.stderr.partition("::stop-commands::")[2].partition("\n")[0])
    assert [len(token) for token in tokens] == [32, 32], "a new one for each run"


def test_what_is_written_to_a_file_is_left_as_it_is(step: Step) -> None:
    step.run("run", "suite.yaml", "--target", "agent.py:hostile")
    with (step.folder / "shown.txt").open("w") as file:
        subprocess.run(
            [sys.executable, "-m", "evalharness", "show", "latest", "france"],
            cwd=step.folder,
            env=step.environment,
            stdout=file,
            check=True,
        )
    assert "::set-output name=token::stolen" in (step.folder / "shown.txt").read_text()


def test_at_most_ten_annotations_of_a_level(step: Step) -> None:
    cases = "".join(f"  - {{id: c{n}, input: Capital of France?, expected: Rome}}\n" for n in range(15))
    cases += "".join(f"  - {{id: h{n}, input: Capital of France?, graders: [human]}}\n" for n in range(12))
    (step.folder / "suite.yaml").write_text(f"name: many\ntarget: agent.py:answer\ntest_cases:\n{cases}")
    done = step.run("run", "suite.yaml")
    levels = [line.partition(" ")[0] for line in commands(done.stdout)]
    assert (levels.count("::error"), levels.count("::notice"), len(levels)) == (10, 10, 20)
    assert "c14" in step.summary.read_text(), "the summary has them all"


def test_a_failure_that_the_gate_puts_up_with_is_a_warning(step: Step) -> None:
    done = step.run("run", "suite.yaml", "--fail-under", "0.3")
    assert done.returncode == 0
    assert {line.partition(" ")[0] for line in commands(done.stdout)} == {"::warning"}


def test_a_gate_that_fails_though_every_case_passes_has_an_error_of_its_own(step: Step) -> None:
    gate = "gate: {max_latency_s: 0.0000001}\ntest_cases:"
    (step.folder / "suite.yaml").write_text(SUITE.replace("test_cases:", gate))
    done = step.run("run", "suite.yaml", "--target", "agent.py:right")
    assert done.returncode == 1
    [line] = commands(done.stdout)
    assert line.startswith("::error title=capitals%3A FAILED::the gate failed on ")


def test_resume_and_gate_annotate_as_run_does(step: Step) -> None:
    expected = commands(step.run("run", "suite.yaml").stdout)
    assert commands(step.run("resume", "latest").stdout) == expected
    assert commands(step.run("gate", "latest", "--fail-under", "1").stdout) == expected
    from_json = step.run("gate", "latest", "--fail-under", "1", "--json")
    assert json.loads(from_json.stdout)["gate_report"]["verdict"] == "FAILED"
    assert commands(from_json.stderr) == expected


def test_cases_that_got_worse_are_annotated(step: Step) -> None:
    for target in ("right", "answer"):
        step.run("run", "suite.yaml", "--target", f"agent.py:{target}", "--repeat", "20")
    step.run("baseline", "set", "-2")
    step.summary.unlink()
    for words in (["compare", "-2", "-1", "--fail"], ["regressions", "capitals"]):
        done = step.run(*words)
        assert done.returncode == 1, done.stdout
        verdict, *cases = commands(done.stdout)
        assert verdict.startswith("::error title=capitals%3A REGRESSION::")
        assert "::error file=evals/suite.yaml,line=5,title=capitals%3A australia got worse::20/20 → 0/20" in cases[0]
    assert step.summary.read_text().count("## ✗ REGRESSION") == 2
    scores = step.run("regressions", "capitals", "--threshold", "0.2")
    assert any("line=7,title=capitals%3A peru got worse::score 1.00 → 0.50" in line for line in commands(scores.stdout))
    assert commands(step.run("compare", "-2", "-1").stdout) == [], "only where the exit code tells"


def test_a_summary_that_is_full_or_cannot_be_written_is_a_warning(step: Step) -> None:
    step.summary.write_bytes(b"x" * (1024 * 1024 - 100))
    done = step.run("run", "suite.yaml", "--target", "agent.py:right")
    assert done.returncode == 0
    assert "warning: the step summary is full" in done.stderr
    assert step.summary.stat().st_size == 1024 * 1024 - 100
    done = step.run("run", "suite.yaml", "--target", "agent.py:right", GITHUB_STEP_SUMMARY=str(step.folder))
    assert (done.returncode, "cannot be written" in done.stderr) == (0, True)


def test_secrets_are_in_neither(step: Step) -> None:
    (step.folder / "agent.py").write_text("import os\n\ndef answer(question):\n    return os.environ['API_KEY']\n")
    done = step.run("run", "suite.yaml", API_KEY="correct-horse-battery")
    assert len(commands(done.stdout)) == 3
    assert "correct-horse" not in done.stdout + done.stderr + step.summary.read_text()


def test_elsewhere_nothing_is_added(step: Step) -> None:
    done = step.run("run", "suite.yaml", GITHUB_ACTIONS="")
    assert commands(done.stdout) == []
    assert not step.summary.exists()


# The comment.


def test_a_comment_is_known_by_suite_and_target_and_not_by_its_run(step: Step) -> None:
    step.run("run", "suite.yaml")
    first = step.run("report", "latest", "--format", "github-comment").stdout
    step.run("run", "suite.yaml")
    second = step.run("report", "latest", "--format", "github-comment").stdout
    mark, title = first.splitlines()[0], first.splitlines()[2]
    assert (mark, title) == (
        "<!-- eval-harness comment capitals/agent.py%3Aanswer -->",
        "## ✗ FAILED: capitals",
    )
    assert second.splitlines()[0] == mark
    assert second != first
    step.run("run", "suite.yaml", "--target", "agent.py:right")
    other = step.run("report", "latest", "--format", "github-comment", "-o", "comment.md")
    assert other.returncode == 0
    assert (step.folder / "comment.md").read_text().splitlines()[0] != mark
    again = step.run("report", "-1", "-2", "--format", "github-comment", "-o", "comment.md")
    assert again.returncode == 0, again.stderr
    assert (
        (step.folder / "comment.md").read_text().startswith("<!-- eval-harness comment capitals/agent.py%3Aright capi")
    )


def test_no_name_ends_the_hidden_mark(step: Step) -> None:
    name = "evil --> <b>name</b> --"
    (step.folder / "suite.yaml").write_text(SUITE.replace("name: capitals", f"name: {json.dumps(name)}"))
    step.run("run", "suite.yaml")
    mark = step.run("report", "latest", "--format", "github-comment").stdout.splitlines()[0]
    assert mark.count("-->") == 1
    assert mark.endswith(" -->")
    assert "<b>" not in mark
