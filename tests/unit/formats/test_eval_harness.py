"""Eval-harness files in all spellings become the same cases; eval suites collect them from many files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from eval_files import grader, load, load_text, one_case, put, sound, told

from evalharness.domain.suite import Suite
from evalharness.formats.eval_harness.reader import load_eval_harness, looks_eval_harness
from evalharness.formats.native.reader import looks_native
from evalharness.formats.native.writer import dump_suite
from evalharness.syntax.source import read_source

CAPABILITY = """\
id: cap-1
name: Reverse
description: Reverses a text
category: strings
input: {type: prompt, content: hello, context: {lang: en}}
expected_output: {type: exact, value: olleh}
grader: {type: code, config: {method: exact_match}}
metadata: {difficulty: easy, tags: [a, b], timeout_seconds: 30, retries: 2, weight: 1.5, author: me}
"""
REGRESSION = """\
id: reg-1
baseline_version: v2
baseline: {output: {total: 5}, captured_at: "2024-01-15T10:30:00Z", environment: {os: linux}}
current: {input: {question: how many}, execution: {type: command, command: "cat"}}
comparison: {type: exact}
metadata: {criticality: high, last_passed: "2024-01-20T14:00:00Z", failure_count: 3}
"""
NATIVE = """\
schema_version: "1.0"
eval_type: capability
metadata: {id: multi, name: Many, category: strings, tags: [x], author: team, criticality: low}
config: {timeout_seconds: 7, retries: 3, parallel: true}
graders: [{not_contains: TODO}]
vars: {place: Rome}
test_cases:
  - {id: tc-1, input: hi, expected: {type: exact, value: ih}, tags: [y]}
  - {id: tc-2, input: "{{place}}", expected: emoR, graders: []}
