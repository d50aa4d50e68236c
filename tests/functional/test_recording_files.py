"""Recordings as files: exported, reviewed, replayed elsewhere; with the ids of workflow datasets; without secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import drive, write
from replayed import model_server, same_report

from evalharness.datasets import RecordingStore

CHAT = """
name: talk/it
target: {chat: {model: openai/served}}
trials: 2
test_cases:
  - id: long/turns
    input: {messages: [{role: user, content: "TEXT 1"}, {role: user, content: two}, {role: user, content: three}]}
    graders: [{contains: reply to three}]
  - id: b
    input: hello
    graders: [{contains: reply to hello}]
""".replace("TEXT", "a long message " * 20)
SECRET = "hunter2-hunter2-hunter2"


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.json*")}


@pytest.mark.parametrize("layout", ["cases", "nodes"])
def test_exported_files_replay_in_another_store(tmp_path: Path, layout: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    long, odd = "x" * 300, "{id: recording, input: hi, expected: {contains: hi}}"
    more = f"  - {odd}\n  - {{id: {long}, input: hi, expected: {{contains: hi}}}}\n"
    write(here, suite_yaml=CHAT + more)
    with model_server() as server:
        recorded = drive(here, "run", "suite.yaml", "--mode", "record", "--json", env=server.environment)
    exported = drive(here, "export", "latest", "--recordings", str(there / "kept"), "--layout", layout)
    assert exported.code == 0, exported.both
    write(there, suite_yaml=CHAT + more)
    replayed = drive(there, "run", "suite.yaml", "--mode", "replay", "--recordings", "kept", "--json")
    assert replayed.code == 0, replayed.both
    assert same_report(replayed.report) == same_report(recorded.report)
    again = drive(here, "export", "latest", "--recordings", str(there / "again"), "--layout", layout)
    assert again.code == 0
    files = {path.relative_to(there / "kept"): path.read_bytes() for path in sorted((there / "kept").rglob("*.json*"))}
    assert {
        path.relative_to(there / "again"): path.read_bytes() for path in (there / "again").rglob("*.json*")
    } == files


def test_a_long_message_is_stored_once_per_case(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    with model_server() as server:
        drive(tmp_path, "run", "suite.yaml", "--mode", "record", env=server.environment)
    drive(tmp_path, "export", "latest", "--recordings", "kept")
    [turns] = (tmp_path / "kept").rglob("*turns.json")
    asked = json.loads(turns.read_text())["parts"].values()
    assert sum(each["role"] == "user" and "a long message" in each["content"] for each in asked) == 1
    assert turns.read_text().count("a long message " * 20) < 12, "not once per call, with the replies that quote it"


def test_a_long_conversation_of_short_messages_is_not_stored_once_per_turn(tmp_path: Path) -> None:
    turns = ", ".join(f"{{role: user, content: turn {number}}}" for number in range(100))
    case = f"{{id: a, input: {{messages: [{turns}]}}, graders: [{{contains: reply to turn 99}}]}}"
    write(tmp_path, suite_yaml=f"name: talk\ntarget: {{chat: {{model: openai/served}}}}\ntest_cases: [{case}]")
    with model_server() as server:
        recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", "--json", env=server.environment)
        sent = sum(json.dumps(each).count('turn 1"') for each in server.requests)
    drive(tmp_path, "export", "latest", "--recordings", "kept")
    [file] = (tmp_path / "kept").rglob("a.json")
    assert file.read_text().count('turn 1"') < sent / 10
    replayed = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--recordings", "kept", "--json")
    assert same_report(replayed.report) == same_report(recorded.report)


def test_planted_secrets_are_neither_stored_nor_exported(tmp_path: Path) -> None:
    suite = CHAT.replace("input: hello", f"input: hello {SECRET}").replace("two", f"two {SECRET}")
    write(tmp_path, suite_yaml=suite)
    with model_server() as server:
        env = {**server.environment, "MY_PASSWORD": SECRET}
        recorded = drive(tmp_path, "run", "suite.yaml", "--mode", "record", "--json", env=env)
        assert any(SECRET in json.dumps(each) for each in server.requests), "the model itself sees it"
    drive(tmp_path, "export", "latest", "--recordings", "kept", env=env)
    drive(tmp_path, "export", "latest", "--recordings", "kept", "--layout", "nodes", env=env)
    (tmp_path / "suite.yaml").unlink()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert SECRET.encode() not in content and b"sk-upstream" not in content, path
    write(tmp_path, suite_yaml=suite)
    replayed = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--json", env={"MY_PASSWORD": SECRET})
    assert replayed.code == 0, replayed.both
    assert replayed.states() == recorded.states()


def test_a_file_that_was_broken_by_hand_is_not_the_fault_of_the_target(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=CHAT)
    with model_server() as server:
        drive(tmp_path, "run", "suite.yaml", "--mode", "record", env=server.environment)
    drive(tmp_path, "export", "latest", "--recordings", "kept")
    [file] = (tmp_path / "kept").rglob("b.json")
    (file.parent / "notes.json").write_text("my own")
    kept = json.loads(file.read_text())
    kept["trials"][1]["exchanges"][0]["reply"] = {"nonsense": 1}
    file.write_text(json.dumps(kept))
    broken = drive(tmp_path, "run", "suite.yaml", "--mode", "replay", "--recordings", "kept", "--json")
    assert (broken.code, broken.states()["b"]) == (3, ["passed", "error"]), broken.both
    assert "trial 2 of case b (target: chat) cannot be read" in broken.report["why"]["text"]


DATASET = {
    "id": "flow.v1",
    "workflowName": "flow",
    "version": "1.0.0",
    "cases": [
        {
            "id": "say",
            "name": "Say it",
            "input": {"task": "hello"},
            "assertions": [
                {"type": "output.contains", "path": "outputs.coder.text", "value": "HELLO"},
                {"type": "behavior.no_errors"},
                {"type": "behavior.node_executed", "nodeId": "coder"},
                {"type": "metric.latency_ms.max", "value": 30000},
            ],
            "tags": ["smoke"],
        }
    ],
    "variants": [{"id": "default", "providerTypeByNode": {"coder": "claude"}}],
}
FLOW = """
from evalharness import Answer

