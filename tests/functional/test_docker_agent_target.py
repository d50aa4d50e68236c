"""Recorded sessions asked again of a scripted agent in real containers, as docker-agent would be."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from container_runtimes import IMAGE, TestRuntime
from driving import Outcome, drive
from replayed import model_server

from evalharness.sessions import Config, evaluate_sessions

AGENT_IMAGE = "evalharness-test:agent"
JUDGE = """replies: [{when: '"nonce": "(\\w+)"', object: {nonce: '{match:1}', reason: it says so, result: pass}}]"""
# Says what it was asked, what it was called with, and what is in its folder, in the events of docker-agent.
SCRIPT = r"""#!/bin/sh
[ "$1 $2 $3 $4" = "run --exec --yolo --json" ] || exit 9
config=$5; shift 5
[ "$1" = Silence ] && { echo "no model" >&2; exit 3; }
[ "$1" = Fail ] && { echo '{"type":"error","error":"the model refused"}'; exit 0; }
[ "$1" = Hang ] && { echo '{"type":"agent_choice","content":"wait"}'; sleep 60; }
[ "$1" = Crash ] && { echo '{"type":"agent_choice","content":"almost"}'; exit 5; }
body="{\"model\": \"served\", \"messages\": [{\"role\": \"user\", \"content\": \"$1\"}]}"
reply=$(wget -q -O - --header "Authorization: Bearer $OPENAI_API_KEY" --header "Content-Type: application/json" \
  --post-data "$body" "$OPENAI_BASE_URL/chat/completions" | sed 's/.*"content": *"\([^"]*\)".*/\1/')
printf '{"type":"stream_started","session_id":"s1"}\n'
printf '{"type":"tool_call","tool_call":{"id":"c1","type":"function",'
printf '"function":{"name":"list_directory","arguments":"{}"}}}\n'
printf '{"type":"tool_call_response","tool_call_id":"c1","response":"%s"}\n' "$(ls | tr '\n' ' ')"
printf '{"type":"agent_choice","content":"%s; %s turns, last %s; key %s; files %s; net %s; %s"}\n' "$(cat "$config")" \
  "$#" "$(eval echo \${$#})" "$KEY" "$(ls | tr '\n' ' ')" "$(ls /sys/class/net | tr '\n' ' ')" "$reply"
