"""`capture`: an answer that passed becomes a regression eval, which passes until the answer changes; what an agent did
becomes a case that expects the same calls of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import drive, drive_run, succeed, write
from replayed import model_server

AGENT = """
from pathlib import Path

def answer(question):
    if question == "data":
        return {"greeting": "{{name}} \\\\{{", "numbers": [1, 2]}
    if question == "template":
        return {"form": Path(__file__).with_name("form.txt").read_text(), "escaped": "\\\\{{any_uuid}}"}
    if question == "huge":
        return {"number": 2**70}
    return Path(__file__).with_name("answer.txt").read_text()
"""
SUITE = """
name: greetings
version: "2.3"
target: agent.py:answer
vars: {who: Ada}
test_cases:
  - {id: greets, input: "Greet {{who}}", expected: {contains: Ada}, criticality: high}
  - {id: data, input: data, expected: {regex: greeting}}
  - {id: template, input: template, expected: {regex: form}}
  - {id: fails, input: "Greet Bob", expected: {contains: Bob}}
  - {id: huge, input: huge, expected: {regex: number}}
  - {id: left-out, input: "?", expected: {contains: Ada}, skip: later}
  - id: file
    input: read
    files: {notes.txt: {path: notes.txt}}
    expected: {contains: Ada}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "answer.txt").write_text("Hello, Ada {{any_string}}!")
    (tmp_path / "form.txt").write_text("{{any_number}}")
    (tmp_path / "notes.txt").write_text("notes {{x}}\n")
    (tmp_path / "suite.yaml").write_text(SUITE)
    return tmp_path


def captured(project: Path, *words: str) -> str:
    """The name of a run that was captured into regression/new.yaml."""
    run = drive_run(project).run_name
    succeed(project, "capture", run, *words, "-o", "regression/new.yaml")
    return run


def test_what_is_captured_passes_until_the_answer_changes(project: Path) -> None:
    run = captured(project, "greets", "data", "file", "--as", "regression")
    text = (project / "regression/new.yaml").read_text()
    for part in ("eval_type: regression", 'baseline_version: "2.3"', "captured_at:", "agent.py:answer", run, "\\{{x}}"):
        assert part in text
    assert "warning" not in succeed(project, "validate", "regression/new.yaml").both
    succeed(project, "run", "regression/new.yaml")
    succeed(project, "run", "regression/new.yaml", "--target", "oracle")
    (project / "answer.txt").write_text("Hello, Ada {{any_string}}?")
    found = succeed(project, "run", "regression/new.yaml", code=1).both
    assert "2 failed" in found


def test_the_value_of_a_secret_is_not_captured_and_comes_from_the_environment_again(project: Path) -> None:
    (project / "suite.yaml").write_text(SUITE.replace("Greet {{who}}", "Greet {{who}} with {{api_key}}"))
    env = {"API_KEY": "open-sesame-7531"}
    run = drive_run(project, env=env).run_name
    succeed(project, "capture", run, "greets", "-o", "regression/new.yaml")
    text = (project / "regression/new.yaml").read_text()
    assert "with {{api_key}}" in text
    assert "api_key:" not in text
    assert "redacted" not in text + succeed(project, "show", run, "greets").out
    assert "--var api_key=…" in drive(project, "run", "regression/new.yaml").err
    again = drive(project, "run", "regression/new.yaml", env=env)
    assert again.code == 0, again.both


def test_a_captured_capability_is_a_regression_from_now_on(project: Path) -> None:
    suite = SUITE.replace("criticality: high}", "eval_type: capability, difficulty: hard}")
    (project / "suite.yaml").write_text(suite)
    captured(project, "greets", "--as", "regression")
    done = drive_run(project, "--category", "regression", suite="regression/new.yaml")
    assert list(done.states()) == ["greets"]
    assert list(done.report["summary"]["by_category"]) == ["regression"]


def test_a_wrong_answer_is_captured_only_by_its_number(project: Path) -> None:
    run = drive_run(project).run_name
    refused = succeed(project, "capture", run, "fails", "-o", "new.yaml", code=2).both
    assert "case fails did not pass" in refused and "--trial" in refused
    told = succeed(project, "capture", run, "fails", "--trial", "1", "-o", "new.yaml").both
    assert "warning: fails: trial 1 did not pass (failed), but from now on its answer is the expected one" in told
    succeed(project, "run", "new.yaml")


