"""Record and replay with the real command: the same report, nothing sent, and strict about what was not recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import Outcome, drive, write
from real_models import serving_smollm2
from replayed import ModelServer, model_server, same_report

CHAT = """
name: talk
target: {chat: {model: openai/served, system: Be brief.}}
trials: 2
test_cases:
  - id: turns
    input: {messages: [{role: user, content: one}, {role: user, content: two}]}
    graders: [{contains: reply to two}]
  - id: again
    input: {messages: [{role: user, content: same}, {role: user, content: same}]}
    graders: [{contains: reply}]
"""
REAL = """
name: capital
target: {chat: {model: openai/smollm2, max_tokens: 12, temperature: 0}}
config: {judge_model: openai/smollm2, timeout_seconds: 600, retries: 0}
test_cases:
  - id: france
    input: What is the capital of France? One word.
    graders:
      - model: {rubric: Is the answer right?, criteria: {correctness: 3, brevity: 1}}
"""


def record(folder: Path, server: ModelServer, *more: str) -> Outcome:
    return drive(folder, "run", "suite.yaml", "--mode", "record", "--json", *more, env=server.environment)


def replay(folder: Path, *more: str, env: dict[str, str] | None = None) -> Outcome:
    return drive(folder, "run", "suite.yaml", "--mode", "replay", "--json", *more, env=env or {})


@pytest.mark.timeout(900)  # the model answers slowly where all cores are busy
def test_a_real_model_and_judge_are_replayed_after_they_are_gone(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=REAL)
    with serving_smollm2(tmp_path) as address:
        env = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-none-0123456789abcdef"}
        recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", "--json", env=env, timeout_s=600)
    assert recorded.code in (0, 1, 3), recorded.both  # so small a model does not always find a valid verdict
    replayed = replay(tmp_path)
    assert replayed.code == recorded.code, replayed.both
    assert same_report(replayed.report) == same_report(recorded.report)
    taped = replayed.report["metadata"]["taped"]
    assert taped["missed"] == taped["unasked"] == 0
    assert 2 <= taped["exchanges"] <= 4, (
        "one of the target, one of the judge, who may be asked for a valid reply twice more"
    )


def test_equal_requests_get_their_replies_in_recorded_order_without_key_and_server(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    numbers = iter(range(100))
    with model_server(lambda body: f"reply to {body['messages'][-1]['content']} {next(numbers)}") as server:
        recorded = record(tmp_path, server)
    replayed = [replay(tmp_path) for _ in range(2)]
    assert [each.code for each in (recorded, *replayed)] == [0, 0, 0], replayed[0].both
    assert {same_report(each.report) for each in replayed} == {same_report(recorded.report)}
    assert replayed[0].report["metadata"]["taped"] == {
        "mode": "replay",
        "recording": recorded.report["metadata"]["run_id"],
        "recording_name": recorded.run_name,
        "exchanges": 8,
        "answers": 0,
        "differing": 0,
        "unasked": 0,
        "missed": 0,
    }


def test_a_changed_prompt_is_a_miss_and_nothing_is_sent(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    with model_server() as server:
        record(tmp_path, server)
        before = len(server.requests)
        write(tmp_path, suite_yaml=CHAT.replace("Be brief.", "Be very brief."))
        missed = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", env=server.environment)
        assert len(server.requests) == before, "nothing was sent"
    assert missed.code == 3
    said = " ".join(missed.out.split())
    assert "replay miss: call 1 of trial 1 of case again (target: chat)" in said, missed.both
    assert "the nearest recorded one is call 1 (target); the first difference is at messages[0].content: " in said
    assert 'recorded "Be brief.", now "Be very brief."' in said
    assert any(
        line.startswith("record ") and "run --mode record suite.yaml" in line for line in missed.out.splitlines()
    )


def test_one_more_equal_request_than_recorded_is_a_miss_and_one_less_is_reported(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    with model_server() as server:
        record(tmp_path, server)
    third = CHAT.replace("content: same}]", "content: same}, {role: user, content: same}]")
    write(tmp_path, suite_yaml=third)
    missed = replay(tmp_path)
    assert missed.code == 3
    assert missed.states() == {"turns": ["passed"] * 2, "again": ["error"] * 2}
    write(tmp_path, suite_yaml=CHAT.replace(", {role: user, content: two}", "").replace("reply to two", "reply to one"))
    shorter = replay(tmp_path)
    assert shorter.code == 0, shorter.both
    assert shorter.report["metadata"]["taped"]["unasked"] == 2
    write(tmp_path, suite_yaml=CHAT.replace("id: again", "id: renamed"))
    left = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--only", "turns")
    assert "recorded, but no longer in the suite: again" in " ".join(left.out.split())
    listed = drive(tmp_path, "runs", "--json").json
    assert [each["mode"] for each in listed["runs"]] == ["replay", "replay", "replay", "record"]


def test_auto_records_what_is_missing_and_is_a_recording_itself(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    with model_server() as server:
        record(tmp_path, server, "--only", "turns")
        before = len(server.requests)
        auto = drive(tmp_path, "run", "suite.yaml", "--mode", "auto", "--json", env=server.environment)
        assert auto.code == 0, auto.both
        assert len(server.requests) == before + 4, "only the case that was not recorded"
    replayed = replay(tmp_path)
    assert same_report(replayed.report) == same_report(auto.report)


def test_a_function_is_not_executed_and_changed_code_is_a_miss(tmp_path: Path) -> None:
    agent = "def answer(text):\n    open('ran', 'a').write('x')\n    return text.upper()\n"
    suite = "name: up\ntarget: agent.py:answer\ntest_cases: [{id: a, input: hello, expected: HELLO}]\n"
    write(tmp_path, agent_py=agent, suite_yaml=suite)
    recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", "--json")
    replayed = replay(tmp_path)
    assert (tmp_path / "ran").read_text() == "x"
    assert same_report(replayed.report) == same_report(recorded.report)
    shown = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--recordings", "latest")
    assert shown.code == 0, "what a replay replayed is replayed again"
    assert "answers replayed, target not executed" in " ".join(shown.out.split())
    planned = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--dry-run")
    assert "cost: nothing, because nothing is sent" in planned.out
    assert "--replay-timing needs --mode replay" in drive(tmp_path, "run", "suite.yaml", "--replay-timing").err
    write(tmp_path, agent_py=agent.replace("upper", "lower"))
    missed = replay(tmp_path)
    assert missed.code == 3 and "the target has changed since" in missed.report["why"]["text"]


def test_a_replay_is_no_new_evidence(tmp_path: Path) -> None:
    suite = "name: up\ntarget: agent.py:answer\ntest_cases: [{id: a, input: hello, expected: HELLO}]\n"
    write(tmp_path, agent_py="def answer(text):\n    return 'no'\n", suite_yaml=suite)
    recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", "--json")
    newest = [replay(tmp_path).run_name for _ in range(3)][-1]
    history = drive(tmp_path, "show", recorded.run_name, "a", "--json").json["history"]
    assert history["failure_count"] == 1
    trend = drive(tmp_path, "trend", "up", "--json")
    assert recorded.run_name in trend.out and newest not in trend.out
    compared = drive(tmp_path, "compare", recorded.run_name, newest)
    assert "no new evidence" in " ".join(compared.both.split())


def judge(body: dict[str, Any]) -> str:
    """What a judge must say: the object of the schema with its random word."""
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if schema is None:
        return "4"
    return json.dumps(_example(schema))


def _example(schema: dict[str, Any]) -> Any:
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: _example(each) for name, each in schema["properties"].items()}
    return {"string": "because", "integer": 5, "number": 5, "boolean": True, "array": []}[schema["type"]]


JUDGED = """
name: judged
target: {chat: {model: openai/served}}
config: {judge_model: openai/served}
trials: 3
test_cases:
  - id: sum
    input: 2+2?
    graders: [{model: {rubric: Is it right?}}, {relevance: [It is a number., It is four.]}]
