"""Task suites: what each key becomes, every problem at once with its line, and which files are not task suites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.case import Case
from evalharness.domain.suite import Suite
from evalharness.formats.problems import Findings
from evalharness.formats.suite_files import suites_below
from evalharness.formats.task_suites.reader import load_task_suite, looks_like_task_suite
from evalharness.formats.task_suites.records import TASK_CATEGORIES
from evalharness.syntax.source import parse_text


def load(data: Any) -> tuple[Suite | None, Findings]:
    return load_task_suite(parse_text(json.dumps(data, indent=1), ".json", Path("suite.json")))


def load_case(**task: Any) -> Case:
    suite, findings = load({"name": "s", "tasks": [{"id": "t", "category": "bug_fix", "prompt": "Fix it", **task}]})
    assert suite is not None, findings.problems
    return suite.cases[0]


def graders(case: Case) -> dict[str, Any]:
    return {spec.kind: spec.options for spec in case.graders or ()}


def messages(findings: Findings, severity: str = "error") -> list[str]:
    return [f"{p.field}: {p.message}" for p in findings.problems if p.severity == severity]


def test_a_task_with_every_key() -> None:
    case = load_case(
        description="Mends a bug",
        expectedPatterns=["regex:fixed"],
        expectedFiles=[{"path": "a.py", "shouldContain": "def a"}, {"path": "b.py", "shouldContain": ""}, "c.py"],
        expectedExitCode=3,
        expectedToolSequence=["read", {"name": "write", "arguments": {"path": "a.py"}}],
        maxRounds=5,
        requiredTools=["read"],
        timeoutMs=1500,
    )
    assert (case.id, case.category, case.description, case.input) == ("t", "bug_fix", "Mends a bug", "Fix it")
    assert graders(case) == {
        "expected_patterns": ["regex:fixed"],
        "files": [{"path": "a.py", "contains": "def a"}, {"path": "b.py"}, {"path": "c.py"}],
        "exit_code": 3,
        "tool_sequence": {"calls": ["read", {"name": "write", "arguments": {"path": "a.py"}}]},
    }
    assert (case.max_rounds, case.required_tools, case.timeout_seconds) == (5, ("read",), 1.5)


def test_snake_case_and_keys_of_native_cases_are_read_too() -> None:
    case = load_case(
        expected_patterns="fixed",
        expected_files=[{"path": "a.py", "should_contain": "x"}],
        timeout_ms=100,
        files={"a.py": "broken"},
        reference="fixed it",
        tags=["smoke"],
        weight=2,
        metadata={"by": "me"},
    )
    assert graders(case) == {"expected_patterns": ["fixed"], "files": [{"path": "a.py", "contains": "x"}]}
    assert (case.timeout_seconds, case.reference, case.tags, case.weight) == (0.1, "fixed it", ("smoke",), 2.0)
    assert case.files["a.py"].text == "broken"
    assert case.metadata == {"by": "me"}


def test_without_patterns_the_rule_of_more_than_ten_characters_applies() -> None:
    assert graders(load_case()) == {"expected_patterns": []}
    assert graders(load_case(expectedPatterns=None)) == {"expected_patterns": []}
    assert graders(load_case(expectedExitCode=0)) == {"expected_patterns": [], "exit_code": 0}


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ({"expectedToolSequence": ["a"]}, None),
        ({"expectedToolSequence": ["a"], "toolSequenceMode": "exact"}, "exact"),
        ({"expectedToolSequence": {"calls": ["a"], "mode": "any_order"}}, "any_order"),
        ({"expected_tool_sequence": {"calls": ["a"], "mode": "anyOrder"}}, "any_order"),
    ],
)
def test_how_strictly_tool_calls_are_compared(written: dict[str, Any], mode: str | None) -> None:
    options = graders(load_case(**written))["tool_sequence"]
    assert options["calls"] == ["a"]
    assert options.get("mode") == mode


def test_an_empty_tool_sequence_expects_nothing_unless_a_mode_says_how_empty() -> None:
    assert "tool_sequence" not in graders(load_case(expectedToolSequence=[]))
    nothing_else = {"calls": [], "mode": "exact"}
    assert graders(load_case(expectedToolSequence=[], toolSequenceMode="exact"))["tool_sequence"] == nothing_else
    assert graders(load_case(expectedToolSequence=nothing_else))["tool_sequence"] == nothing_else


def problems_of(**task: Any) -> list[str]:
    suite, findings = load({"name": "s", "tasks": [{"id": "t", "category": "bug_fix", "prompt": "p", **task}]})
    assert suite is None
    return [line.removeprefix("tasks[0].") for line in messages(findings)]


@pytest.mark.parametrize(
    ("task", "problem"),
    [
        ({"expectedToolSequence": {"calls": ["a"], "mode": "exact"}, "toolSequenceMode": "anyOrder"}, "contradicts"),
        ({"toolSequenceMode": "exact"}, "toolSequenceMode: says how to compare expectedToolSequence, which is"),
        ({"expectedToolSequence": ["a"], "toolSequenceMode": "strict"}, "toolSequenceMode: 'strict' is not allowed"),
        ({"expectedToolSequence": {"calls": [], "mode": "x"}}, "expectedToolSequence.mode: 'x' is not allowed"),
        ({"expectedExitCode": True}, "expectedExitCode: must be a whole number, not true"),
        ({"maxRounds": "3"}, "maxRounds: must be a whole number, not '3'"),
        ({"timeoutMs": "5000"}, "timeoutMs: must be a number, not '5000'"),
        ({"requiredTools": ["a", ""]}, "requiredTools[1]: must not be empty"),
        ({"expectedToolSequence": ["a", ""]}, "expectedToolSequence[1]: must not be empty"),
        ({"expected_exit_code": 0, "expectedExitCode": 1}, "expected_exit_code: is given twice, in two spellings"),
        ({"expectedToolSequence": [{"name": "a", "tool": "b"}]}, "expectedToolSequence[0].tool: is given twice"),
        ({"expectedFiles": [{"path": "a", "shouldContain": "x", "should_contain": "y"}]}, "is given twice"),
    ],
)
def test_what_a_task_cannot_mean(task: dict[str, Any], problem: str) -> None:
    [told] = problems_of(**task)
    assert problem in told


def test_one_wrong_value_hides_no_other_of_its_task() -> None:
    assert [
        line.partition(":")[0]
        for line in problems_of(
            prompt=5,
            expectedPatterns=["ok", "regex:(", 5],
            expectedFiles=["../x", {"path": "a", "shouldContain": 5}],
            expectedToolSequence=[{"nam": "x"}],
        )
    ] == [
        "prompt",
        "expectedPatterns[1]",
        "expectedPatterns[2]",
        "expectedFiles[0]",
        "expectedFiles[1].shouldContain",
        "expectedToolSequence[0].name",
        "expectedToolSequence[0].nam",
    ]


def test_a_wrong_value_in_a_list_is_reported_at_its_own_line() -> None:
    text = """