def test_a_case_without_any_answer_has_no_trial_to_name(project: Path) -> None:
    refused = succeed(project, "capture", drive_run(project).run_name, "left-out", "-o", "new.yaml", code=2).both
    assert "case left-out did not pass" in refused and "--trial" not in refused


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("gretes", "-o", "new.yaml"), "Did you mean 'greets'?"),
        (("greets", "-o", "suite.yaml"), "suite.yaml exists"),
        (("greets", "--trial", "7", "-o", "new.yaml"), "no finished trial 7"),
        (("greets",), "--output is missing"),
        (("greets", "-o", "new.json"), "use a file name that ends in .yaml"),
        (("greets", "-o", "notes.txt/new.yaml"), "-o notes.txt/new.yaml cannot be written"),
        (("greets", "huge", "-o", "new.yaml"), "case 'huge': 1180591620717411303424 cannot be written"),
        (("greets", "--compare", "numeric", "-o", "new.yaml"), "greets answered with text"),
    ],
)
def test_wrong_options_are_reported(project: Path, words: tuple[str, ...], told: str) -> None:
    run = drive_run(project).run_name
    assert told in succeed(project, "capture", run, *words, code=2).both
    assert not (project / "new.yaml").exists()


@pytest.mark.parametrize("compare", ["structural", "exact"])
@pytest.mark.parametrize("variables", ["vars: {who: Ada}", ""])
def test_what_looks_like_a_placeholder_in_an_answer_is_none(project: Path, compare: str, variables: str) -> None:
    suite = SUITE.replace("vars: {who: Ada}", variables).replace("{{who}}", "{{who}}" if variables else "Ada")
    (project / "suite.yaml").write_text(suite)
    captured(project, "template", "--compare", compare)
    succeed(project, "run", "regression/new.yaml")
    succeed(project, "run", "regression/new.yaml", "--target", "oracle")
    (project / "form.txt").write_text("7")
    succeed(project, "run", "regression/new.yaml", code=1)


def test_a_text_that_looks_like_a_placeholder_is_none(project: Path) -> None:
    captured(project, "greets")
    (project / "answer.txt").write_text("Hello, Ada or so!")
    assert "1 failed" in succeed(project, "run", "regression/new.yaml", code=1).both


def test_an_answer_whose_secret_was_taken_out_cannot_pass_and_that_is_said(project: Path) -> None:
    (project / "answer.txt").write_text("Ada: correct-horse-battery")
    secret = {"API_KEY": "correct-horse-battery"}
    run = drive(project, "run", "suite.yaml", "--json", env=secret).run_name
    done = drive(project, "capture", run, "greets", "-o", "new.yaml", env=secret)
    assert "no later answer can equal it and this eval will fail" in done.err
    assert drive(project, "run", "new.yaml", env=secret).code == 1
    written = (project / "new.yaml").read_text()
    (project / "new.yaml").write_text(written.replace("[redacted:API_KEY]", "{{any_string}}"))
    assert drive(project, "run", "new.yaml", env=secret).code == 0


def test_capturing_a_flaky_case_is_warned_of(project: Path) -> None:
    (project / "moody.py").write_text("def answer(text, context):\n    return ['Ada', 'Ada!', 'Bob'][context.index]\n")
    words = ("run", "suite.yaml", "--target", "moody.py:answer", "--repeat", "3", "--only", "greets", "--json")
    run = drive(project, *words).run_name
    told = succeed(project, "capture", run, "greets", "-o", "new.yaml").both
    assert "greets: flaky (passed in 2 of 3 trials)" in told
    assert "its 2 passed trials gave 2 different answers" in told


def test_what_a_built_in_target_answered_is_warned_of(project: Path) -> None:
    oracle = ("run", "suite.yaml", "--only", "greets,data", "--target", "oracle", "--json")
    run = drive(project, *oracle).run_name
    told = succeed(project, "capture", run, "greets", "-o", "new.yaml").both
    assert (
        "greets: the answer is from the built-in target 'oracle', which always gives it, so this eval always passes"
        in told
    )
    assert "warning" not in succeed(project, "capture", drive_run(project).run_name, "greets", "-o", "own.yaml").both


def test_each_file_is_a_suite_of_its_own_and_none_is_the_captured_one(project: Path) -> None:
    run = drive_run(project).run_name
    for file, suite in {"regression/data.yaml": "data", "regression/greetings.yaml": "greetings-regression"}.items():
        assert f"suite '{suite}'" in succeed(project, "capture", run, "data", "-o", file).both
    succeed(project, "run", "regression")
    again = drive(project, "run", "regression/greetings.yaml", "--json").run_name
    told = succeed(project, "capture", again, "data", "-o", "regression/greetings.yaml", "--force").both
    assert "suite 'greetings-regression'" in told, "and not the version of the first capture"
    assert "name: data answers as it did\n" in (project / "regression/greetings.yaml").read_text()


