"""The files of `docs/ci` and the action, tried: parsed, and their commands run as the CI service runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from missing_parts import missing

ROOT = Path(__file__).parents[2]
FILES = ROOT / "docs" / "ci"
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
AGENT = "def answer(question):\n    return {answers}.get(question.split()[-1], 'no idea')\n"
RIGHT = "{'France?': 'Paris', 'Peru?': 'Lima'}"
SUITE = """name: capitals
target: agent.py:answer
test_cases:
  - {id: france, input: Capital of France?, expected: Paris}
  - {id: peru, input: Capital of Peru?, expected: Lima}
"""
GH = """#!{python}
# Stands in for GitHub's own program: comments are kept in a file.
import json, pathlib, subprocess, sys

words, kept = sys.argv[2:], pathlib.Path("comments.json")
comments = json.loads(kept.read_text()) if kept.exists() else []
method = words[words.index("--method") + 1] if "--method" in words else "GET"
[path] = [word for word in words if word.startswith("repos/ada/agent/issues")]
if method == "GET":
    assert path.endswith("/7/comments"), path
    query = words[words.index("--jq") + 1]
    sys.exit(subprocess.run(["jq", "-r", query], input=json.dumps(comments), text=True).returncode)
body = pathlib.Path(words[words.index("--field") + 1].removeprefix("body=@")).read_text()
if method == "POST":
    comments.append({{"id": 100 + len(comments), "body": body, "user": {{"login": "github-actions[bot]"}}}})
else:
    [found] = [comment for comment in comments if path.endswith(f"/comments/{{comment['id']}}")]
    found["body"] = body
kept.write_text(json.dumps(comments))
"""
COPY = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """import pathlib

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    found = pathlib.Path(folder, "evalharness-99.dist-info")
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\\nName: evalharness\\nVersion: 99\\n")
    return found.name
