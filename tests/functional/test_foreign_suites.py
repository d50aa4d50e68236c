"""Suites in other formats, run by the real command: regressions against a real server, tasks on a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from driving import drive
from threaded_server import Reply, serving

USERS = {
    "users": [
        {
            "id": "7f1d7a70-9c4b-4b8e-9a53-0d9d6f4b7a11",
            "name": "Ada",
            "email": "ada@example.org",
            "created_at": "2026-01-02T03:04:05Z",
        }
    ],
    "pagination": {"page": 1, "per_page": 20, "total": 41},
    "took_ms": 3,
}
DATA = {"data": [{"id": 1}, {"id": 2}], "meta": {"page": 1, "per_page": 20, "total": 2}}

REGRESSIONS = """
- id: users
  description: The list of users keeps its shape
  baseline_version: v2
  baseline:
    output:
      status: 200
      body:
        users:
          - {id: "{{any_uuid}}", name: "{{any_string}}", email: "{{any_email}}", created_at: "{{any_iso_datetime}}"}
        pagination: {page: 1, per_page: 20, total: "{{any_number}}"}
  current:
    input: {method: GET, endpoint: /v1/users, headers: {Authorization: "Bearer {{test_token}}"}}
    execution: {type: http, base_url: "{{api_base_url}}"}
  comparison:
    type: structural
    tolerance: {allow_additional_fields: true, allow_field_reordering: true}
    ignore_fields: ["users.*.id", pagination.total]
  metadata: {criticality: critical, failure_count: 0}
- id: quality
  baseline: {output: {scores: {tone: 4.6, depth: 4.0}, comment: fine}}
  current:
    input: {diff: a.patch}
    execution: {type: skill, skill_name: review, parameters: {depth: thorough}}
  comparison: {type: numeric, tolerance: {scores: {min_delta: -0.3, max_delta: null}}}
  metadata: {criticality: high, failure_count: 1}
"""
ENDPOINT = {
    "schema_version": "1.0",
    "eval_type": "regression",
    "metadata": {"id": "data", "name": "Data endpoint", "criticality": "critical"},
    "baseline": {
        "version": "v2",
        "response": {
            "status": 200,
            "headers": {"content-type": "application/json"},
            "body": {"data": [], "meta": {"page": 1, "per_page": 20}},
        },
    },
    "test_case": {
        "input": {"method": "GET", "path": "/v1/data", "headers": {"Authorization": "Bearer {{TEST_TOKEN}}"}},
        "comparison": {
            "type": "structural",
            "options": {"ignore_values": ["data.*", "meta.total"], "require_keys": ["data", "meta.page"]},
        },
    },
    "grader": {"type": "code", "config": {"method": "structural_match", "strict": False}},
}


@contextmanager
def api(replies: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """A server that returns JSON, and the tokens it received."""
    tokens: list[str] = []

    def reply(request: BaseHTTPRequestHandler, body: bytes) -> Reply:
        tokens.append(request.headers.get("Authorization", ""))
        found = replies.get(request.path)
        return Reply(json.dumps(found), 404 if found is None else 200, "application/json; charset=utf-8")

    with serving(reply) as base:
        yield base, tokens


@pytest.fixture
def regressions(tmp_path: Path) -> Path:
    (tmp_path / "examples.yaml").write_text(REGRESSIONS, encoding="utf-8")
    (tmp_path / "endpoint.json").write_text(json.dumps(ENDPOINT), encoding="utf-8")
    return tmp_path


def trial(report: dict[str, Any], case_id: str) -> dict[str, Any]:
    return next(each for each in report["trials"] if each["case_id"] == case_id)


def test_regressions_run_against_a_real_server(regressions: Path) -> None:
    with api({"/v1/users": USERS, "/v1/data": DATA}) as (base, tokens):
        flags = ("--var", f"api_base_url={base}", "--var", "test_token=token-of-the-test", "--json")
        shapes = drive(regressions, "run", "examples.yaml", *flags)
        endpoint = drive(regressions, "run", "endpoint.json", *flags)
    assert (shapes.code, endpoint.code) == (0, 0), shapes.both + endpoint.both
    assert trial(shapes.report, "users")["state"] == "passed"
    assert "'review' is unknown" in trial(shapes.report, "quality")["reason"]
    assert endpoint.report["summary"]["passed"] == 1
    assert set(tokens) == {"Bearer token-of-the-test"}


def test_a_base_url_that_is_not_one_is_reported_with_the_file_and_the_way_out(regressions: Path) -> None:
    done = drive(regressions, "run", "endpoint.json", "--var", "api_base_url=127.0.0.1:8765", "--var", "test_token=t")
    assert done.code == 2
    assert done.err.splitlines() == [
        "error: endpoint.json: target http.url: must start with http:// or https://, not '127.0.0.1:8765'",
        "  if it contains a {{variable}}, give that another value with --var",
    ]


def test_a_changed_response_is_a_regression_that_names_the_field(regressions: Path) -> None:
    changed = {**USERS, "pagination": {"page": 1, "per_page": 50, "total": 41}}
    with api({"/v1/users": changed}) as (base, _):
        done = drive(regressions, "run", "examples.yaml", "--target", base, "--var", "test_token=t", "--json")
    assert done.code == 1
    assert "body.pagination.per_page is 50, expected 20" in trial(done.report, "users")["reason"]


def test_a_missing_status_is_seen(regressions: Path) -> None:
    with api({}) as (base, _):
        done = drive(regressions, "run", "endpoint.json", "--target", base, "--var", "test_token=t", "--json")
    assert done.code == 1
    assert "status is 404, expected 200" in trial(done.report, "data")["reason"]


def test_a_skill_gets_its_input_and_parameters_and_scores_may_fall_a_little(regressions: Path) -> None:
    (regressions / "review.py").write_text(
        "def review(asked):\n"
        "    assert asked == {'input': {'diff': 'a.patch'}, 'parameters': {'depth': 'thorough'}}, asked\n"
        "    return {'scores': {'tone': 4.4, 'depth': 5.0}, 'comment': 'better'}\n",
        encoding="utf-8",
    )
    (regressions / "eval-suite.yaml").write_text(
        "eval_suite:\n  name: all\n  targets: {review: review.py:review}\n"
        "  evals: [{$ref: ./examples.yaml}, {$ref: ./endpoint.json}]\n",
        encoding="utf-8",
    )
    with api({"/v1/users": USERS, "/v1/data": DATA}) as (base, _):
        flags = ("--var", f"api_base_url={base}", "--var", "test_token=t", "--json")
        done = drive(regressions, "run", "eval-suite.yaml", *flags)
    assert done.code == 0, done.both
    assert done.report["summary"]["passed"] == 3


def test_an_oracle_needs_no_token_and_no_server(regressions: Path) -> None:
    done = drive(regressions, "run", ".", "--target", "oracle", "--json")
    assert (done.code, [each["summary"]["passed"] for each in done.json["eval_reports"]]) == (0, [1, 2])


def test_cases_that_ask_one_server_in_different_ways_are_all_asked(regressions: Path) -> None:
    with api({"/v1/users": USERS, "/v1/data": DATA}) as (base, _):
        evals = [
            {
                "id": f"u{number}",
                "baseline": {"output": {"status": 200, "body": {"meta": {"page": 1}}}},
                "current": {
                    "input": {"method": "GET", "path": "/v1/data"},
                    "execution": {"type": "http", "base_url": base, "headers": {"X-Number": str(number)}},
                },
                "comparison": {"type": "structural"},
            }
            for number in range(3)
        ]
        (regressions / "three.json").write_text(json.dumps(evals), encoding="utf-8")
        done = drive(regressions, "run", "three.json", "--json")
    assert (done.code, done.report["summary"]["passed"]) == (0, 3), done.both


def test_an_unset_variable_of_a_regression_is_named(regressions: Path) -> None:
    done = drive(regressions, "run", "endpoint.json", "--var", "test_token=t")
    assert done.code == 2
    assert "--var api_base_url=" in done.err


TASKS = {
    "name": "shell-basics",
    "description": "What a task can expect",
    "tasks": [
        {
            "id": "gen",
            "category": "code_generation",
            "description": "Writes a greeter",
            "prompt": "Write greet.py",
            "expectedPatterns": ["contains:GREET", "regex:def\\s+greet", "not_contains:TODO", "hello"],
            "expectedFiles": [{"path": "greet.py", "shouldContain": "DEF greet"}],
            "expectedExitCode": 0,
            "expectedToolSequence": ["write_file", "run_shell"],
            "maxRounds": 5,
            "requiredTools": ["write_file", "run_shell"],
            "timeoutMs": 60000,
        },
        {
            "id": "port",
            "category": "search_retrieval",
            "description": "Finds the port",
            "prompt": "Which port?",
            "expectedPatterns": ["regex:\\b8080\\b"],
        },
    ],
}
AGENT = """
import json, os, pathlib, sys
asked = sys.stdin.read()
if "port" in asked:
    print(json.dumps({"output": "The port is 8080."}))
