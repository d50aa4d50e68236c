"""Recorded sessions asked again of a scripted agent in real containers, as docker-agent would be."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from container_runtimes import IMAGE, TestRuntime, busybox_archive
from driving import Outcome, drive

from evalharness.sessions import Config, evaluate_sessions

AGENT_IMAGE = "evalharness-test:agent"
# Says what it was asked, what it was called with, and what is in its folder, in the events of docker-agent.
SCRIPT = r"""#!/bin/sh
[ "$1 $2 $3 $4" = "run --exec --yolo --json" ] || exit 9
config=$5; shift 5
[ "$SILENT" ] && { echo "no model" >&2; exit 3; }
printf '{"type":"stream_started","session_id":"s1"}\n'
printf '{"type":"tool_call","tool_call":{"id":"c1","type":"function",'
printf '"function":{"name":"list_directory","arguments":"{}"}}}\n'
printf '{"type":"tool_call_response","tool_call_id":"c1","response":"%s"}\n' "$(ls | tr '\n' ' ')"
printf '{"type":"agent_choice","content":"%s; %s turns, last %s; key %s; files %s; net %s"}\n' \
  "$(cat "$config")" "$#" "$(eval echo \${$#})" "$KEY" "$(ls | tr '\n' ' ')" "$(ls /sys/class/net | tr '\n' ' ')"
printf '{"type":"token_usage","session_id":"s1","usage":{"input_tokens":7,"output_tokens":5,"cost":0.25}}\n'
echo made > made.txt
printf '{"type":"stream_stopped","session_id":"s1"}\n'
"""


def session(*questions: str, **evals: Any) -> dict[str, Any]:
    messages = [{"message": {"agentName": "", "message": {"role": "user", "content": text}}} for text in questions]
    call = {"id": "1", "type": "function", "function": {"name": "list_directory", "arguments": "{}"}}
    messages.append({"message": {"agentName": "root", "message": {"role": "assistant", "tool_calls": [call]}}})
    return {"id": "s-1", "title": "Counting", "messages": messages, "evals": evals}


@pytest.fixture
def project(container_runtime: TestRuntime, tmp_path: Path) -> Path:
    if AGENT_IMAGE not in container_runtime.call("images", "--format", "{{.Repository}}:{{.Tag}}"):
        container_runtime.call("import", "-", AGENT_IMAGE, stdin=busybox_archive({"docker-agent": SCRIPT}))
    (tmp_path / "agent.yaml").write_text("configured")
    (tmp_path / "evals/working_dirs/two").mkdir(parents=True)
    (tmp_path / "evals/working_dirs/two/a.txt").write_text("a")
    return tmp_path


def save(project: Path, name: str, data: dict[str, Any]) -> None:
    (project / "evals" / f"{name}.json").write_text(json.dumps(data))


def ask(project: Path, runtime: TestRuntime, *words: str, env: dict[str, str] | None = None) -> Outcome:
    images = ("--base-image", IMAGE, "--agent-image", AGENT_IMAGE, "--pull", "never")
    flags = ("--container-runtime", runtime.name, *images, "--json", *words)
    done = drive(project, "docker-agent", "agent.yaml", *flags, env={**runtime.environment, **(env or {})})
    assert runtime.containers() == []
    return done


def test_sessions_are_asked_again(project: Path, container_runtime: TestRuntime) -> None:
    evals = {"size": "S", "working_dir": "two", "setup": "echo hidden; cp a.txt b.txt"}
    save(project, "count", session("How many?", "And, now?", **evals))
    save(project, "bare", session("Nothing?", assertions=[{"type": "contains", "value": "files ;"}]))
    done = ask(project, container_runtime, "-e", "KEY=a,b=c", "-e", "UNSET", env={"KEY": "host"})
    assert done.code == 0, done.both
    assert "warning: the variable UNSET is not set" in done.err
    answers = {trial["case_id"]: trial["output"] for trial in done.report["trials"]}
    assert answers["count"] == "configured; 2 turns, last And, now?; key a,b=c; files a.txt b.txt ; net lo "
    [database] = (project / "evals/results").glob("*.db")
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT title, cost, output_tokens FROM sessions").fetchall()
    connection.close()
    assert rows == [("Counting", 0.25, 5)] * 2
    [log] = (project / "evals/results").glob("*.log")
    assert "✓ tool calls" in log.read_text()


def test_from_python(project: Path, container_runtime: TestRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    save(project, "count", session("How many?", working_dir="two"))
    monkeypatch.chdir(project)
    config = Config(agent_filename="agent.yaml", base_image=IMAGE, agent_image=AGENT_IMAGE, keep_containers=True)
    [result] = evaluate_sessions(config, store=":memory:").results
    assert (result.error, result.tool_calls_score, result.cost) == ("", 1.0, 0.25)
    [kept] = container_runtime.containers()
    assert "-count-1-" in kept
    container_runtime.call("rm", kept)


def test_failing_sessions_make_the_exit_code_1(project: Path, container_runtime: TestRuntime) -> None:
    wrong = session("How many?", size="XL")
    wrong["messages"][-1]["message"]["message"]["tool_calls"][0]["function"]["name"] = "other"
    save(project, "count", wrong)
    done = ask(project, container_runtime)
    assert done.code == 1, done.both
    [trial] = done.report["trials"]
    assert "size" in trial["reason"]


def test_an_agent_that_says_nothing_is_an_error(project: Path, container_runtime: TestRuntime) -> None:
    save(project, "count", session("How many?"))
    done = ask(project, container_runtime, "-e", "SILENT=1")
    assert done.code == 3, done.both
    [trial] = done.report["trials"]
    assert (trial["state"], trial["reason"]) == ("error", "container failed: exit code 3 (stderr: no model)")


def test_a_setup_that_fails(project: Path, container_runtime: TestRuntime) -> None:
    save(project, "count", session("How many?", setup="echo wrong >&2; exit 4"))
    done = ask(project, container_runtime)
    [trial] = done.report["trials"]
    assert (trial["state"], trial["reason"]) == ("error", "the setup failed: wrong")


def test_the_image_of_a_session_and_one_that_is_missing(project: Path, container_runtime: TestRuntime) -> None:
    save(project, "count", session("How many?", image=AGENT_IMAGE))
    assert ask(project, container_runtime).code == 0
    save(project, "count", session("How many?", image="nowhere/none:1"))
    done = ask(project, container_runtime)
    assert (done.code, "there is no image nowhere/none:1 here" in done.both) == (3, True), done.both


def test_any_agent_in_a_container(project: Path, container_runtime: TestRuntime) -> None:
    command = ["sh", "-c", "cat; cat given.txt; ls /sys/class/net; echo x > /out; echo y > made.txt"]
    target = {"container": {"image": IMAGE, "command": command}}
    case = {
        "id": "one",
        "input": "asked ",
        "files": {"given.txt": "given "},
        "graders": [{"contains": "asked given lo"}, {"files": ["made.txt"]}],
    }
    suite = {"name": "contained", "target": target, "trials": 2, "test_cases": [case]}
    (project / "suite.json").write_text(json.dumps(suite))
    words = ("run", "suite.json", "--container-runtime", container_runtime.name, "--json")
    done = drive(project, *words, env=dict(container_runtime.environment))
    assert done.code == 0, done.both
    assert container_runtime.containers() == []
