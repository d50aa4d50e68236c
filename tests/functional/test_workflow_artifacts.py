"""Artifacts of workflows with the real command: from a program, a function, a server, a file."""

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

from evalharness import Answer

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


def test_an_answer_that_is_not_an_artifact_has_failed(folder: Path) -> None:
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


DATASET = json.dumps(
    {
        "id": "greeting.v1",
        "workflowName": "greeting",
        "version": "1.0.0",
        "cases": [
            {
                "id": "greets",
                "input": {"task": "Say hello"},
                "assertions": [{"type": "behavior.no_errors"}, {"type": "metric.latency_ms.max", "value": 1000}],
            }
        ],
    }
)
FAILED = {**ARTIFACT, "events": [{"type": "agent:error", "nodeId": "coder", "message": "no key"}, *ARTIFACT["events"]]}


def test_a_program_that_prints_an_artifact_need_not_say_so(folder: Path) -> None:
    write(folder, dataset_json=DATASET, failed_json=json.dumps(FAILED, indent=1))
    done = drive(folder, "run", "dataset.json", "--target", "cmd:cat failed.json", "--json")
    [trial] = done.report["trials"]
    assert (done.code, trial["output"], trial["cost_usd"]) == (1, "hello Ada", 0.25)
    assert "behavior.no_errors: 1 error: no key" in trial["reason"]
    assert "Latency 2000 ms exceeds 1000 ms" in trial["reason"]


@pytest.mark.parametrize(
    "text",
    [
        f'The "snapshot" and the "events" are in {json.dumps(FAILED)}',
        json.dumps(json.dumps(FAILED)),
        json.dumps([FAILED]),
        '{"snapshot": "none", "events": []}',
        '{"snapshot": {}, "events": [',
    ],
)
def test_a_text_that_only_contains_the_words_is_a_text(text: str, folder: Path) -> None:
    write(folder, dataset_json=DATASET, said_txt=text)
    done = drive(folder, "run", "dataset.json", "--target", "cmd:cat said.txt", "--json")
    [trial] = done.report["trials"]
    assert (done.code, trial["output"]) == (0, text[:500])


@pytest.mark.parametrize(
    ("artifact", "reason"),
    [
        ({"snapshot": {}, "events": 5}, "the answer is not an artifact: events must be a list"),
        ({**ARTIFACT, "events": [{"type": "agent:text", "text": "x" * 3_000_000}]}, "(the output was cut)"),
    ],
    ids=["wrong shape", "cut"],
)
def test_a_broken_artifact_does_not_pass_as_a_text(artifact: dict[str, Any], reason: str, folder: Path) -> None:
    write(folder, dataset_json=DATASET, broken_json=json.dumps(artifact))
    done = drive(folder, "run", "dataset.json", "--target", "cmd:cat broken.json", "--json")
    assert (done.code, reason in done.report["trials"][0]["reason"]) == (1, True)


