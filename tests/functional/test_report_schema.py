"""`schema --report`: every JSON report that is written is valid by the schema that is published."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from driving import drive

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "goldens"))

EXAMPLES = sorted((ROOT / "examples").glob("*/suite.yaml"))
TARGETS = {"changed": ("--target", "agent.py:before")}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    printed = drive(tmp_path_factory.mktemp("schema"), "schema", "--report").json
    jsonschema_rs.meta.validate(printed)
    return jsonschema_rs.validator_for(printed)


@pytest.mark.parametrize("suite", EXAMPLES, ids=lambda path: path.parent.name)
def test_reports_of_every_example_are_valid(suite: Path, schema: Any, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(suite.parent, project)
    words = ("run", "suite.yaml", *TARGETS.get(suite.parent.name, ()))
    drive(project, *words)
    done = drive(project, *words, "--baseline", "latest", "--fail-under", "90", "-o", "x.json", "-q")
    assert done.code in (0, 1, 4), done.both
    schema.validate(json.loads((project / "x.json").read_text()))
    schema.validate(drive(project, "report", "latest", "--no-details", "--format", "json").json)
    schema.validate(drive(project, "report", "-2", "-1", "--format", "json").json)


def test_reports_of_runs_of_every_kind_are_valid(schema: Any, tmp_path: Path) -> None:
    """Also of those that an earlier version stored: gated, sequential, with errors, judged, awaiting, interrupted."""
    from stored import PROJECT, bring

    project = tmp_path / "project"
    shutil.copytree(PROJECT, project)
    (project / "pyproject.toml").write_text("")
    bring(project)
    runs = drive(project, "runs", "--json", "--limit", "50").json["runs"]
    assert len(runs) > 15
    for run in runs:
        document = drive(project, "report", run["run_name"], "--format", "json").json
        wrong = [
            f"{'/'.join(map(str, error.instance_path))}: {error.message}" for error in schema.iter_errors(document)
        ]
        assert not wrong, (run["suite_name"], wrong)


def test_what_only_some_graders_say_is_in_the_schema(schema: Any, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(question): return ['b', 'a']\n")
    (tmp_path / "suite.yaml").write_text(
        "name: some\ntarget: agent.py:answer\ntrials: 2\ntest_cases:\n"
        "  - {id: found, input: x, expected: {retrieval: {expected: a, k: 2}}}\n"
        "  - {id: ranked, input: x, graders: [{human: {rating_scale: {type: ranking}}}]}\n"
    )
    document = drive(tmp_path, "run", "suite.yaml", "--json").json
    grades = [grade for trial in document["eval_report"]["trials"] for grade in trial["grades"]]
    assert {"figures", "cause"} <= {name for grade in grades for name in grade}
    schema.validate(document)


def test_comparisons_are_valid_by_a_schema_of_their_own(schema: Any, tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "changed", project)
    for target in ("before", "after"):
        drive(project, "run", "suite.yaml", "--target", f"agent.py:{target}", "-q", "-o", f"{target}.json")
    printed = drive(project, "schema", "--comparison").json
    jsonschema_rs.meta.validate(printed)
    comparisons = jsonschema_rs.validator_for(printed)
    drive(project, "compare", "-2", "-1", "-o", "x.json")
    comparisons.validate(json.loads((project / "x.json").read_text()))
    comparisons.validate(drive(project, "compare", "-2", "-1", "-1", "--json").json)
    comparisons.validate(drive(project, "compare", "before.json", "after.json", "--json").json)
    assert not comparisons.is_valid(json.loads((project / "after.json").read_text()))
    assert drive(project, "schema", "--comparison", "--report").code == 2


def test_a_document_that_is_no_report_is_not_valid(schema: Any) -> None:
    assert not schema.is_valid({"eval_report": {}})
    assert not schema.is_valid({"comparison": {}})