printf '{"type":"token_usage","session_id":"s1","usage":{"input_tokens":7,"output_tokens":5,"cost":0.25}}\n'
echo made > made.txt
printf '{"type":"stream_stopped","session_id":"s1"}\n'
"""


def session(*questions: str, tool: str = "list_directory", **evals: Any) -> dict[str, Any]:
    messages = [{"message": {"agentName": "", "message": {"role": "user", "content": text}}} for text in questions]
    call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    messages.append({"message": {"agentName": "root", "message": {"role": "assistant", "tool_calls": [call]}}})
    return {"id": "s-1", "title": "Counting", "messages": messages, "evals": evals}


def make_project(runtime: TestRuntime, folder: Path, sessions: dict[str, dict[str, Any]]) -> None:
    runtime.image(AGENT_IMAGE, {"docker-agent": SCRIPT})
    (folder / "agent.yaml").write_text("configured")
    (folder / "evals/working_dirs/two").mkdir(parents=True)
    (folder / "evals/working_dirs/two/a.txt").write_text("a")
    for name, data in sessions.items():
        (folder / f"evals/{name}.json").write_text(json.dumps(data))


def ask(folder: Path, runtime: TestRuntime, *words: str, **env: str) -> Outcome:
    images = ("--base-image", IMAGE, "--agent-image", AGENT_IMAGE, "--pull", "never")
    flags = ("--container-runtime", runtime.name, *images, "--json", *words)
    done = drive(folder, "docker-agent", "agent.yaml", *flags, env={**runtime.environment, **env})
    assert runtime.containers() == []
    return done


def test_sessions_are_asked_again(container_runtime: TestRuntime, tmp_path: Path) -> None:
    evals = {"size": "S", "working_dir": "two", "setup": "echo hidden; cp a.txt b.txt", "relevance": ["It counts."]}
    bare = session("Nothing?", assertions=[{"type": "contains", "value": "files ;"}], image=AGENT_IMAGE)
    make_project(container_runtime, tmp_path, {"count": session("How many?", "And, now?", **evals), "bare": bare})
    variables = ("-e", "KEY=a,b=c", "-e", "UNSET")
    (tmp_path / "judge.yaml").write_text(JUDGE)
    with model_server() as server:
        judge = ("--judge-model", "scripted/judge.yaml")
        done = ask(tmp_path, container_runtime, *judge, *variables, KEY="host", **server.environment)
    assert done.code == 0, done.both
    assert "warning: the variable UNSET is not set" in done.err
    answers = {trial["case_id"]: trial["output"] for trial in done.report["trials"]}
    seen = "configured; 2 turns, last And, now?; key a,b=c; files a.txt b.txt ; net lo ; reply to How many?"
    assert answers["count"] == seen
    assert len(server.requests) == 2, "through the gateway, without being asked for"
    [database] = (tmp_path / "evals/results").glob("*.db")
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT title, cost, output_tokens FROM sessions").fetchall()
    connection.close()
    assert rows == [("Counting", 0.25, 5)] * 2
    [log] = (tmp_path / "evals/results").glob("*.log")
    assert "✓ tool calls" in log.read_text()


def test_what_goes_wrong(use_runtime: Callable[[str], TestRuntime], tmp_path: Path) -> None:
    runtime = use_runtime("docker")
    sessions = {
        "wrong-size": session("How many?", size="XL"),
        "wrong-tool": session("How many?", tool="other"),
        "wrong-end": session("Fail"),
        "wrong-code": session("Crash"),
        "error-silent": session("Silence"),
        "error-setup": session("How many?", setup="echo wrong >&2; exit 4"),
    }
    make_project(runtime, tmp_path, sessions)
    failing = ask(tmp_path, runtime, "--only", "wrong-*")
    assert failing.code == 1, failing.both
    assert {trial["case_id"]: trial["state"] for trial in failing.report["trials"]} == {
        "wrong-size": "failed", "wrong-tool": "failed", "wrong-end": "failed", "wrong-code": "failed",
    }  # fmt: skip
    broken = ask(tmp_path, runtime, "--only", "error-silent,error-setup")
    assert broken.code == 3, broken.both
    assert {trial["case_id"]: (trial["state"], trial["reason"]) for trial in broken.report["trials"]} == {
        "error-silent": ("error", "container failed: exit code 3 (stderr: no model)"),
        "error-setup": ("error", "the setup failed: wrong"),
    }
    (tmp_path / "evals/gone.json").write_text(json.dumps(session("How many?", image="nowhere/none:1")))
    gone = ask(tmp_path, runtime, "--only", "gone")
    assert (gone.code, "there is no image nowhere/none:1 here" in gone.both) == (3, True), gone.both
    outside = tmp_path / "evals/outside.json"
    outside.write_text(json.dumps(session("How many?", working_dir="../..")))
    assert ask(tmp_path, runtime).code == 2, "a folder outside of working_dirs"


def test_names_that_are_wrong(tmp_path: Path) -> None:
    nobody = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    (tmp_path / "agent.yaml").write_text("configured")
    done = drive(tmp_path, "docker-agent", "agent.yaml", "evls")
    assert (done.code, "there is no folder evls" in done.err) == (2, True), done.both
    assert not (tmp_path / "evls").exists()
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/count.json").write_text(json.dumps(session("How many?")))
    done = drive(tmp_path, "docker-agent", "agnt.yaml", env=nobody)
    assert (done.code, "agnt.yaml. Did you mean 'agent.yaml'?" in done.err) == (2, True), done.both
    done = drive(tmp_path, "docker-agent", ".", env=nobody)
    assert (done.code, f"the agent file {tmp_path} is a folder" in done.err) == (2, True), done.both
    (tmp_path / "empty").mkdir()
    done = drive(tmp_path, "docker-agent", "agent.yaml", "empty", env=nobody)
    assert (done.code, "no recorded session was found in this folder" in done.err) == (2, True), done.both
    for written in ("=x", "A B=x"):
        done = drive(tmp_path, "docker-agent", "agent.yaml", "-e", written, env=nobody)
        assert (done.code, done.err.startswith("error: --env: ")) == (2, True), done.both
    done = drive(tmp_path, "docker-agent", "agent.yaml", "--container-runtime", "docker", env=nobody)
    assert (done.code, "start its daemon" in done.err) == (3, True), done.both


def test_repeats_and_the_time_limit_are_called_as_in_run(
    use_runtime: Callable[[str], TestRuntime], tmp_path: Path
) -> None:
    runtime = use_runtime("docker")
    make_project(runtime, tmp_path, {"hang": session("Hang")})
    by_flag = ask(tmp_path, runtime, "--trials", "2", "--timeout", "2")
    by_variable = ask(tmp_path, runtime, EVALHARNESS_EPOCHS="2", EVALHARNESS_TIMEOUT="2")
    for done in (by_flag, by_variable):
        assert (done.code, done.states()) == (1, {"hang": ["failed", "failed"]}), done.both
        assert [trial["reason"] for trial in done.report["trials"]] == ["time limit: no answer within 2 s"] * 2


def test_as_many_trials_as_cpus_run_at_once_and_the_help_says_so(
    use_runtime: Callable[[str], TestRuntime], tmp_path: Path
) -> None:
    assert "one per CPU.  [default: 0]" in drive(tmp_path, "docker-agent", "--help").out
    runtime = use_runtime("docker")
    make_project(runtime, tmp_path, {"fail": session("Fail")})
    assert ask(tmp_path, runtime).code == 1
    [saved] = (tmp_path / "evals/results").glob("*-sessions.json")
    assert json.loads(saved.read_text())["config"]["concurrency"] == os.cpu_count()


def test_from_python(
    use_runtime: Callable[[str], TestRuntime], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = use_runtime("docker")
    make_project(runtime, tmp_path, {"count": session("How many?", working_dir="two")})
    monkeypatch.chdir(tmp_path)
    config = Config(agent_filename="agent.yaml", base_image=IMAGE, agent_image=AGENT_IMAGE, keep_containers=True)
    [result] = evaluate_sessions(config, store=":memory:").results
    assert (result.error, result.tool_calls_score, result.cost) == ("", 1.0, 0.25)
    [kept] = runtime.containers()
    assert "-count-1-" in kept
    runtime.call("rm", "--volumes", kept)


def test_repeats_and_an_earlier_result(use_runtime: Callable[[str], TestRuntime], tmp_path: Path) -> None:
    runtime = use_runtime("docker")
    checked = [{"type": "contains", "value": "configured"}]
    make_project(runtime, tmp_path, {"count": session("How many?", assertions=checked)})
    first = ask(tmp_path, runtime, "--repeat", "2", "-c", "1", "--output", "first")
    assert (first.code, first.states()) == (0, {"count": ["passed", "passed"]}), first.both
    saved = json.loads((tmp_path / f"first/{first.run_name}-sessions.json").read_text())
    assert [each["eval_result"]["passed"] for each in saved["sessions"]] == [True, True]
    assert sorted(path.suffix for path in (tmp_path / "first").glob(f"{first.run_name}.*")) == [".db", ".json", ".log"]
    assert not (tmp_path / "evals/results").exists()
    baseline = (
        "--output",
        "second",
        "--baseline",
        f"first/{first.run_name}-sessions.json",
        "--regression-tolerance",
        "1",
    )
    same = ask(tmp_path, runtime, *baseline)
    assert same.code == 0, same.both
    (tmp_path / "agent.yaml").write_text("changed")
    worse = ask(tmp_path, runtime, *baseline)
    assert worse.code == 1, worse.both
    [change] = worse.report["session_comparison"]["changes"]
    assert (change["before"], change["now"]) == ("pass", "fail"), "which no tolerance allows"