"""


def indent(text: str, by: int, first: str = "") -> str:
    lines = text.rstrip().splitlines()
    return "\n".join((first if not number else " " * by) + line for number, line in enumerate(lines)) + "\n"


SPELLINGS = {
    "bare": CAPABILITY,
    "wrapped": "capability_eval:\n" + indent(CAPABILITY, 2, "  "),
    "list": indent(CAPABILITY, 2, "- "),
    "list of wrapped": "- capability_eval:\n" + indent(CAPABILITY, 4, "    "),
    "wrapped list": "capability_eval:\n" + indent(CAPABILITY, 4, "  - "),
    "in a suite": "eval_suite:\n  name: evals\n  evals:\n" + indent(CAPABILITY, 6, "    - "),
    "native": "test_cases:\n" + indent(CAPABILITY + "eval_type: capability\n", 4, "  - "),
    "native, by file": "eval_type: capability\ntest_cases:\n"
    + indent(CAPABILITY.replace("expected_output", "expected") + "eval_type: capability\n", 4, "  - "),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_capability_eval_is_the_same_case_in_every_spelling(tmp_path: Path, spelling: str) -> None:
    case = one_case(tmp_path, SPELLINGS[spelling])
    assert case == one_case(tmp_path, CAPABILITY, "single.yaml")
    assert (case.id, case.name, case.description, case.category) == ("cap-1", "Reverse", "Reverses a text", "strings")
    assert (case.eval_type, case.content, case.context) == ("capability", "hello", {"lang": "en"})
    assert grader(case) == ("exact", {"value": "olleh"})
    assert (case.difficulty, case.tags, case.weight) == ("easy", ("a", "b"), 1.5)
    assert (case.timeout_seconds, case.retries) == (30, 2)
    assert case.metadata == {"author": "me"}


REGRESSION_SPELLINGS = {
    "bare": REGRESSION,
    "wrapped": "regression_eval:\n" + indent(REGRESSION, 2, "  "),
    "mixed list": indent(REGRESSION, 2, "- "),
    "native": "test_cases:\n" + indent(REGRESSION, 4, "  - "),
}


@pytest.mark.parametrize("spelling", REGRESSION_SPELLINGS)
def test_a_regression_eval_is_the_same_case_in_every_spelling(tmp_path: Path, spelling: str) -> None:
    case = one_case(tmp_path, REGRESSION_SPELLINGS[spelling])
    assert case == one_case(tmp_path, REGRESSION, "single.yaml")
    assert (case.eval_type, case.criticality) == ("regression", "high")
    assert grader(case) == ("json_equals", {"value": {"total": 5}})
    assert case.metadata["failure_count"] == 3
    assert case.metadata["baseline"] == {
        "version": "v2",
        "captured_at": "2024-01-15T10:30:00Z",
        "environment": {"os": "linux"},
    }


def test_capability_and_regression_evals_may_be_in_one_list(tmp_path: Path) -> None:
    text = indent(CAPABILITY, 2, "- ") + "- regression_eval:\n" + indent(REGRESSION, 4, "    ")
    suite = sound(tmp_path, text)
    assert suite.name == "evals"
    assert [(case.id, case.eval_type) for case in suite.cases] == [("cap-1", "capability"), ("reg-1", "regression")]


def test_the_json_form_of_a_regression_eval(tmp_path: Path) -> None:
    document: dict[str, Any] = {
        "schema_version": "1.0",
        "eval_type": "regression",
        "metadata": {
            "id": "users",
            "name": "Users",
            "description": "d",
            "category": "api",
            "tags": ["t"],
            "criticality": "critical",
        },
        "config": {"timeout_seconds": 9},
        "baseline": {"version": "v2", "response": {"status": 200, "body": {"data": []}}},
        "test_case": {
            "input": {"method": "get", "path": "/users", "headers": {"Authorization": "Bearer {{TOKEN}}"}},
            "comparison": {"type": "structural", "options": {"ignore_values": ["data.*"], "require_keys": ["data"]}},
        },
        "grader": {"type": "code", "config": {"method": "structural_match", "strict": False}},
    }
    suite = sound(tmp_path, json.dumps(document), "users.json")
    [case] = suite.cases
    assert (suite.name, suite.eval_type, suite.config.timeout_seconds, suite.templated) == (
        "Users",
        "regression",
        9,
        True,
    )
    assert (case.id, case.name, case.description) == ("users", "Users", "d")
    assert (case.category, case.tags, case.criticality, case.eval_type) == ("api", ("t",), "critical", "regression")
    assert grader(case) == (
        "structural_match",
        {
            "value": {"status": 200, "body": {"data": []}},
            "ignore_values": ["data.*"],
            "require_keys": ["data"],
            "strict": False,
        },
    )
    assert case.input == {
        "type": "api_call",
        "content": {
            "method": "GET",
            "path": "/users",
            "headers": {"Authorization": "Bearer {{TOKEN}}"},
            "answer": "response",
        },
    }
    assert case.target is not None
    assert case.target.options == {"url": "{{api_base_url}}"}
    assert case.metadata["baseline"] == {"version": "v2"}


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    return put(
        tmp_path,
        {
            "suite.yaml": """\
eval_suite:
  name: Feature X
  version: "1.0.0"
  description: All of it
  config: {parallel_execution: false, max_workers: 4, timeout_global: 60, retry_failed: true, retry_count: 2}
  target: oracle
  evals:
    - $ref: ./capability/many.yaml
    - $ref: "capability/one.yaml"
    - $ref: nested/suite.yaml
    - {id: inline, input: q, expected_output: a}