"""


def test_verdicts_from_the_cache_are_recorded_and_a_replay_leaves_the_cache_alone(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=JUDGED)
    with model_server(judge) as server:
        warm = drive(tmp_path, "run", "suite.yaml", "--json", env=server.environment)
        assert warm.code == 0, warm.both
        recorded = record(tmp_path, server)
    assert recorded.report["judging"][0]["calls"] == 0, "every verdict came from the cache"
    drive(tmp_path, "cache", "clear")
    replayed = replay(tmp_path)
    assert replayed.code == 0, replayed.both
    assert same_report(replayed.report) == same_report(recorded.report)
    assert drive(tmp_path, "cache", "--json").json["verdicts"] == 0


def test_judges_are_replayed_though_they_echo_a_random_word(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=JUDGED)
    with model_server(judge) as server:
        recorded = record(tmp_path, server, "--no-cache")
    replayed = replay(tmp_path)
    assert (recorded.code, replayed.code) == (0, 0), replayed.both
    assert same_report(replayed.report) == same_report(recorded.report)


AGENT = """
name: agent
target: {agent: {model: openai/served, tools: [write_file, list_files, "tools.py:lookup"]}}
test_cases:
  - id: work
    input: do it
    graders: [{files: [{path: out.txt, contains: x}]}, {contains: done}]
