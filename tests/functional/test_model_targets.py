"""chat and agent with the real command: with a script, and with a server that speaks OpenAI's protocol."""

from __future__ import annotations

import json
import re
import shutil
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, write
from missing_parts import missing
from threaded_server import Reply, serving

from evalharness.formats.suite_files import ready_made_suites

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "agent"
READY_MADE_AGENT = HERE.parent / "fixtures" / "ready_made_agent.yaml"
CANARY = "sk-canary-8d1f0c7742"
SUITE = """
name: sums
config: {timeout_seconds: 2, retries: 0}
test_cases:
  - {id: sum, input: What is 2+2?, expected: {contains: "4"}}
"""


@pytest.fixture(autouse=True)
def sandbox() -> None:
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "apt-get install bubblewrap")


@pytest.mark.parametrize("flags", [(), ("--target", "agent:scripted/agent/model.yaml")])
def test_the_example_passes_in_all_eight_categories(tmp_path: Path, flags: tuple[str, ...]) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "agent")
    done = drive(tmp_path, "run", "agent/suite.json", "--json", *flags)
    assert done.code == 0, done.both
    assert done.report["summary"]["passed"] == 8
    assert len(done.report["summary"]["by_topic"]) == 8
    calls = kept_with(tmp_path, done, "find-fix-check")["tool_calls"]
    assert [call["name"] for call in calls] == ["search", "edit_file", "run_shell"]


def kept_with(folder: Path, done: Outcome, case: str) -> Any:
    """The transcript of a case's only trial, as the store has it."""
    shown = drive(folder, "show", done.report["metadata"]["run_id"], case, "--json").json
    return shown["trials"][0]["trial"]["attempts"][-1]["transcript"]


@pytest.mark.parametrize("name", ready_made_suites())
def test_an_agent_can_solve_every_ready_made_suite(tmp_path: Path, name: str) -> None:
    shutil.copy(READY_MADE_AGENT, tmp_path / "model.yaml")
    done = drive(tmp_path, "run", name, "--target", "agent:scripted/model.yaml", "--json")
    assert done.code == 0, done.both


def completion(message: dict[str, Any], **more: Any) -> Reply:
    usage = {"prompt_tokens": 9, "completion_tokens": 3}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop", **more}
    body = {"model": "m-2024", "choices": [choice], "usage": usage}
    return Reply(json.dumps(body), content_type="application/json")


def test_an_agent_behind_a_wire_uses_its_tools_and_leaks_no_key(tmp_path: Path) -> None:
    asked: list[Any] = []

    def reply(handler: BaseHTTPRequestHandler, body: bytes) -> Reply:
        asked.append(json.loads(body))
        assert handler.headers["Authorization"] == f"Bearer {CANARY}"
        if len(asked) > 1:
            return completion({"content": "It is 4."})
        arguments = json.dumps({"command": "env; expr 2 + 2"})
        call = {"id": "c1", "type": "function", "function": {"name": "run_shell", "arguments": arguments}}
        return completion({"content": None, "tool_calls": [call]}, finish_reason="tool_calls")

    write(tmp_path, suite_yaml=SUITE.replace("seconds: 2", "seconds: 60"))
    with serving(reply) as base:
        env = {"ACME_BASE_URL": base, "ACME_API_KEY": CANARY}
        done = drive(tmp_path, "run", "suite.yaml", "--target", "agent:acme/m", "--json", env=env)
    assert done.code == 0, done.both
    transcript = kept_with(tmp_path, done, "sum")
    [call] = transcript["tool_calls"]
    assert call["result"]["exit_code"] == 0 and call["result"]["stdout"].endswith("4\n")
    assert CANARY not in json.dumps(asked) and "ACME" not in json.dumps(call)
    assert {tool["function"]["name"] for tool in asked[0]["tools"]} >= {"read_file", "run_shell"}
    assert asked[1]["messages"][-1]["tool_call_id"] == "c1"
    assert transcript["usage"] == {"input_tokens": 18, "output_tokens": 6}


def test_a_server_that_is_too_busy_until_the_time_limit_is_an_error_and_no_failure(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE.replace("timeout_seconds: 2", "timeout_seconds: 6"))
    with serving(lambda handler, body: Reply('{"error": {"message": "slow down"}}', 429)) as base:
        done = drive(tmp_path, "run", "suite.yaml", "--target", "chat:acme/m", "--json", env={"ACME_BASE_URL": base})
    assert done.code == 3
    [trial] = done.report["trials"]
    assert trial["state"] == "error" and "429" in trial["reason"] and "slow down" in trial["reason"]