def test_result_text_keeps_the_text(folder: Path) -> None:
    write(folder, dataset_json=DATASET, text_yaml="command: {command: [cat, artifact.json]}\nresult: text\n")
    done = drive(folder, "run", "dataset.json", "--target", "text.yaml", "--json")
    assert done.report["trials"][0]["output"] == json.dumps(ARTIFACT)[:500]


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ("result: artefact", "http.result: 'artefact' is not allowed; did you mean 'artifact'?"),
        ("reslt: json", "http.reslt: unknown key 'reslt'; did you mean 'result'?"),
        ("nam: mine", "unknown key 'nam' next to the mapping of 'http'; did you mean 'name'?"),
        ("url: http://other", "'url' is given twice: next to the mapping of 'http' and inside it"),
    ],
)
def test_what_is_beside_the_mapping_of_a_target_is_checked(beside: str, reason: str, folder: Path) -> None:
    write(folder, dataset_json=DATASET, server_yaml=f"http: {{url: 'http://127.0.0.1:9'}}\n{beside}\n")
    done = drive(folder, "run", "dataset.json", "--target", "server.yaml")
    assert (done.code, reason in done.err) == (2, True), done.both


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/octet-stream"])
@pytest.mark.parametrize(
    "written",
    [
        "{url}",
        {"http": "{url}", "result": "artifact"},
        {"http": {"url": "{url}"}, "result": "artifact"},
        {"http": {"url": "{url}", "result": "artifact"}},
    ],
    ids=["address", "result beside the address", "result beside the mapping", "result in the mapping"],
)
def test_a_server_may_answer_with_an_artifact(written: Any, content_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")

    async def reply(request: web.Request) -> web.Response:
        return web.Response(text=json.dumps(ARTIFACT), content_type=content_type)

    async def both() -> Any:
        async with serving(reply) as base:
            spec = json.loads(json.dumps(written).replace("{url}", base))
            expected = {"assertions": [{"type": "behavior.node_executed", "nodeId": "coder"}]}
            return await asyncio.to_thread(asking.run_suite, spec, input="Ada", expected=expected)

    [trial] = asyncio.run(both()).trials
    assert (trial.state, trial.output, trial.cost_usd) == ("passed", "hello Ada", 0.25)
    assert trial.duration_s == 2.0


def slower(artifact: dict[str, Any], factor: float) -> dict[str, Any]:
    completed = {**artifact["events"][0], "durationMs": 1000 * factor}
    return {**artifact, "events": [completed]}


@pytest.fixture
def slowed(folder: Path) -> Path:
    """Two files of artifacts of ten cases; in the second, all take four times as long."""
    cases = "".join(f"\n  - {{id: c{n}, input: x, graders: [{{assertions: []}}]}}" for n in range(10))
    for name, factor in (("before", 1), ("now", 4)):
        artifacts = {f"c{n}": slower(ARTIFACT, factor * (1 + n / 100)) for n in range(10)}
        (folder / f"{name}.json").write_text(json.dumps(artifacts))
        write(folder, **{f"{name}_yaml": f"name: slow\ntarget: {{artifact: {name}.json}}\ntest_cases:{cases}\n"})
    return folder


def test_what_an_artifact_took_is_its_latency_wherever_latency_counts(slowed: Path) -> None:
    before = drive(slowed, "run", "before.yaml", "--json")
    drive(slowed, "baseline", before.run_name)
    now = drive(slowed, "run", "now.yaml", "--json")
    assert (before.report["metrics"]["latency_s"], now.report["metrics"]["latency_s"]) == (1.045, 4.18)
    [first, *_] = now.report["trials"]
    assert first["duration_s"] == 4
    assert 0 < first["measured_s"] < 4, "the harness's own clock"
    assert "4.0 s (as reported; measured " in drive(slowed, "show", now.run_name, "c0").out
    assert drive(slowed, "verify", now.run_name).code == 0

    compared = drive(slowed, "compare", before.run_name, now.run_name, "--metric", "latency", "--json").json
    assert compared["comparison"]["verdict"] == "REGRESSION"
    assert compared["comparison"]["differences"]["latency"]["value"] == pytest.approx(3)
    assert drive(slowed, "regressions", "slow", "--metric", "latency").code == 1

    (slowed / "now.yaml").write_text((slowed / "now.yaml").read_text() + "gate: {max_latency_s: 3}\n")
    gated = drive(slowed, "run", "now.yaml")
    assert (gated.code, "slowest trial" in gated.out) == (1, True)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([{"type": "agent:complete", "nodeId": n, "durationMs": 1500} for n in "ab"], 3.0),
        ([{"type": "flow:start", "timestamp": 1000}, {"type": "flow:complete", "timestamp": 3500}], 2.5),
        (
            [
                {"type": "flow:start", "timestamp": 1000},
                {"type": "agent:complete", "nodeId": "a"},
                {"type": "flow:complete", "timestamp": 3500},
            ],
            2.5,
        ),
        ([{"type": "agent:complete", "nodeId": "a", "durationMs": 0}], 0.0),
    ],
    ids=["agents in all", "workflow", "agents without a time", "nothing at all"],
)
def test_the_time_that_an_artifact_reports(events: list[dict[str, Any]], expected: float) -> None:
    artifact = {"runId": "r", "snapshot": {"outputs": {"primaryOutput": "4"}}, "events": events}
    trial = asking.run_once(lambda question: artifact)
    assert (trial.state, trial.duration_s) == ("passed", expected)
    assert trial.measured_s is not None


def test_the_time_that_an_answer_reports() -> None:
    limit = {"assertions": [{"type": "metric.latency_ms.max", "value": 1000}]}
    for target in (
        lambda question: Answer(output="4", duration_s=1.5),
        {"command": ["echo", '{"output": "4", "duration_s": 1.5}'], "result": "answer"},
    ):
        trial = asking.run_once(target, expected=limit)
        assert (trial.state, trial.duration_s) == ("failed", 1.5)
        assert "Latency 1500 ms exceeds 1000 ms" in trial.reason
    silent = asking.run_once(lambda question: Answer(output="4"))
    assert (silent.measured_s, silent.duration_s < 1.5) == (None, True)