"""


def agent(body: dict[str, Any]) -> Any:
    said = [message for message in body["messages"] if message["role"] == "tool"]
    calls = [("write_file", {"path": "out.txt", "content": "x"}), ("lookup", {"word": "a"})]
    if len(said) == len(calls):
        return f"done {said[-1]['content']}"
    name, arguments = calls[len(said)]
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"id-{len(body['messages'])}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_an_agent_writes_its_files_again_but_users_tools_do_not_run(tmp_path: Path) -> None:
    tool = "def lookup(word: str) -> str:\n    open('LOG', 'a').write('x')\n    return word * 3\n"
    write(tmp_path, suite_yaml=AGENT, tools_py=tool.replace("LOG", str(tmp_path / "log")))
    with model_server(agent) as server:
        recorded = record(tmp_path, server)
    assert recorded.code == 0, recorded.both
    replayed = replay(tmp_path)
    assert same_report(replayed.report) == same_report(recorded.report)
    assert (tmp_path / "log").read_text() == "x"


def test_two_trials_are_shown_side_by_side_with_their_first_difference(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    with model_server() as server:
        before = record(tmp_path, server)
    with model_server(lambda body: f"REPLY to {body['messages'][-1]['content']}") as server:
        now = record(tmp_path, server)
    shown = drive(tmp_path, "show", now.run_name, "turns", "--against", before.run_name)
    assert shown.code == 0, shown.both
    lines = [line.rstrip() for line in shown.out.splitlines()]
    assert any(line.startswith("first difference") and line.endswith('- said "reply to one"') for line in lines), lines
    assert any(line.strip() == '+ said "REPLY to one"' for line in lines)
    same = drive(tmp_path, "show", now.run_name, "turns", "--against", now.run_name, "--json").json
    assert same["first_difference"] is None and all(step["is_same"] for step in same["steps"])


@pytest.mark.parametrize("mode", ["live", "record"])
def test_recordings_need_a_mode_that_reads_them(tmp_path: Path, mode: str) -> None:
    write(tmp_path, suite_yaml=CHAT)
    refused = drive(tmp_path, "run", "suite.yaml", "--mode", mode, "--recordings", "x")
    assert (refused.code, "--mode replay" in refused.both) == (2, True)


def test_a_replay_without_a_recording_says_how_to_record(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    refused = replay(tmp_path)
    assert refused.code == 2
    assert "--mode record" in refused.both