def run(task):
    open("ran", "a").write("x")
    text = task["task"].upper()
    usage = {"inputTokens": 3, "outputTokens": 4}
    done = {"type": "agent:complete", "nodeId": "coder", "result": text, "usage": usage, "durationMs": 20}
    events = ({"type": "node:start", "nodeId": "coder"}, done, {"type": "node:complete", "nodeId": "coder"})
    output = {"coder": {"text": text}}
    return Answer(output=output, events=events, snapshot={"status": "complete", "outputs": output})
"""


def test_a_workflow_dataset_is_replayed_from_the_store_and_from_files_with_its_ids(tmp_path: Path) -> None:
    write(tmp_path, flow_json=json.dumps(DATASET), flow_py=FLOW)
    run = ("run", "flow.json", "--target", "flow.py:run", "--json")
    recorded = drive(tmp_path, *run, "--mode", "record")
    assert recorded.code == 0, recorded.both
    replayed = drive(tmp_path, *run, "--mode", "replay")
    assert same_report(replayed.report) == same_report(recorded.report)
    drive(tmp_path, "export", "latest", "--recordings", "kept", "--layout", "nodes")
    exported = drive(tmp_path, "export", recorded.run_name, "--recordings", "kept", "--layout", "nodes")
    assert exported.code == 0, exported.both
    variant = recorded.report["metadata"]["variant"]
    store = RecordingStore(tmp_path / "kept")
    ids = [*store.ids()]
    assert [each.rsplit("__", 2)[1:] for each in ids] == [["coder", "inv0"], ["target", "inv0"]], (ids, variant)
    events = drive(tmp_path, "show", recorded.run_name, "say", "--json").json["trials"][0]["trial"]["attempts"][0]
    kinds = [event["type"] for event in events["transcript"]["events"]]
    assert kinds == ["recording:linked", "node:start", "agent:complete", "node:complete"]
    link = events["transcript"]["events"][0]
    assert (link["recordingId"], link["mode"]) == (f"eval__flow.v1__say__{variant}__coder__inv0", "record")
    linked = store.load(link["recordingId"])
    assert linked is not None and linked.output == {"text": "HELLO"} and linked.events[1].event["durationMs"] == 20
    whole = store.load(f"eval__flow.v1__say__{variant}__target__inv0")
    assert whole is not None and [each.event["type"] for each in whole.events] == ["recording:linked", "exchange"]
    assert whole.events[0].event["runId"] == linked.events[0].event["runId"] == link["runId"]
    from_files = drive(tmp_path, *run, "--mode", "replay", "--recordings", "kept", "--store", "other.db")
    assert same_report(from_files.report) == same_report(recorded.report), from_files.both
    assert (tmp_path / "ran").read_text() == "x"
    write(tmp_path, flow_py=FLOW.replace("upper", "lower"))
    missed = drive(tmp_path, *run, "--mode", "replay", "--recordings", "kept")
    assert missed.code == 3, "changed code is a miss, though there are recordings of its nodes"


@pytest.mark.parametrize("first", [0, 1])
def test_recordings_of_another_tool_are_matched_by_their_order(tmp_path: Path, first: int) -> None:
    """They have no digest of what was asked, and some tools begin to count at 1."""
    write(tmp_path, flow_json=json.dumps(DATASET), flow_py=FLOW)
    store = RecordingStore(tmp_path / "kept")
    done = {"type": "agent:complete", "usage": {"inputTokens": 3, "outputTokens": 4}, "durationMs": 20, "numTurns": 1}
    events = [{"seq": 1, "timestamp": 0, "event": done}]
    output = {"text": "HELLO"}
    metadata = {"providerType": "claude", "createdAt": "2026-01-01T00:00:00Z", "inputHash": "abc"}
    store.save(
        {
            "id": f"eval__flow.v1__say__default__coder__inv{first}",
            "metadata": metadata,
            "events": events,
            "output": output,
        }
    )
    run = ("run", "flow.json", "--target", "flow.py:run", "--json")
    replayed = drive(tmp_path, *run, "--mode", "replay", "--recordings", "kept")
    assert replayed.code == 0, replayed.both
    assert not (tmp_path / "ran").exists()


def test_a_store_of_recordings_saves_loads_and_lists(tmp_path: Path) -> None:
    store = RecordingStore(tmp_path)
    assert store.load("eval__a__b__c__d__inv0") is None and store.list() == []
    saved = {"id": "eval__a__b__c__d__inv0", "metadata": {"providerType": "p", "createdAt": "now", "inputHash": "h"}}
    store.save({**saved, "output": {"x": 1}, "events": [{"seq": 1, "timestamp": 5, "event": {"type": "t"}}]})
    store.save({**saved, "id": "other", "error": {"code": "EXECUTION_ERROR", "message": "no"}})
    loaded = store.load("eval__a__b__c__d__inv0")
    assert loaded is not None and loaded.output == {"x": 1} and loaded.events[0].event == {"type": "t"}
    assert len((tmp_path / "recording-eval__a__b__c__d__inv0.jsonl").read_text().splitlines()) == 1
    assert len(store.list(provider_type="p")) == 2 and store.list(input_hash="none") == []
