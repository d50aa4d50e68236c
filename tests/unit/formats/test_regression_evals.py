"""Baselines, comparisons and executions of regression evals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eval_files import grader, one_case, put, sound, told

RESPONSE = "{status: 200, body: {id: '{{any_uuid}}', n: 1}}"


def regression(output: str, comparison: str, current: str = "{input: x}", more: str = "") -> str:
    return f"id: r\nbaseline: {{output: {output}}}\ncurrent: {current}\ncomparison: {comparison}\n{more}\n"


COMPARED: list[tuple[str, str, str, Any]] = [
    ("text", "{type: exact}", "exact", {"value": "text"}),
    ("{a: 1}", "{type: exact}", "json_equals", {"value": {"a": 1}}),
    ("{a: 1}", "{}", "json_equals", {"value": {"a": 1}}),
    (
        "{a: 1, b: 2}",
        "{type: exact, ignore_fields: [b]}",
        "structural_match",
        {"value": {"a": 1, "b": 2}, "allow_additional_fields": False, "ignore_fields": ["b"]},
    ),
    (
        "{a: '{{any_number}}'}",
        "{type: exact}",
        "structural_match",
        {"value": {"a": "{{any_number}}"}, "allow_additional_fields": False},
    ),
    (
        "{a: 1}",
        "{type: structural, tolerance: {allow_additional_fields: false}, ignore_fields: [x.*.y],"
        " options: {require_keys: [a], ignore_values: [b]}}",
        "structural_match",
        {
            "value": {"a": 1},
            "allow_additional_fields": False,
            "require_keys": ["a"],
            "ignore_values": ["b"],
            "ignore_fields": ["x.*.y"],
        },
    ),
    (
        "{a: 1}",
        "{type: structural, options: {ignore_fields: [b]}}",
        "structural_match",
        {"value": {"a": 1}, "ignore_fields": ["b"]},
    ),
    (
        "{scores: {tone: 4.5}}",
        "{type: numeric, tolerance: {scores: {min_delta: -0.3, max_delta: null}}}",
        "numeric_deltas",
        {"value": {"scores": {"tone": 4.5}}, "tolerance": {"scores": {"min_delta": -0.3, "max_delta": None}}},
    ),
    (
        "{n: 1}",
        "{type: numeric, options: {tolerance: {n: {max_delta: 1}}}}",
        "numeric_deltas",
        {"value": {"n": 1}, "tolerance": {"n": {"max_delta": 1}}},
    ),
    (
        "{n: 1, at: 5}",
        "{type: numeric, ignore_fields: [at]}",
        "numeric_deltas",
        {"value": {"n": 1, "at": 5}, "tolerance": {}, "ignore_fields": ["at"]},
    ),
    ("says this", "{type: semantic}", "semantic_similarity", {"value": "says this"}),
    ("[says, this]", "{type: semantic}", "semantic_similarity", {"value": ["says", "this"]}),
    (
        "says this",
        "{type: semantic, tolerance: {threshold: 0.9}, options: {model: openai/small}}",
        "semantic_similarity",
        {"value": "says this", "threshold": 0.9, "model": "openai/small"},
    ),
]


@pytest.mark.parametrize(("output", "comparison", "kind", "options"), COMPARED)
def test_how_todays_answer_is_compared(tmp_path: Path, output: str, comparison: str, kind: str, options: Any) -> None:
    assert grader(one_case(tmp_path, regression(output, comparison))) == (kind, options)


def test_a_grader_beside_the_comparison_adds_its_options(tmp_path: Path) -> None:
    code = "grader: {type: code, config: {method: structural_match, strict: true}}"
    case = one_case(tmp_path, regression("{a: 1}", "{type: structural}", more=code))
    assert grader(case) == ("structural_match", {"value": {"a": 1}, "strict": True})
    case = one_case(tmp_path, regression("{a: 1}", "{}", more=code))
    assert grader(case) == ("structural_match", {"value": {"a": 1}, "strict": True}), "and may replace it"
    model = "grader: {type: model, config: {rubric: r}}"
    case = one_case(tmp_path, regression("{a: 1}", "{type: structural, ignore_fields: [b]}", more=model))
    assert grader(case) == ("model", {"expected": {"a": 1}, "rubric": "r"})


def test_what_is_wrong_with_a_comparison_is_reported(tmp_path: Path) -> None:
    [line] = told(tmp_path, regression("x", "{type: structral}"))
    assert "did you mean 'structural'?" in line
    [line] = told(tmp_path, regression("{n: 1}", "{type: numeric, require_keys: [a]}"))
    assert "warning" in line
    assert "has no effect in a numeric comparison" in line
    [line] = told(tmp_path, regression("says this", "{type: semantic, ignore_fields: [a]}"))
    assert "has no effect in a semantic comparison" in line
    [line] = told(tmp_path, regression("{a: 1}", "{type: structural, ignore_field: [a]}"))
    assert "warning" in line
    assert "did you mean 'ignore_fields'?" in line
    native = "test_cases: [{id: r, input: x, baseline: {output: x}, comparison: {type: exact, ignore_field: [a]}}]"
    [line] = told(tmp_path, native)
    assert "warning" not in line
    [line] = told(tmp_path, "{id: r, baseline: {captured_at: x}, current: {input: x}}")
    assert "baseline: has no output" in line
    assert any("cannot be combined with" in line for line in told(tmp_path, regression("x", "{}", more="expected: x")))


WHOLE = '{"output": {"a": 1}, "captured_at": "then", "version": "v9"}'


@pytest.mark.parametrize(
    ("baseline", "content", "about"),
    [
        ("{$ref: baselines/a.json}", WHOLE, {"captured_at": "then", "version": "v9"}),
        ("{$ref: baselines/a.json}", '{"a": 1}', None),
        ("{output: {$ref: baselines/a.json}}", '{"a": 1}', None),
        ("{$ref: baselines/a.json, version: v2}", '{"a": 1}', {"version": "v2"}),
        ("{$ref: baselines/a.json, version: v2}", WHOLE, {"captured_at": "then", "version": "v2"}),
    ],
)
def test_a_baseline_may_be_in_a_file_of_its_own(
    tmp_path: Path, baseline: str, content: str, about: dict[str, str] | None
) -> None:
    put(tmp_path, {"baselines/a.json": content})
    case = one_case(tmp_path, f"{{id: r, baseline: {baseline}, current: {{input: x}}}}")
    assert grader(case) == ("json_equals", {"value": {"a": 1}})
    assert case.metadata.get("baseline") == about


def test_a_baseline_may_be_a_text(tmp_path: Path) -> None:
    put(tmp_path, {"baselines/a.txt": "Dear Ada,\n{not: data\n"})
    case = one_case(tmp_path, "{id: r, baseline: {$ref: baselines/a.txt}, current: {input: x}}")
    assert grader(case) == ("exact", {"value": "Dear Ada,\n{not: data\n"})
    case = one_case(tmp_path, "{id: r, baseline: {output: {$ref: baselines/a.txt}}, current: {input: x}}")
    assert grader(case) == ("exact", {"value": "Dear Ada,\n{not: data\n"})
    (tmp_path / "baselines" / "b.bin").write_bytes(b"\xff")
    [line] = told(tmp_path, "{id: r, baseline: {$ref: baselines/b.bin}, current: {input: x}}")
    assert "evals.yaml:1: baseline.$ref: baselines/b.bin is not UTF-8 text" in line


def test_a_baseline_may_be_anywhere_in_the_layout_but_not_outside(tmp_path: Path) -> None:
    put(tmp_path, {"evals/config/graders.yaml": "x: exact", "evals/baselines/a.json": "1", "outside.json": "2"})
    text = "{id: r, baseline: {$ref: %s}, current: {input: x}}"
    case = one_case(tmp_path, text % "../../baselines/a.json", "evals/regression/api/users.yaml")
    assert grader(case) == ("exact", {"value": 1})
    [line] = told(tmp_path, text % "../../../outside.json", "evals/regression/api/users.yaml")
    assert "users.yaml:1: baseline.$ref: ../../../outside.json is outside the suite's folder" in line
    [line] = told(tmp_path, text % "none.json", "evals/regression/api/users.yaml")
    assert "there is no file none.json" in line


EXECUTED: list[tuple[str, str, Any, Any]] = [
    (
        "{input: {method: get, endpoint: /users, query: {page: 1}}, execution: {type: http, base_url: 'http://x'}}",
        "http",
        {"url": "http://x"},
        {
            "type": "api_call",
            "content": {"method": "GET", "path": "/users", "query": {"page": 1}, "answer": "response"},
        },
    ),
    (
        "{input: {method: POST, url: 'http://x:1/users?a=b', body: {n: 1}}}",
        "http",
        {"url": "http://x:1"},
        {
            "type": "api_call",
            "content": {"method": "POST", "path": "/users?a=b", "body": {"n": 1}, "answer": "response"},
        },
    ),
    (
        "{input: {method: GET, path: /users}}",
        "http",
        {"url": "{{api_base_url}}"},
        {"type": "api_call", "content": {"method": "GET", "path": "/users", "answer": "response"}},
    ),
    ("{input: {q: 1}, execution: {type: command, command: [cat]}}", "command", {"command": ["cat"]}, {"q": 1}),
    ("{input: {q: 1}, execution: {type: function, function: 'a:b'}}", "function", {"function": "a:b"}, {"q": 1}),
    (
        "{input: {q: 1}, execution: {type: skill, skill_name: review, parameters: {deep: true}}}",
        "skill",
        "review",
        {"input": {"q": 1}, "parameters": {"deep": True}},
    ),
]


@pytest.mark.parametrize(("current", "kind", "options", "asked"), EXECUTED)
def test_how_todays_answer_is_got(tmp_path: Path, current: str, kind: str, options: Any, asked: Any) -> None:
    case = one_case(tmp_path, regression(RESPONSE, "{type: structural}", current))
    assert case.target is not None
    assert (case.target.kind, case.target.options) == (kind, options)
    assert case.input == asked


def test_the_graders_see_the_body_unless_the_baseline_is_a_response(tmp_path: Path) -> None:
    current = "{input: {method: GET, path: /users}}"
    case = one_case(tmp_path, regression("{users: []}", "{type: structural}", current))
    assert case.content["answer"] == "body"
    ticket = "{status: open, body: It is broken}"
    case = one_case(tmp_path, regression(ticket, "{type: structural}", current))
    assert case.content["answer"] == "body", "the status of a ticket is not that of a response"
    case = one_case(tmp_path, regression("{status: '{{any_number}}', body: 1}", "{type: structural}", current))
    assert case.content["answer"] == "response"


def test_a_guessed_target_gives_way_to_that_of_the_suite(tmp_path: Path) -> None:
    put(tmp_path, {"r.yaml": regression(RESPONSE, "{type: structural}", "{input: {method: GET, path: /users}}")})
    suite = sound(tmp_path, "eval_suite: {name: s, target: {http: {url: 'http://x'}}, evals: [{$ref: r.yaml}]}")
    assert suite.cases[0].target is None


def test_an_execution_that_cannot_be_is_reported(tmp_path: Path) -> None:
    [line] = told(tmp_path, regression("x", "{}", "{input: x, execution: {type: htpp, base_url: x}}"))
    assert "unknown target 'htpp'" in line
    [line] = told(tmp_path, regression("x", "{}", "{input: x, execution: {type: skill}}"))
    assert "has no skill" in line
    [line] = told(tmp_path, regression("x", "{}", "{input: x, execution: {type: command}}"))
    assert line == "evals.yaml:3: current.execution.command: is missing"


def test_what_is_not_known_of_an_execution_is_reported_and_left_out(tmp_path: Path) -> None:
    for execution, kind, options in (
        ("{type: command, command: cat, weird: 1, name: mine}", "command", {"command": "cat"}),
        ("{type: http, base_url: 'http://x', weird: 1}", "http", {"url": "http://x"}),
    ):
        text = regression("x", "{}", f"{{input: x, execution: {execution}}}")
        [line] = told(tmp_path, text)
        assert line.startswith("evals.yaml:3: warning: current.execution.weird: unknown key 'weird'")
        target = one_case(tmp_path, text).target
        assert target is not None
        assert (target.kind, target.options) == (kind, options)


def test_what_is_not_a_mapping_is_reported_once(tmp_path: Path) -> None:
    assert told(tmp_path, "{id: r, baseline: {output: x}, current: hi}") == [
        "evals.yaml:1: current: must be a mapping, not text"
    ]


def test_a_limit_that_is_not_a_number_is_reported_as_such(tmp_path: Path) -> None:
    comparison = "{type: numeric, tolerance: {a: {min_delta: low}}}"
    [line] = told(tmp_path, regression("{a: 1}", comparison))
    assert "a.min_delta must be a number, not 'low'" in line