tasks:
  - {id: a, category: bug_fix, prompt: p, expected_patterns: [
      ok,
      "regex:("], expected_files: [
      ../x]}
"""
    _, findings = load_task_suite(parse_text(text, ".yaml", Path("suite.yaml")))
    assert [(p.line, p.field) for p in findings.problems] == [
        (5, "tasks[0].expected_patterns[1]"),
        (6, "tasks[0].expected_files[0]"),
    ]


def test_a_wrong_target_is_reported_beside_whatever_else_is_wrong() -> None:
    task = {"id": "t", "category": "bug_fix", "prompt": "p"}
    _, findings = load({"trials": 0, "target": "orcle", "targets": {"a": {"http": 5}}, "tasks": [task]})
    assert {p.field.partition(".")[0] for p in findings.problems} == {"trials", "target", "targets"}


@pytest.mark.parametrize("category", TASK_CATEGORIES)
def test_all_eight_categories_load(category: str) -> None:
    assert load_case(category=category).category == category


def test_suite_keys_and_the_time_limit_of_two_minutes() -> None:
    task = {"id": "t", "category": "bug_fix", "prompt": "p"}
    suite, _ = load({"description": "d", "target": "fast", "targets": {"fast": "echo"}, "trials": 3, "tasks": [task]})
    assert suite is not None
    assert (suite.name, suite.description, suite.trials) == ("suite", "d", 3), "the file's name replaces a missing name"
    assert suite.config.timeout_seconds == 120
    assert suite.target is not None
    assert suite.named_target(suite.target).kind == "echo"


def test_braces_are_plain_text() -> None:
    case = load_case(prompt="Say {{name}}", expectedPatterns=["{{name}}"], timeoutMs=1)
    assert case.input == "Say \\{{name}}"
    assert graders(case) == {"expected_patterns": ["\\{{name}}"]}
    suite, _ = load({"name": "s", "tasks": [{"id": "t", "category": "bug_fix", "prompt": "p"}], "note": "{{x}}"})
    assert suite is not None
    assert not suite.templated, "text that is not read needs no variables"


def test_every_problem_is_reported_at_once_with_its_line() -> None:
    suite, findings = load(
        {
            "name": "s",
            "tasks": [
                {"id": "a", "category": "bugfix", "prompt": "p"},
                {"id": "b", "prompt": 5},
                {"id": "c", "category": "bug_fix", "prompt": "p", "expectedPatterns": ["regex:("]},
                {"id": "c", "category": "bug_fix", "prompt": "p", "expectedFiles": [{"path": "../x"}]},
                {"id": "d", "category": "bug_fix", "prompt": "p", "expectedToolSequence": {"calls": [1]}},
                {"id": "{{e}}", "category": "bug_fix", "prompt": "p", "timeoutMs": 0},
                "f",
            ],
        }
    )
    assert suite is None
    told = messages(findings)
    for part in [
        "tasks[0].category: 'bugfix' is not allowed",
        "tasks[1].category: is missing",
        "tasks[1].prompt: must be text, not 5",
        "tasks[2].expectedPatterns[0]: 'regex:(' is not a regular expression",
        "tasks[3].expectedFiles[0].path: must be a relative path inside the workspace",
        "tasks[3].id: task id 'c' is already used on line 14",
        "tasks[4].expectedToolSequence.calls[0]: must be a mapping",
        "tasks[5].id: must not contain {{",
        "tasks[5].timeoutMs: must be greater than 0",
        "tasks[6]: a task must be a mapping with id, category and prompt, not text",
    ]:
        assert any(line.startswith(part) for line in told), part
    assert [p.line for p in findings.problems] == sorted(p.line for p in findings.problems)
    for problem in findings.problems:
        if problem.field.endswith("category") or problem.message.startswith("category"):
            assert problem.allowed == ", ".join(TASK_CATEGORIES), "the eight are named"


def test_unknown_keys_are_warnings() -> None:
    task = {"id": "t", "category": "bug_fix", "prompt": "p", "expectedPattern": ["x"], "expectedFiles": [{"path": "a"}]}
    task["expectedFiles"][0]["mode"] = "0644"  # type: ignore[index]
    suite, findings = load({"name": "s", "owner": "me", "tasks": [task]})
    assert suite is not None
    assert messages(findings, "warning") == [
        "owner: unknown key 'owner'",
        "tasks[0].expectedPattern: unknown key 'expectedPattern'",
        "tasks[0].expectedFiles[0].mode: unknown key 'mode'",
    ]
    assert findings.problems[1].suggestion == "expectedPatterns"


def test_tasks_that_are_not_a_list_are_reported_as_such() -> None:
    for tasks, told in (("x", "must be a list, not text"), ({"a": {"prompt": "p"}}, "must be a list, not a mapping")):
        assert messages(load({"name": "s", "tasks": tasks})[1]) == [f"tasks: {told}: a task suite lists its tasks"]
    assert messages(load({"name": "s"})[1]) == ["tasks: is missing: a task suite lists its tasks"]


@pytest.mark.parametrize(
    "data", [[], {"name": "s"}, {"tasks": 5}, {"name": "s", "tasks": []}, {"tasks": [{}], "name": 5}]
)
def test_what_is_not_a_suite_is_refused_in_words(data: Any) -> None:
    suite, findings = load(data)
    assert suite is None
    assert findings.has_errors


@pytest.mark.parametrize(
    ("data", "is_ours"),
    [
        ({"name": "s", "tasks": [{"prompt": "p"}]}, True),
        ({"tasks": [{"id": "x", "category": "bug_fix"}]}, True),
        ({"name": "s", "tasks": []}, True),
        ({"version": "2.0.0", "tasks": [{"label": "build", "command": "make"}]}, False),
        ({"tasks": {"build": {}}}, False),
        ({"name": "s", "tasks": {"build": {}}}, False),
        ({"tasks": {"a": {"category": "bug_fix", "prompt": "p"}}}, True),
        ({"name": "s", "tasks": "a"}, True),
        ({"name": "s", "tasks": None}, True),
        ({"name": "s", "tasks": {}, "more": 1}, True),
        ({"tasks": {}}, True),
        ({"version": 3, "tasks": {}}, False),
        ({"name": "s", "tasks": "a", "on": "push"}, False),
        ({"tasks": [{"prompt": "p"}], "test_cases": []}, False),
        ([{"prompt": "p"}], False),
        (None, False),
    ],
)
def test_recognising_by_content(data: Any, is_ours: bool) -> None:
    assert looks_like_task_suite(data) is is_ours


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"name": "x", "tasks": [{"id": "a", "category": "bug_fix", "prompt": "p",}]'),
        ("a.yaml", "name: x\ntasks:\n  - id: a\n   prompt: [\n"),
        ("a.json", '{"cases": [{"id": "a", "assertions": [}]}'),
    ],
)
def test_a_file_in_a_folder_that_is_too_broken_to_be_read_is_reported(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    [file] = suites_below(tmp_path)
    assert [problem.severity for problem in file.problems] == ["error"]


def test_a_secret_in_a_header_belongs_into_a_target_file() -> None:
    task = {"id": "t", "category": "bug_fix", "prompt": "p"}
    target = {"http": {"url": "http://x", "headers": {"X-Api-Key": "litCanaryHeader77"}}}
    suite, findings = load({"target": target, "tasks": [task]})
    assert suite is None
    assert messages(findings) == [
        "target.http.headers.X-Api-Key: would be stored in plain text: write {{api_key}} and pass the value as a "
        "variable, in a target file"
    ]