"""


class Project:
    """A repository with an agent, a suite and a baseline, as a CI service checks it out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "agent"
        self.folder.mkdir()
        self.outside = folder
        tools = folder / "tools"
        tools.mkdir()
        (tools / "gh").write_text(GH.format(python=sys.executable))
        (tools / "gh").chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CI": "true",
        }
        self.action = folder / "the action's copy"
        self.action.mkdir()
        (self.action / "pyproject.toml").write_text(COPY)
        (self.action / "backend.py").write_text(BACKEND)
        (self.folder / "pyproject.toml").touch()
        (self.folder / "suite.yaml").write_text(SUITE)
        self.answers(RIGHT)
        self.run("eval-harness run suite.yaml -q && eval-harness baseline set latest -o baselines/main.json")

    def answers(self, written: str) -> None:
        (self.folder / "agent.py").write_text(AGENT.format(answers=written))

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*BASH, script],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def on_github(self) -> dict[str, str]:
        """pip reports what it would install, and leaves the evalharness under test alone."""
        return {
            "PIP_DRY_RUN": "1",
            "PIP_REPORT": str(self.outside / "installed.json"),
            "GITHUB_ACTION_PATH": str(self.action),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.folder),
            "GITHUB_REPOSITORY": "ada/agent",
            "GITHUB_STEP_SUMMARY": str(self.outside / "summary.md"),
            "GITHUB_OUTPUT": str(self.outside / "output"),
            "RUNNER_TEMP": str(self.outside),
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def loaded(path: Path) -> dict[str, Any]:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def filled(text: str, values: dict[str, str]) -> str:
    """`${{ expressions }}` as GitHub replaces them."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: values[found[1]], text)


# The workflow.


def run_workflow(project: Project) -> list[int]:
    """The exit codes of its commands; as on a pull request, with `if: always()` after one that failed."""
    [job] = loaded(FILES / "github-workflow.yml")["jobs"].values()
    values = {"github.token": "t", "github.event.pull_request.number": "7"}
    codes: list[int] = []
    for step in job["steps"]:
        if "run" not in step or (any(codes) and not str(step.get("if", "")).startswith("always()")):
            continue
        env = {name: filled(value, values) for name, value in step.get("env", {}).items()}
        done = project.run(step["run"], **project.on_github, **env)
        assert done.returncode in (0, 1), done.stderr
        codes.append(done.returncode)
    return codes


def test_the_github_workflow_passes_then_fails_and_keeps_one_comment(project: Project) -> None:
    if shutil.which("jq") is None:
        missing("jq", "sudo apt-get install jq")
    assert run_workflow(project) == [0, 0, 0, 0]
    comments = project.folder / "comments.json"
    [comment] = json.loads(comments.read_text())
    assert "2 passed" in comment["body"]
    assert (project.folder / "evals.html").exists()
    foreign = {"id": 1, "user": {"login": "mallory"}, "body": comment["body"]}
    comments.write_text(json.dumps([foreign, comment]))
    project.answers("{'France?': 'Paris'}")
    assert run_workflow(project) == [0, 1, 0, 0]
    untouched, updated = json.loads(comments.read_text())
    assert untouched == foreign
    assert updated["id"] == comment["id"]
    assert "## ✗ FAILED: capitals" in updated["body"]
    assert "✗ FAILED" in (project.outside / "summary.md").read_text()


def test_the_tutorials_workflow_is_a_part_of_this_one() -> None:
    shown = re.search(r"# \.github/workflows/evals\.yml\n(.*?)```", (ROOT / "docs/tutorial.md").read_text(), re.DOTALL)
    assert shown
    [job] = yaml.safe_load(shown[1])["jobs"].values()
    [whole] = loaded(FILES / "github-workflow.yml")["jobs"].values()
    used = {step["uses"] for step in job["steps"] if "uses" in step}
    assert used <= {step.get("uses") for step in whole["steps"]}


# The action.


def run_action(project: Project, **inputs: str) -> tuple[int, dict[str, str], str]:
    """The exit code of its last step, its outputs, and what it printed."""
    action = loaded(ROOT / "action.yml")
    assert set(action["inputs"]) == {"suite", "target", "baseline", "fail-under"}
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    values = {f"inputs.{name}": given.get(name, each.get("default", "")) for name, each in action["inputs"].items()}
    Path(project.on_github["GITHUB_OUTPUT"]).write_text("")
    printed, code = "", 0
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an expression in a script would be run as code"
        env = {name: filled(value, values) for name, value in step.get("env", {}).items()}
        done = project.run(step["run"], **project.on_github, **env)
        printed, code = printed + done.stdout + done.stderr, done.returncode
    written = dict(line.split("=", 1) for line in Path(project.on_github["GITHUB_OUTPUT"]).read_text().splitlines())
    steps = {f"steps.run.outputs.{name}": value for name, value in written.items()}
    outputs = {name: steps.get(each["value"][4:-3], "") for name, each in action["outputs"].items()}
    return code, outputs, printed


def test_the_action_passes_with_outputs_and_a_summary(project: Project) -> None:
    code, outputs, printed = run_action(project, suite="suite.yaml")
    assert (code, outputs["verdict"], outputs["pass-rate"]) == (0, "PASSED", "1.0"), printed
    assert json.loads(Path(outputs["report"]).read_text())["eval_report"]["verdict"] == "PASSED"
    assert "## ✓ PASSED: capitals" in (project.outside / "summary.md").read_text()


def test_the_action_installs_its_own_copy(project: Project) -> None:
    *_, printed = run_action(project, suite="suite.yaml")
    [installed] = json.loads((project.outside / "installed.json").read_text())["install"]
    assert installed["download_info"]["url"] == project.action.as_uri(), printed


def test_the_action_fails_at_the_line_of_the_case(project: Project) -> None:
    project.answers("{'France?': 'Paris'}")
    code, outputs, printed = run_action(project, suite="suite.yaml", baseline="baselines/main.json")
    assert (code, outputs["verdict"], outputs["pass-rate"]) == (1, "FAILED", "0.5"), printed
    assert "::error file=suite.yaml,line=5,title=capitals%3A peru failed::" in printed


def test_every_input_of_the_action_counts_and_none_is_run_as_code(project: Project) -> None:
    project.answers("{'France?': 'Paris'}")
    assert run_action(project, suite="suite.yaml", fail_under="40")[0] == 0
    assert run_action(project, suite="suite.yaml", target="oracle")[1]["verdict"] == "PASSED"
    code, outputs, printed = run_action(project, suite="--help; $(touch hacked) `touch hacked`")
    assert (code, outputs["verdict"]) == (2, ""), printed
    assert not (project.folder / "hacked").exists()


# GitLab, pre-commit.


def test_the_gitlab_job_passes_then_fails_with_a_junit_file(project: Project) -> None:
    job = loaded(FILES / "gitlab-ci.yml")["evals"]
    script = "\n".join(job["script"])
    assert project.run(script).returncode == 0
    project.answers("{'France?': 'Paris'}")
    assert project.run(script).returncode == 1
    report = ElementTree.parse(project.folder / job["artifacts"]["reports"]["junit"])
    assert "peru" in [case.get("name") for case in report.iter("testcase") if case.find("failure") is not None]
    assert all((project.folder / path).exists() for path in job["artifacts"]["paths"])


def test_the_hooks_check_suite_files_and_run_the_suite(project: Project) -> None:
    [repo] = loaded(FILES / "pre-commit-config.yaml")["repos"]
    hooks = {hook["id"]: hook for hook in repo["hooks"]}
    check, run = hooks["evals-validate"], hooks["evals-run"]
    names = ["suite.yaml", "evals/suite.yml", "evals/tone.eval.yaml", "config.yaml", "mysuite.yaml"]
    assert [name for name in names if re.search(check["files"], name)] == names[:3]
    assert project.run(f"{check['entry']} suite.yaml").returncode == 0
    assert project.run(run["entry"]).returncode == 0
    project.answers("{}")
    assert project.run(run["entry"]).returncode == 1
    (project.folder / "suite.yaml").write_text("name: x\ntest_cases: [{inptu: y}]\n")
    broken = project.run(f"{check['entry']} suite.yaml")
    assert (broken.returncode, "did you mean 'input'" in broken.stdout + broken.stderr) == (2, True)
