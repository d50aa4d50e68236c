"""Foreign formats never lose a case silently: either a file has errors, or it has as many cases as were written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel

from evalharness.formats.recognition import named_format
from evalharness.formats.task_suites.records import EvalTask
from evalharness.syntax.source import parse_text

SPELLINGS = sorted({spelling for name in EvalTask.model_fields for spelling in (name, to_camel(name))})
VALUES = st.sampled_from(
    [
        None,
        True,
        0,
        3,
        1.5,
        -1,
        "",
        "a",
        "bug_fix",
        "exact",
        "regex:(",
        "../x",
        "{{x}}",
        [],
        ["a"],
        [5],
        [""],
        {},
        ["regex:a", "b"],
        [{"name": "a", "tool": "b"}],
        {"calls": ["a"], "mode": "exact"},
        {"a.txt": "text"},
        [{"path": "a", "shouldContain": "b", "should_contain": "c"}],
        [{"path": "a"}, "b"],
    ]
)
TASK = st.dictionaries(st.sampled_from([*SPELLINGS, "owner"]), VALUES, max_size=5) | VALUES
SOUND_TASK = {"category": "bug_fix", "prompt": "p"}
ASSERTION = st.dictionaries(
    st.sampled_from(["type", "path", "value", "nodeId", "node_id", "extra"]),
    st.sampled_from(["behavior.no_errors", "output.equals", "behavior.node_executed", "", 5, None, "x"]),
)
CASE = st.dictionaries(
    st.sampled_from(["id", "name", "input", "tags", "assertions", "extra"]),
    st.lists(ASSERTION, max_size=2) | st.sampled_from([None, "", "a", 5, ["t"]]),
)


def check(format_name: str, data: dict[str, Any], written: list[Any]) -> None:
    suite, findings = named_format(format_name).load(parse_text(json.dumps(data), ".json", Path("suite.json")))
    assert (suite is None) == findings.has_errors, findings.problems
    if suite is not None:
        assert len(suite.cases) == len(written)


@given(st.lists(TASK, max_size=3), st.booleans())
@example([{"expected_exit_code": 0, "expectedExitCode": 1}, {}], True)
@example([{"expectedFiles": [{"path": "a", "shouldContain": "b", "should_contain": "c"}]}], True)
def test_of_a_task_suite(tasks: list[Any], mostly_sound: bool) -> None:
    if mostly_sound:
        tasks = [
            {"id": f"t{index}", **SOUND_TASK, **task} for index, task in enumerate(tasks) if isinstance(task, dict)
        ]
    check("task-suite", {"name": "s", "tasks": tasks}, tasks)


@given(st.lists(CASE, max_size=3), st.booleans())
def test_of_a_dataset(cases: list[dict[str, Any]], mostly_sound: bool) -> None:
    if mostly_sound:
        cases = [{**case, "id": f"c{index}"} for index, case in enumerate(cases)]
    check("workflow-dataset", {"id": "d", "workflowName": "w", "version": "1", "cases": cases}, cases)