@pytest.mark.parametrize("own", ["", ", target: agent.py:answer"], ids=["the run's target", "the case's own target"])
def test_a_captured_file_can_be_moved_with_its_project(tmp_path: Path, own: str) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "agent.py").write_text("def answer(question):\n    return question\n")
    (old / "suite.yaml").write_text(f"{{name: s, test_cases: [{{id: a, input: a, expected: a{own}}}]}}")
    named = () if own else ("--target", "agent.py:answer")
    run = drive(old, "run", "suite.yaml", *named, "--json").run_name
    succeed(old, "capture", run, "a", "-o", "regression/a.yaml")
    assert str(tmp_path) not in (old / "regression/a.yaml").read_text()
    old.rename(new)
    succeed(new, "run", "regression/a.yaml")


CALLS = """
from evalharness import Answer

def answer(question, city="{{any_string}}", tool="look_up"):
    calls = [{"name": tool, "arguments": {"city": city, "n": 3}}, {"name": "done"}]
    return Answer(output="It is 7 {{x}}", tool_calls=calls)

def other_city(question):
    return answer(question, "Lima")

def other_tool(question):
    return answer(question, tool="search")
"""
ASKS = """
name: asks
target: agent.py:answer
vars: {who: Ada}
test_cases: [{id: a, input: "Ask {{who}} \\\\{{y}}", expected: {contains: "7"}}]
"""


@pytest.mark.parametrize("kind", ["case", "capability", "task", "session"])
def test_the_tools_that_were_called_are_expected_again(tmp_path: Path, kind: str) -> None:
    write(tmp_path, agent_py=CALLS, suite_yaml=ASKS)
    run = drive_run(tmp_path).run_name
    file = "new.json" if kind in ("task", "session") else "new.yaml"
    succeed(tmp_path, "capture", run, "a", "--as", kind, "-o", file)
    outcomes = {
        name: drive(tmp_path, "run", file, "--target", f"agent.py:{name}", "--json")
        for name in ("answer", "other_city", "other_tool")
    }
    codes = {name: done.code for name, done in outcomes.items()}
    assert codes == {"answer": 0, "other_city": 0 if kind == "session" else 1, "other_tool": 1}
    asked = "Ask {{who}}" if kind in ("case", "capability") else "Ask Ada {{y}}"
    assert asked in (tmp_path / file).read_text()
    assert drive(tmp_path, "run", file, "--target", "oracle").code == 0
    if kind != "session":
        succeed(tmp_path, "capture", run, "a", "--as", kind, "-o", file, "--any-arguments", "--force")
        assert drive(tmp_path, "run", file, "--target", "agent.py:other_city").code == 0
        assert drive(tmp_path, "run", file, "--target", "oracle").code == 0


