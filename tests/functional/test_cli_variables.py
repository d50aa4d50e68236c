"""What enters a run from outside its files: the environment, variables of the suite, and flags given as variables."""

from __future__ import annotations

from pathlib import Path

from capitals import capitals_project
from driving import drive, write


def test_env_reaches_functions_and_commands(tmp_path: Path) -> None:
    write(
        tmp_path,
        agent_py="import os\ndef answer(text): return ' '.join(os.environ.get(n, '-') for n in text.split())",
        suite_yaml="""
test_cases: [{id: a, input: FROM_FLAG INHERITED FROM_FILE BOTH, expected: flag inherited file flag}]
""",
    )
    (tmp_path / ".env").write_text("FROM_FILE=file\nBOTH=file\n")
    command = "cmd:echo $FROM_FLAG $INHERITED $FROM_FILE $BOTH"
    flags = ["--env", "FROM_FLAG=flag", "-e", "INHERITED", "-e", "BOTH=flag"]

    done = drive(
        tmp_path, "run", "--target", "agent.py:answer", "--target", command, *flags, env={"INHERITED": "inherited"}
    )
    assert done.code == 0, done.both


def test_variables(tmp_path: Path) -> None:
    write(
        tmp_path,
        suite_yaml=r"""
target: echo
vars: {Everywhere: suite, twice: suite, number: 5}
test_cases:
  - id: a
    input: '{{EVERYWHERE}} {{ Twice }} {{once}} {{number}} \{{literal}} {{any_thing}} {single}'
    expected: 'flag suite environment 5 \{{literal}} {{any_thing}} {single}'
""",
        needy_yaml="target: echo\ntest_cases: [{id: a, input: '{{name}} {{Town}}', expected: x}]",
    )
    env = {"EVERYWHERE": "environment", "TWICE": "environment", "ONCE": "environment"}
    done = drive(tmp_path, "run", "suite.yaml", "--var", "everyWHERE=flag", env=env)
    assert done.code == 0, done.both

    missing = drive(tmp_path, "run", "needy.yaml", "--var", "NAME=Ada")
    assert missing.code == 2
    assert "--var town=…" in missing.err
    checked = drive(tmp_path, "validate", "needy.yaml")
    assert checked.code == 0
    assert "note: needs the variable name" in checked.out


def test_every_flag_has_a_variable(tmp_path: Path) -> None:
    project = capitals_project(tmp_path)
    (project / ".env").write_text("EVALHARNESS_TARGET=null\nEVALHARNESS_TRIALS=3\n")
    env = {
        "EVALHARNESS_TARGET": "cmd:echo some words\noracle",
        "EVALHARNESS_ONLY": "france",
        "EVALHARNESS_JSON": "true",
    }
    by_variables = drive(project, "run", "suite.yaml", env=env)
    reports = by_variables.json["eval_reports"]
    assert [report["metadata"]["variant"] for report in reports] == ["command echo some words", "oracle"]
    assert [report["summary"]["trials"]["planned"] for report in reports] == [3, 3]

    by_file = drive(project, "run", "suite.yaml", "--trials", "1", "--json")
    assert by_file.report["metadata"]["variant"] == "null"
    assert by_file.report["summary"]["trials"]["planned"] == 3, "the flag takes precedence over the file"


def test_a_variable_has_one_output_file_per_line(tmp_path: Path) -> None:
    project = capitals_project(tmp_path)
    done = drive(project, "run", "suite.yaml", env={"EVALHARNESS_OUTPUT": "my report.json\nfor ci.xml"})
    assert (project / "my report.json").is_file(), done.both
    assert (project / "for ci.xml").is_file()

    compared = drive(project, "compare", "-1", "-1", env={"EVALHARNESS_COMPARISON_OUTPUT": "what changed.json"})
    assert (project / "what changed.json").is_file(), compared.both
