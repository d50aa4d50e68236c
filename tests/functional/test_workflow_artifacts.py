"""Artifacts of workflows through the real command: given by a program, by a function, by a server, by a file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import asking
import pytest
from aiohttp import web
from driving import drive, write
from loop_server import serving

ARTIFACT = {
    "runId": "run-1",
    "snapshot": {"status": "complete", "outputs": {"main": {"text": "hello Ada"}, "primaryOutput": "hello Ada"}},
    "events": [
        {
            "type": "agent:complete",
            "nodeId": "coder",
            "durationMs": 2000,
            "totalCostUsd": 0.25,
            "usage": {"inputTokens": 500, "outputTokens": 200},
        },
        {"type": "node:start", "nodeId": "disk"},
    ],
}
SUITE = """
test_cases:
  - id: greets
    input: Ada
    expected:
      assertions:
        - {type: output.contains, path: outputs.main.text, value: Ada}
        - {type: output.equals, path: primaryOutput, value: hello Ada}
        - {type: behavior.node_executed, nodeId: coder}
        - {type: behavior.node_executed, nodeId: disk}
        - {type: behavior.no_errors}
        - {type: metric.latency_ms.max, value: 2000}
    graders:
      - {latency: 4000, required: false}
      - {scorer: "scorers.py:short", required: false}
"""
SCORERS = "def short(artifact):\n    return 0.25\n"
WORKFLOW = f"def run(question):\n    return {ARTIFACT!r}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(
        tmp_path, suite_yaml=SUITE, scorers_py=SCORERS, workflow_py=WORKFLOW, artifact_json=json.dumps(ARTIFACT)
    )


@pytest.mark.parametrize(
    "target",
    [
        "{command: [cat, artifact.json], result: artifact}",
        "workflow.py:run",
        "{function: workflow.py:run, isolate: process}",
        "{artifact: artifact.json}",
    ],
)
def test_an_artifact_is_graded_and_what_it_took_is_reported(target: str, folder: Path) -> None:
    (folder / "suite.yaml").write_text(f"target: {target}\n{SUITE}")
    done = drive(folder, "run", "suite.yaml", "--json")
    assert done.code == 0, done.both
    [trial] = done.report["trials"]
    assert [grade["score"] for grade in trial["grades"]] == [1.0, 0.5, 0.25]
    assert trial["cost_usd"] == 0.25
    assert (trial["input_tokens"], trial["output_tokens"]) == (500, 200)


def test_a_failed_assertion_fails_the_case_and_is_named(folder: Path) -> None:
    (folder / "artifact.json").write_text(json.dumps({**ARTIFACT, "snapshot": {"outputs": {}}}))
    (folder / "suite.yaml").write_text(f"target: {{artifact: artifact.json}}\n{SUITE}")
    done = drive(folder, "run", "suite.yaml")
    assert done.code == 1
    assert 'Path "outputs.main.text" not found' in done.both


def test_the_oracle_passes_and_null_fails(folder: Path) -> None:
    assert drive(folder, "run", "suite.yaml", "--target", "oracle").code == 0
    assert drive(folder, "run", "suite.yaml", "--target", "null").code == 1


def test_an_answer_that_is_no_artifact_has_failed(folder: Path) -> None:
    (folder / "suite.yaml").write_text(f"target: {{command: [echo, '{{}}'], result: artifact}}\n{SUITE}")
    done = drive(folder, "run", "suite.yaml")
    assert done.code == 1
    assert "snapshot is missing; events is missing" in done.both


def test_a_broken_file_of_artifacts_ends_the_command_before_anything_is_graded(folder: Path) -> None:
    (folder / "artifact.json").write_text("{")
    (folder / "suite.yaml").write_text(f"target: {{artifact: artifact.json}}\n{SUITE}")
    done = drive(folder, "run", "suite.yaml")
    assert done.code == 3
    assert "artifact.json:1: is not JSON" in done.both


def test_a_server_may_answer_with_an_artifact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")

    async def reply(request: web.Request) -> web.Response:
        return web.json_response(ARTIFACT)

    async def both() -> Any:
        async with serving(reply) as base:
            spec = {"http": {"url": base, "result": "artifact"}}
            expected = {"assertions": [{"type": "behavior.node_executed", "nodeId": "coder"}]}
            return await asyncio.to_thread(asking.run_suite, spec, input="Ada", expected=expected)

    [trial] = asyncio.run(both()).trials
    assert (trial.state, trial.output, trial.cost_usd) == ("passed", "hello Ada", 0.25)