LOOKED_UP = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"city": "Lima"}'}}
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is Lima?"},
    {"role": "assistant", "content": "", "tool_calls": [LOOKED_UP]},
    {"role": "tool", "tool_call_id": "c1", "content": "Peru"},
    {"role": "assistant", "content": "In Peru."},
]
USED = {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"city": "Lima"}}
SPAN = {
    "name": "chat m",
    "attributes": {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(
            [
                {"role": "user", "parts": [{"type": "text", "content": "Where is Lima?"}]},
                {
                    "role": "assistant",
                    "parts": [{"type": "tool_call", "id": "c1", "name": "look_up", "arguments": {"city": "Lima"}}],
                },
                {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "result": "Peru"}]},
            ]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": "In Peru."}]}]
        ),
    },
}
SEEN: dict[str, list[dict[str, Any]]] = {
    "claude-code": [
        {"type": "user", "message": {"role": "user", "content": "Where is Lima?"}},
        {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [USED]}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "In Peru."}]}},
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started", "prompt": "Where is Lima?"},
        {
            "type": "item.completed",
            "item": {
                "id": "1", "type": "mcp_tool_call", "server": "", "tool": "look_up", "arguments": {"city": "Lima"},
                "status": "completed",
            },
        },
        {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "In Peru."}},
    ],
    "otel": [SPAN],
    "messages": SAID,
    "log of a service": [{"messages": SAID}],
    "log with calls": [
        {
            "question": "Where is Lima?",
            "tool_calls": [{"name": "look_up", "arguments": {"city": "Lima"}}],
            "answer": "In Peru.",
        }
    ],
    "log of a gateway": [
        {"request": {"model": "m", "messages": SAID[:1]}, "response": {"choices": [{"message": SAID[1]}]}},
        {"request": {"model": "m", "messages": SAID[:3]}, "response": {"choices": [{"message": SAID[3]}]}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", SEEN)
def test_transcripts_and_logs_become_cases(tmp_path: Path, kind: str) -> None:
    (tmp_path / "seen.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SEEN[kind]))
    succeed(tmp_path, "capture", "seen.jsonl", "--as", "task", "-o", "tasks.json")
    [task] = json.loads((tmp_path / "tasks.json").read_text())["tasks"]
    [call] = task["expectedToolSequence"]
    assert (task["prompt"], task["reference"]) == ("Where is Lima?", "In Peru.")
    assert call["name"].endswith("look_up") and call["arguments"] == {"city": "Lima"}


def test_what_a_file_does_not_say_is_asked_for(tmp_path: Path) -> None:
    rows = [{"id": "one", "input": "1+1?", "output": "2"}, {"id": "two", "input": {"a": 1}, "output": {"b": "SECRET"}}]
    text = "".join(json.dumps(row) + "\n" for row in rows).replace("SECRET", "hunter2-hunter2")
    write(
        tmp_path,
        log_jsonl=f'{text}no JSON\n{{"id": "none", "input": ""}}\n',
        silent_jsonl=json.dumps(SAID[1]),
        plain_txt="hello",
    )
    written = drive(tmp_path, "capture", "log.jsonl", "-o", "log.yaml", env={"MY_PASSWORD": "hunter2-hunter2"})
    assert "2 lines could not be read" in written.both and "one: no tool was called" in written.both
    text = (tmp_path / "log.yaml").read_text()
    assert "hunter2" not in text and "a: 1" in text
    for words, told in {
        ("silent.jsonl",): "say it with --input TEXT",
        ("plain.txt",): "no JSON objects",
        ("log.jsonl", "three"): "unknown case 'three'",
        ("log.jsonl", "--input", "x"): "--input is for a transcript of one",
        ("log.jsonl", "--compare", "exact"): "--compare is for regression evals",
    }.items():
        assert told in succeed(tmp_path, "capture", *words, "-o", "new.yaml", code=2).both
    succeed(tmp_path, "capture", "silent.jsonl", "--input", "Where?", "-o", "silent.yaml")
    assert "input: Where?" in (tmp_path / "silent.yaml").read_text()


def test_calls_through_the_gateway_are_captured_from_the_run_and_from_its_recording(tmp_path: Path) -> None:
    agent = """
import json, urllib.request

def ask(question, context):
    messages = [{"role": "user", "content": question}]
    while True:
        body = json.dumps({"model": "served", "messages": messages}).encode()
        headers = {"Authorization": f"Bearer {context.gateway.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{context.gateway.url}/v1/chat/completions", body, headers)
        with urllib.request.urlopen(request) as reply:
            said = json.load(reply)["choices"][0]["message"]
        if not said.get("tool_calls"):
            return said["content"]
        messages += [said, {"role": "tool", "tool_call_id": "c1", "content": "Peru"}]
"""
    suite = (
        "name: s\ntarget: agent.py:ask\ngateway: true\ntest_cases: [{id: a, input: Where is Lima?, expected: In Peru.}]"
    )
    write(tmp_path, agent_py=agent, suite_yaml=suite)
    with model_server(lambda body: SAID[len(body["messages"])]) as server:
        recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", env=server.environment)
        assert recorded.code == 0, recorded.both
        succeed(tmp_path, "capture", "latest", "a", "--as", "case", "-o", "case.yaml")
        again = drive(tmp_path, "run", "case.yaml", env=server.environment)
        assert again.code == 0, again.both
    succeed(tmp_path, "export", "latest:s", "--recordings", "kept")
    [file] = [path for path in (tmp_path / "kept").rglob("*.json") if path.name != "recording.json"]
    succeed(tmp_path, "capture", str(file), "-o", "log.yaml")
    for name in ("case.yaml", "log.yaml"):
        text = (tmp_path / name).read_text()
        assert "name: look_up" in text and "city: Lima" in text and "input: Where is Lima?" in text
