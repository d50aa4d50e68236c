"""Cases with their own target: a request, a program, a skill; `--target` and variants replace it."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from driving import drive, succeed
from threaded_server import Reply, serving

from evalharness import evaluate


def write(folder: Path, text: str) -> Path:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return path


MIXED = """
target: "cmd:cat"
targets:
  shouting: {command: "tr a-z A-Z"}
test_cases:
  - {id: plain, input: hello, expected: hello}
  - {id: own, input: hello, expected: HELLO, target: shouting}
  - {id: skilled, input: hello, expected: HELLO, target: {skill: shouting}}
  - {id: unknown, input: hello, expected: HELLO, target: {skill: whispering}}
"""


def test_each_case_is_tried_on_its_own_target_and_an_unknown_skill_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, MIXED)
    report = succeed(tmp_path, "run", "suite.yaml", "--json").report
    assert (report["summary"]["passed"], report["summary"]["skipped"]) == (3, 1)
    [skipped] = [trial for trial in report["trials"] if trial["state"] == "skipped"]
    assert skipped["case_id"] == "unknown"
    assert "'whispering' is unknown" in skipped["reason"]


def test_a_target_asked_for_replaces_those_of_the_cases(tmp_path: Path) -> None:
    write(tmp_path, MIXED)
    report = succeed(tmp_path, "run", "suite.yaml", "--target", "cmd:tr a-z A-Z", "--json", code=1).report
    assert (report["summary"]["passed"], report["summary"]["failed"]) == (3, 1)


def test_a_suite_needs_no_target_where_every_case_has_one(tmp_path: Path) -> None:
    write(tmp_path, 'test_cases: [{id: a, input: x, expected: x, target: "cmd:cat"}]')
    assert succeed(tmp_path, "run", "suite.yaml", "--json").report["summary"]["passed"] == 1


def test_cases_without_any_target_are_named(tmp_path: Path) -> None:
    write(
        tmp_path,
        'test_cases: [{id: a, input: x, expected: x, target: "cmd:cat"}, {id: lost, input: x, expected: x}]',
    )
    done = drive(tmp_path, "run", "suite.yaml")
    assert done.code == 2
    assert "has no target for lost" in done.err


def test_a_case_that_needs_a_tool_the_target_lacks_is_skipped(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
target: {command: cat, tools: [read_file]}
test_cases:
  - {id: able, input: x, expected: x, required_tools: [read_file]}
  - {id: unable, input: x, expected: x, required_tools: [read_file, run_shell]}
""",
    )
    report = succeed(tmp_path, "run", "suite.yaml", "--json").report
    [skipped] = [trial for trial in report["trials"] if trial["state"] == "skipped"]
    assert (skipped["case_id"], skipped["reason"]) == ("unable", "the target lacks the required tool run_shell")


@pytest.mark.parametrize("name", ["context", "max_rounds", "variant"])
def test_a_program_gets_what_is_beside_the_question(tmp_path: Path, name: str) -> None:
    expected = {"context": "python", "max_rounds": "5", "variant": "large"}[name]
    write(
        tmp_path,
        f"""
target: {{command: 'echo "$EVALHARNESS_{name.upper()}"'}}
variants: [{{name: v, modelByNode: {{coder: large}}}}]
test_cases:
  - id: a
    input: {{type: prompt, content: hi, context: {{language: python}}}}
    max_rounds: 5
    expected: {{contains: "{expected}"}}
""",
    )
    assert succeed(tmp_path, "run", "suite.yaml", "--json").report["summary"]["passed"] == 1


def test_a_function_gets_its_variant_and_variants_go_with_every_target_asked_for(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "def answer(question, context):\n    return context.variant['model_by_node']['coder']\n", encoding="utf-8"
    )
    write(
        tmp_path,
        """
variants:
  - {id: small, modelByNode: {coder: haiku}, tags: [cheap]}
  - {id: large, modelByNode: {coder: opus}}
test_cases: [{id: a, input: x, expected: opus}]
""",
    )
    reports = drive(tmp_path, "run", "suite.yaml", "--target", "agent.py:answer", "--json").json["eval_reports"]
    verdicts = {report["metadata"]["variant"]: report["verdict"] for report in reports}
    assert verdicts == {"small": "FAILED", "large": "PASSED"}


REQUESTS = """
targets: {}
test_cases:
  - id: body
    input: {type: api_call, content: {method: get, path: /users, query: {page: 2}}}
    expected: {json_equals: {users: []}}
  - id: whole
    input: {type: api_call, content: {method: POST, path: /missing, body: {a: 1}, answer: response}}
    graders: [{contains: '"status":404'}]
"""


def test_a_case_may_be_a_request(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    def users(request: BaseHTTPRequestHandler, body: bytes) -> Reply:
        asked.append((request.command, request.path))
        found = not request.path.endswith("/missing")
        return Reply('{"users": []}', content_type="application/json") if found else Reply("nothing", 404)

    write(tmp_path, REQUESTS)
    with serving(users) as base:
        report = succeed(tmp_path, "run", "suite.yaml", "--target", f"{base}/base", "--json").report
    assert report["summary"]["passed"] == 2
    assert sorted(asked) == [("GET", "/base/users?page=2"), ("POST", "/base/missing")]


def test_files_that_a_function_writes_into_its_workspace_are_kept(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "def answer(question, context):\n"
        "    (context.workspace / 'made.txt').write_text('made by the agent')\n"
        "    return 'done'\n",
        encoding="utf-8",
    )
    write(
        tmp_path,
        "target: agent.py:answer\ntest_cases: [{id: a, input: x, expected: done, files: {given.txt: unchanged}}]",
    )
    [trial] = evaluate(tmp_path / "suite.yaml", store=":memory:").trials
    assert trial.last.transcript is not None
    assert trial.last.transcript.files == {"made.txt": "made by the agent"}


def test_a_file_of_the_case_that_the_target_removes_is_gone(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
test_cases:
  - {id: kept, input: x, files: {a.txt: text}, graders: [{files: [a.txt]}], target: "cmd:true"}
  - {id: gone, input: x, files: {a.txt: text}, graders: [{files: [a.txt]}], target: "cmd:rm a.txt"}
""",
    )
    report = succeed(tmp_path, "run", "suite.yaml", "--json", code=1).report
    states = {trial["case_id"]: (trial["state"], trial["reason"]) for trial in report["trials"]}
    assert states["kept"][0] == "passed"
    assert states["gone"][0] == "failed" and "file not found" in states["gone"][1]