""",
            "capability/many.yaml": NATIVE,
            "capability/one.yaml": CAPABILITY,
            "nested/suite.yaml": "eval_suite: {name: inner, target: echo, evals: [{$ref: ../regression/two.yaml}]}",
            "regression/two.yaml": indent(REGRESSION, 2, "- ") + "- {id: plain, input: q, expected_output: a}\n",
        },
    )


def test_a_suite_gathers_the_files_it_refers_to(layout: Path) -> None:
    suite, findings = load_eval_harness(read_source(layout / "suite.yaml"))
    assert suite is not None, findings.problems
    assert [case.id for case in suite.cases] == ["multi/tc-1", "multi/tc-2", "cap-1", "reg-1", "plain", "inline"]
    assert (suite.name, suite.version, suite.description) == ("Feature X", "1.0.0", "All of it")
    config = suite.config
    assert (config.parallel, config.max_workers, config.timeout_global) == (False, 4, 60)
    assert (config.retry_failed, config.retry_count) == (True, 2)
    assert findings.parts == {
        (layout / name).resolve()
        for name in ("capability/many.yaml", "capability/one.yaml", "nested/suite.yaml", "regression/two.yaml")
    }


def test_what_a_file_says_of_its_cases_goes_with_them(layout: Path) -> None:
    suite, _ = load(layout / "suite.yaml")
    assert suite is not None
    first, second, single, regression, plain, _ = suite.cases
    assert (first.timeout_seconds, first.retries, first.eval_type) == (7, 3, "capability")
    assert (first.category, first.criticality, first.tags) == ("strings", "low", ("x", "y"))
    assert first.metadata == {"author": "team"}
    assert first.graders is not None
    assert [spec.kind for spec in first.graders] == ["not_contains"]
    assert second.graders == ()
    assert suite.vars == {"place": "Rome"}
    assert single.graders is None
    assert regression.target is not None
    assert regression.target.kind == "command"
    assert plain.target is not None
    assert plain.target.kind == "echo"


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "suite.yaml": "eval_suite: {name: s, evals: [{$ref: deep/er/evals.yaml}]}",
            "deep/er/evals.yaml": """\
target: agent.py:answer
targets: {fast: {command: [./run.sh]}}
graders: ['../checks.py:good', {any_of: [{not: {function: 'own.py:bad'}}, {contains: x}]}, 'some.module:good']
test_cases:
  - {id: a, input: {type: file, content: question.txt}, files: {q.txt: {path: ../data.txt}}}
  - {id: b, input: hi, expected: x, target: fast}
  - {id: c, input: hi, expected: x, target: 'own.py:answer'}
""",
            "deep/er/question.txt": "What is {{this}}?",
            "deep/er/own.py": "bad = answer = bool",
            "deep/er/agent.py": "answer = str",
            "deep/checks.py": "good = bool",
            "deep/data.txt": "data",
        },
    )
    suite, problems = load(tmp_path / "suite.yaml")
    assert suite is not None, problems
    a, b, c = suite.cases
    assert a.content == "What is \\{{this}}?"
    assert a.files["q.txt"].path == "deep/data.txt"
    assert a.graders is not None
    assert a.graders[0].options == "deep/checks.py:good"
    inner = a.graders[1].options["graders"][0]
    assert inner["options"]["grader"]["options"] == "deep/er/own.py:bad"
    assert a.graders[2].options == "some.module:good"
    assert a.target is not None
    assert b.target is not None
    assert c.target is not None
    assert (a.target.options, a.target.root) == ("agent.py:answer", "deep/er")
    assert (suite.named_target(b.target).options, suite.named_target(b.target).root) == (["./run.sh"], "deep/er")
    assert (c.target.options, c.target.root) == ("own.py:answer", "deep/er")


def test_own_comparators_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    files = {
        "suite.yaml": "eval_suite: {name: s, evals: [{$ref: deep/evals.yaml}]}",
        "deep/evals.yaml": """\
id: a
input: x
expected_output: {type: functional, value: {test_cases: [{input: [1], output: 1, comparator: 'own.py:same'}]}}
grader: {type: code, config: {function_name: f, comparator: '../near.py:near'}}
""",
    }
    suite, problems = load(put(tmp_path, files) / "suite.yaml")
    assert suite is not None, problems
    [case] = suite.cases
    _, options = grader(case)
    assert options["comparator"] == "near.py:near"
    assert options["test_cases"][0]["comparator"] == "deep/own.py:same"


def test_comparators_inside_of_other_graders_are_found_as_well(tmp_path: Path) -> None:
    files = {
        "suite.yaml": "eval_suite: {name: s, evals: [{$ref: deep/evals.yaml}]}",
        "deep/evals.yaml": """\
test_cases:
  - id: a
    input: x
    graders:
      - any_of:
          - function_output:
              function_name: f
              test_cases: [{expected: 1, comparator: 'own.py:same'}, {expected: 1, comparator: approx}]