def test_a_name_that_names_no_model_is_wrong_usage_and_a_problem_of_its_file(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, wrong_yaml=f"target: chat:mygate\n{SUITE}")
    done = drive(
        tmp_path, "run", "suite.yaml", "--target", "chat:mygate", env={"MYGATE_BASE_URL": "http://127.0.0.1:1"}
    )
    assert done.code == 2 and "'mygate' is not the name of a model" in done.err
    done = drive(tmp_path, "validate", "wrong.yaml")
    assert done.code == 2 and "'mygate' is not the name of a model" in done.both


def test_a_silent_model_has_failed_unless_its_deadline_comes_first(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE)

    def silent(_handler: object, _body: object) -> Reply:
        time.sleep(2.5)
        return Reply("{}")

    with serving(silent) as base:
        flags = ("run", "suite.yaml", "--target", "chat:acme/m", "--json")
        late = drive(tmp_path, *flags, env={"ACME_BASE_URL": base})
        given_up = drive(tmp_path, *flags, env={"ACME_BASE_URL": base, "EVALHARNESS_MODEL_DEADLINE": "1"})
    assert [trial["state"] for trial in late.report["trials"]] == ["failed"]
    assert "time limit" in late.report["trials"][0]["reason"]
    assert [trial["state"] for trial in given_up.report["trials"]] == ["error"]


@pytest.mark.parametrize("kind", ["chat", "agent"])
def test_a_missing_key_is_wrong_usage_and_named(tmp_path: Path, kind: str) -> None:
    write(tmp_path, suite_yaml=SUITE)
    done = drive(tmp_path, "run", "suite.yaml", "--target", f"{kind}:openai/gpt-4o")
    assert done.code == 2
    assert "OPENAI_API_KEY" in done.err


JUDGED = """
name: judged
target: echo
test_cases:
  - {id: by code, input: hi, expected: hi}
  - {id: by judge, input: hi, graders: [{model: {model: anthropic/claude-sonnet-4-5, rubric: Is it nice?}}]}
"""


def test_a_judge_without_a_key_can_be_replaced_or_left_out(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=JUDGED)
    refused = drive(tmp_path, "run", "suite.yaml")
    assert refused.code == 2
    assert "no key for anthropic: ANTHROPIC_API_KEY is not set" in refused.err
    for suggestion in ("set ANTHROPIC_API_KEY", "another judge with --judge-model", "with --judge-model none"):
        assert suggestion in refused.err
    left_out = drive(tmp_path, "run", "suite.yaml", "--judge-model", "none", "--json")
    assert left_out.code == 4
    assert left_out.states() == {"by code": ["passed"], "by judge": ["awaiting"]}


@pytest.mark.parametrize("target", ["chat:scripted/model.yaml", "agent:scripted/model.yaml", ""])
def test_the_report_names_the_model_that_answered(tmp_path: Path, target: str) -> None:
    named = "vars: {who: scripted/model.yaml}\ntarget: {chat: {model: '{{who}}'}}\n"
    write(tmp_path, suite_yaml=named + SUITE, model_yaml="replies: [{text: '4'}]")
    done = drive(tmp_path, "run", "suite.yaml", "--json", *(("--target", target) if target else ()))
    assert done.report["metadata"]["environment"]["model"] == "scripted/model.yaml"


def test_other_targets_have_no_model(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE)
    done = drive(tmp_path, "run", "suite.yaml", "--target", "echo", "--json")
    assert "model" not in done.report["metadata"]["environment"]


def test_a_reply_that_was_cut_is_shown_as_such(tmp_path: Path) -> None:
    script = "replies: [{text: It is 4 because, finish_reason: length}]"
    write(tmp_path, suite_yaml=SUITE, model_yaml=script)
    done = drive(tmp_path, "run", "suite.yaml", "--target", "chat:scripted/model.yaml", "--json")
    assert done.code == 0, done.both
    shown = drive(tmp_path, "show", done.report["metadata"]["run_id"], "sum")
    assert re.search(r"assistant \(length\)\s+It is 4 because", shown.out)


def test_a_command_whose_last_word_is_a_file_is_not_a_target_file(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, answer_yaml="4")
    assert drive(tmp_path, "run", "suite.yaml", "--target", "cmd:cat answer.yaml").code == 0


@pytest.mark.parametrize("flags", [(), ("--target", "agent:scripted/agent/model.yaml")])
def test_an_agent_without_a_sandbox_is_warned_of(tmp_path: Path, flags: tuple[str, ...]) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "agent")
    suite = tmp_path / "agent" / "suite.json"
    if flags:
        written = json.loads(suite.read_text())
        suite.write_text(json.dumps({key: value for key, value in written.items() if key != "target"}))
    done = drive(tmp_path, "run", "agent/suite.json", "--sandbox", "none", "--only", "who-repairs-the-lamp", *flags)
    assert done.code == 0, done.both
    assert "without protection" in done.err