else:
    assert os.environ["EVALHARNESS_MAX_ROUNDS"] == "5"
    pathlib.Path("greet.py").write_text("def greet(name):\\n    print('hello', name)\\n")
    calls = [{"name": "write_file"}, {"name": "run_shell", "result": {"exit_code": 0}}]
    print(json.dumps({"output": "def greet(name): prints hello", "tool_calls": calls[: int(sys.argv[1])]}))
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    (tmp_path / "tasks.json").write_text(json.dumps(TASKS), encoding="utf-8")
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    return tmp_path


def target(folder: Path, calls: int, **more: Any) -> str:
    described = {"command": ["python", "agent.py", str(calls)], "result": "answer", **more}
    (folder / "target.json").write_text(json.dumps(described), encoding="utf-8")
    return "target.json"


def test_a_task_suite_runs_on_a_scripted_program(tasks: Path) -> None:
    done = drive(tasks, "run", "tasks.json", "--target", target(tasks, 2), "--json")
    assert done.code == 0, done.both
    assert done.report["summary"]["passed"] == 2


def test_a_missing_tool_call_lowers_the_score_and_is_named(tasks: Path) -> None:
    done = drive(tasks, "run", "tasks.json", "--target", target(tasks, 1), "--json")
    assert done.code == 1
    [failed] = [each for each in done.report["trials"] if each["state"] == "failed"]
    assert "run_shell" in failed["reason"]
    assert 0 < failed["score"] < 1


def test_a_target_without_the_tools_of_a_task_skips_it(tasks: Path) -> None:
    done = drive(tasks, "run", "tasks.json", "--target", target(tasks, 2, tools=["write_file"]), "--json")
    assert trial(done.report, "gen")["reason"] == "the target lacks the required tool run_shell"
    assert (done.code, trial(done.report, "port")["state"]) == (0, "passed")


def test_validate_says_what_it_recognised_and_a_format_can_be_forced(tasks: Path) -> None:
    assert "✓ tasks.json   task-suite suite 'shell-basics', 2 cases" in drive(tasks, "validate", "tasks.json").out
    forced = drive(tasks, "validate", "tasks.json", "--format", "native")
    assert forced.code == 2
    assert "test_cases" in forced.err
    unknown = drive(tasks, "validate", "tasks.json", "--format", "task-suit")
    assert (unknown.code, "did you mean 'task-suite'" in unknown.err.lower()) == (2, True)