""",
    }
    suite, problems = load(put(tmp_path, files) / "suite.yaml")
    assert suite is not None, problems
    graders = suite.cases[0].graders
    assert graders is not None
    cases = graders[0].options["graders"][0]["options"]["test_cases"]
    assert [case.get("comparator") for case in cases] == ["deep/own.py:same", "approx"]


def test_a_target_of_a_part_is_found_in_its_folder(tmp_path: Path) -> None:
    from evalharness.contracts.services import Services
    from evalharness.engine.running.worker_threads import Offloader
    from evalharness.registry import build_target
    from evalharness.sandboxes.none import NoSandbox

    put(tmp_path, {"suite.yaml": "eval_suite: {name: s, evals: [{$ref: a/b.yaml}]}"})
    put(tmp_path, {"a/b.yaml": "target: agent.py:answer\ntest_cases: [{id: a, input: x, expected: x}]"})
    put(tmp_path, {"a/agent.py": "answer = str"})
    suite, _ = load(tmp_path / "suite.yaml")
    assert suite is not None
    spec = suite.cases[0].target
    assert spec is not None
    target = build_target(spec, Services(tmp_path, NoSandbox(), Offloader(1), environment={}))
    assert target.services.root == tmp_path / "a"  # type: ignore[attr-defined]


DOCUMENTED = re.compile(r"^`([\w./-]+)`:\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_documented_folder_loads_file_by_file_and_as_a_whole(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "eval-harness-files.md").read_text(encoding="utf-8")
    put(tmp_path, dict(DOCUMENTED.findall(page)))
    suite, problems = load(tmp_path / "evals" / "eval-suite.yaml")
    assert suite is not None, [str(problem) for problem in problems]
    assert [case.id for case in suite.cases] == [
        "cap-reverse",
        "cap-factorial",
        "cap-extract",
        "cap-polite",
        "strings/simple",
        "strings/stable",
        "reg-users",
        "reg-review",
        "reg-orders",
        "inline",
    ]
    assert all("has no effect" in problem.message for problem in problems), [str(problem) for problem in problems]
    for part in re.findall(r"\$ref: \./(\S+)", page):
        alone, problems = load(tmp_path / "evals" / part)
        assert alone is not None, [str(problem) for problem in problems]


@pytest.mark.parametrize("text", [*SPELLINGS.values(), *REGRESSION_SPELLINGS.values(), NATIVE])
def test_what_is_dumped_loads_back_to_the_same(tmp_path: Path, text: str) -> None:
    suite = sound(tmp_path, text)
    assert sound(tmp_path, dump_suite(suite), "dumped.yaml") == suite


def test_a_gathered_suite_is_dumped_as_one_file(layout: Path) -> None:
    suite, _ = load(layout / "suite.yaml")
    assert suite is not None
    assert sound(layout, dump_suite(suite), "dumped.yaml") == suite


def two_parts(folder: Path, first: str, second: str, more: str = "") -> tuple[Suite | None, list[str]]:
    put(folder, {"suite.yaml": f"eval_suite: {{name: s, {more} evals: [{{$ref: 1.yaml}}, {{$ref: 2.yaml}}]}}"})
    put(folder, {"1.yaml": first, "2.yaml": second})
    suite, problems = load(folder / "suite.yaml")
    return suite, [str(problem).replace(f"{folder}/", "") for problem in problems]


def test_an_id_used_twice_is_reported_with_both_files(tmp_path: Path) -> None:
    row = "{id: same, input: x, expected_output: x}"
    suite, problems = two_parts(tmp_path, f"[{row}]", f"- {{id: other, input: x, expected_output: x}}\n- {row}")
    assert suite is None
    assert problems == ["2.yaml:2: [1].id: case id 'same' is already used in 1.yaml:1"]


def test_cases_without_ids_are_distinguished_by_their_files(tmp_path: Path) -> None:
    rows = "test_cases: [{input: x, expected: x}, {input: y, expected: y}]"
    suite, problems = two_parts(tmp_path, rows, rows)
    assert suite is not None, problems
    assert [case.id for case in suite.cases] == ["1/case-1", "1/case-2", "2/case-1", "2/case-2"]


def test_parts_that_disagree_about_a_variable_leave_it_to_the_suite(tmp_path: Path) -> None:
    part = "{{vars: {{City: {0}}}, test_cases: [{{id: {0}, input: '{{{{city}}}}', expected: x}}]}}"
    suite, problems = two_parts(tmp_path, part.format("Rome"), part.format("Oslo"))
    assert suite is None
    assert problems == ["2.yaml:1: vars.City: 'City' is different in 1.yaml; define it in the suite's own `vars`"]
    suite, _ = two_parts(tmp_path, part.format("Rome"), part.format("Oslo"), "vars: {CITY: Paris},")
    assert suite is not None
    assert suite.vars == {"CITY": "Paris"}


def test_targets_of_parts_keep_their_names(tmp_path: Path) -> None:
    part = "{{targets: {{{0}: {1}}}, test_cases: [{{id: {1}, input: x, expected: x, target: {0}}}]}}"
    suite, problems = two_parts(tmp_path, part.format("Fast", "oracle"), part.format("fast", "echo"))
    assert suite is not None, problems
    assert {name: spec.kind for name, spec in suite.targets.items()} == {"Fast": "oracle", "fast": "echo"}
    assert [suite.named_target(case.target).kind for case in suite.cases if case.target] == ["oracle", "echo"]


def test_what_a_part_says_of_the_run_is_not_used_and_reported(tmp_path: Path) -> None:
    first = "config: {timeout_seconds: 3, retries: 1, parallel: false, seed: 5}\ntest_cases: [{input: x, expected: x}]"
    suite, problems = two_parts(tmp_path, first, "test_cases: [{input: x, expected: x}]")
    assert suite is not None
    assert (suite.cases[0].timeout_seconds, suite.config.parallel, suite.config.seed) == (3, True, 0)
    assert problems == [
        f"1.yaml:1: warning: config.{key}: is ignored: the suite that includes this file decides"
        for key in ("parallel", "seed")
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ({"name": "n", "tasks": [{"id": "a", "category": "bug_fix", "prompt": "p"}]}, "task suite"),
        (
            {"id": "d", "workflowName": "w", "version": "1", "cases": [{"id": "a", "input": {}, "assertions": []}]},
            "workflow dataset",
        ),
    ],
)
def test_files_of_other_formats_are_not_referred_to(tmp_path: Path, data: Any, what: str) -> None:
    put(tmp_path, {"other.json": json.dumps(data)})
    [line] = told(tmp_path, "eval_suite: {name: s, evals: [{$ref: other.json}]}")
    assert line == (
        f"evals.yaml:1: eval_suite.evals[0].$ref: other.json is a {what}; "
        "only eval-harness and native files can be referenced"
    )


TYPED = [
    "{id: a, eval_type: capabilty, input: x, expected_output: x}",
    "eval_suite: {name: s, eval_type: capabilty, evals: [{id: a, input: x, expected_output: x}]}",
    "{eval_type: capabilty, test_case: {input: x, expected_output: x}}",
]


@pytest.mark.parametrize("text", TYPED)
def test_an_unknown_eval_type_is_warned_of(tmp_path: Path, text: str) -> None:
    sound(tmp_path, text)
    [line] = told(tmp_path, text)
    assert "warning" in line
    assert line.endswith("eval_type: unknown eval_type 'capabilty'; did you mean 'capability'?")
    assert told(tmp_path, text.replace("capabilty", "capability")) == []


TYPED_NATIVE = [
    "{eval_type: capabilty, test_cases: [{id: a, input: x, expected: x}]}",
    "{test_cases: [{id: a, eval_type: capabilty, input: x, expected: x}]}",
]


@pytest.mark.parametrize("text", TYPED_NATIVE)
def test_in_a_native_file_it_is_an_error(tmp_path: Path, text: str) -> None:
    [line] = told(tmp_path, text)
    assert "warning" not in line
    assert line.endswith("eval_type: unknown eval_type 'capabilty'; did you mean 'capability'?")
    assert told(tmp_path, text.replace("capabilty", "regression")) == []


def test_a_difficulty_of_ones_own_is_warned_of(tmp_path: Path) -> None:
    text = "{id: a, input: x, expected_output: x, metadata: {difficulty: esay}}"
    [line] = told(tmp_path, text)
    assert line == "evals.yaml:1: warning: metadata.difficulty: unknown difficulty 'esay'; did you mean 'easy'?"
    assert one_case(tmp_path, text).difficulty == "esay"


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ("failure_count: -3", "metadata.failure_count: must be at least 0, not -3"),
        ("failure_count: three", "metadata.failure_count: must be a whole number, not 'three'"),
        ("failure_count: true", "metadata.failure_count: must be a whole number, not true"),
        ("last_passed: yesterday", "metadata.last_passed: must be a date or a time such as 2024-01-20T14:00:00Z"),
        ("last_passed: [2024]", "metadata.last_passed: must be a date or a time such as 2024-01-20T14:00:00Z"),
    ],
)
def test_a_history_that_cannot_be_counted_from_is_an_error(tmp_path: Path, metadata: str, problem: str) -> None:
    for text in ("{id: a, input: x, expected_output: x, METADATA}", "test_cases: [{input: x, expected: x, METADATA}]"):
        [line] = told(tmp_path, text.replace("METADATA", f"metadata: {{{metadata}}}"))
        assert problem in line and "warning" not in line


@pytest.mark.parametrize("history", ["last_passed: 2024-01-20", "failure_count: 3"])
def test_a_history_outside_of_the_metadata_is_reported_with_its_place(tmp_path: Path, history: str) -> None:
    key = history.partition(":")[0]
    [line] = told(tmp_path, f"test_cases: [{{input: x, expected: x, {history}}}]")
    assert line.endswith(f"test_cases[0].{key}: belongs under `metadata`")


@pytest.mark.parametrize("metadata", ["last_passed: 2024-01-20", "last_passed: 2024-01-20T14:00:00Z, failure_count: 0"])
def test_a_history_is_kept_as_it_is_written(tmp_path: Path, metadata: str) -> None:
    case = one_case(tmp_path, f"{{id: a, input: x, expected_output: x, metadata: {{{metadata}}}}}")
    assert str(case.metadata["last_passed"]) in metadata


@pytest.mark.parametrize(
    "text",
    [
        "{schema_version: 1.0, id: a, input: x, expected_output: x}",
        "{schema_version: '1.0', capability_eval: {id: a, input: x, expected_output: x}}",
    ],
)
def test_a_single_eval_may_have_a_schema_version(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, text) == []
    assert one_case(tmp_path, text).id == "a"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[{input: x, expected_output: x}, {input: y, expected: y}]", ["case-1", "case-2"]),
        ("[{input: x, expected: x}, {id: b, input: y, expected: y}]", ["case-1", "b"]),
        ("{input: x, expected_output: x}", ["case-1"]),
        ("{input: x, expected: x}", ["case-1"]),
        ("{baseline: {output: x}, current: {input: y}}", ["case-1"]),
        ("capability_eval: {input: x, expected_output: x}", ["case-1"]),
    ],
)
def test_evals_are_recognised_without_their_ids(tmp_path: Path, text: str, ids: list[str]) -> None:
    assert [case.id for case in sound(tmp_path, text).cases] == ids


def test_a_list_of_nothing_is_not_a_suite(tmp_path: Path) -> None:
    put(tmp_path, {"nothing.json": "[]"})
    suite, findings = load_eval_harness(read_source(tmp_path / "nothing.json"))
    assert suite is None
    assert [problem.message for problem in findings.problems] == ["is empty: a suite needs at least one eval"]


def test_problems_of_a_part_name_the_part_and_its_line(tmp_path: Path) -> None:
    suite, problems = two_parts(
        tmp_path,
        "- id: a\n  input: x\n  expected_output: {type: exact, valeu: x}\n  colour: red\n",
        "trials: 5\ntest_cases:\n  - {id: b, inptu: x}\n",
        "colour: red,",
    )
    assert suite is None
    assert [line.split("; ")[0] for line in problems] == [
        "suite.yaml:1: warning: eval_suite.colour: unknown key 'colour'",
        "1.yaml:3: warning: [0].expected_output.valeu: unknown key 'valeu'",
        "1.yaml:3: [0].expected_output.value: is missing",
        "1.yaml:4: warning: [0].colour: unknown key 'colour'",
        "2.yaml:1: warning: trials: is ignored: the suite that includes this file decides",
        "2.yaml:3: test_cases[0].inptu: unknown key 'inptu'",
        "2.yaml:3: test_cases[0].input: is missing",
    ]


BROKEN = [
    ("eval_suite: 5", "evals.yaml:1: eval_suite: must be a mapping with evals"),
    ("eval_suite: {name: x}", "evals.yaml:1: eval_suite.evals: is missing"),
    ("eval_suite: {name: x, evals: 5}", "evals.yaml:1: eval_suite.evals: must be a list of evals or {$ref: …}, not a"),
    ("capability_eval: []", "evals.yaml:1: capability_eval: is empty"),
    ("eval_suite: {name: x, evals: []}", "evals.yaml:1: eval_suite.evals: is empty"),
    ("eval_suite: {name: x, evals: [5]}", "evals.yaml:1: eval_suite.evals[0]: an eval must be a mapping"),
    ("capability_eval: 5", "evals.yaml:1: capability_eval: an eval must be a mapping"),
    ("capability_eval: [5]", "evals.yaml:1: capability_eval[0]: an eval must be a mapping"),
    ("eval_type: regression\ntest_case: 5", "evals.yaml:2: test_case: must be a mapping"),
    ("{id: a, expected_output: x}", "evals.yaml:1: input: is missing"),
    ("{id: a, input: x, expected_output: x, metadata: {weight: -1}}", "evals.yaml:1: metadata.weight: must be"),
]


@pytest.mark.parametrize(("text", "start"), BROKEN)
def test_broken_files_are_refused_in_words(tmp_path: Path, text: str, start: str) -> None:
    suite, _ = load_text(tmp_path, text)
    assert suite is None
    assert [line for line in told(tmp_path, text) if line.startswith(start)]


NOT_EVALS: list[Any] = [
    None,
    5,
    "eval_suite",
    [],
    [1],
    {},
    {"phase": {"name": "x", "steps": []}},
    {"eval_trigger": {"when": "after_tests_pass", "suite": "x"}},
    {"exact_match": {"type": "code", "config": {}}},
    {"id": "a", "name": "no eval"},
    {"baseline": "x"},
    {"input": "x"},
    {"expected": "x"},
    {"name": "s", "tasks": []},
    {"id": "d", "workflowName": "w", "cases": []},
]


@pytest.mark.parametrize("data", NOT_EVALS)
def test_other_files_are_left_alone(data: Any) -> None:
    assert not looks_eval_harness(data)
    assert not looks_native(data)


def test_only_texts_with_braces_make_a_suite_templated(tmp_path: Path) -> None:
    plain = "{id: a, input: x, expected_output: x, unknown: '{{x}}'}"
    assert not sound(tmp_path, plain).templated
    assert sound(tmp_path, plain.replace("input: x", "input: '{{x}}'")).templated
    put(tmp_path, {"q.txt": "{{"})
    assert sound(tmp_path, plain.replace("input: x", "input: {type: file, content: q.txt}")).templated


@pytest.mark.parametrize("listed", ["", "secrets: [mine]\n"])
def test_a_variable_in_a_secret_place_of_a_cases_own_target_must_be_known_for_one(tmp_path: Path, listed: str) -> None:
    text = (
        "name: s\n"
        f"{listed}"
        "test_cases:\n"
        "  - id: a\n    input: hi\n    graders: [{contains: hi}]\n"
        "    target: {http: {url: 'http://127.0.0.1:1/', headers: {Authorization: 'Bearer {{mine}}'}}}\n"
    )
    problems = [line for line in told(tmp_path, text, "suite.yaml") if "mine" in line]
    assert [("the variable mine would be stored" in line) for line in problems] == ([] if listed else [True])


@pytest.mark.parametrize(
    "checked", ['expected: {contains: ""}', 'graders: [{contains: ["", a]}]', "expected: {type: contains, value: ''}"]
)
def test_an_empty_text_to_look_for_is_warned_of(tmp_path: Path, checked: str) -> None:
    [line] = told(tmp_path, f"test_cases: [{{input: x, {checked}}}]")
    assert "warning: test_cases[0]." in line
    assert line.endswith(": an empty text matches every answer")
