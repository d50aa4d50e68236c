"""An impossible cost, token count or duration is an error of its trial; the rest of the report is unaffected."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import run_once, run_suite
from driving import drive

from evalharness import Answer, TargetUnavailable
from evalharness.domain.transcript import Transcript, Usage
from evalharness.errors import TargetFailed

NAN = float("nan")
COSTS = [1e308, 2e9, -0.01, NAN, float("inf")]
AGENT = """
from evalharness import Answer

def answer(question):
    return Answer(output="hi", cost_usd=1e308 if question == "dear" else 0.5)
"""
SUITE = """
name: dear
max_error_rate: 0.6
test_cases:
  - {id: usual, input: cheap, expected: hi}
  - {id: odd, input: dear, expected: hi}
"""


def agent_complete(**figures: Any) -> tuple[dict[str, Any], ...]:
    return ({"type": "flow:start"}, {"type": "agent:complete", "nodeId": "n", **figures})


@pytest.mark.parametrize("cost_usd", COSTS)
def test_a_cost(cost_usd: float) -> None:
    run = run_suite(lambda question: Answer(output="4", cost_usd=cost_usd), cases=3)
    assert {trial.state for trial in run.trials} == {"error"}
    assert f"cost_usd cannot be {cost_usd:g}" in run.trials[0].reason
    assert run.trials[0].output == "4"
    assert run.exit_code == 3


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens"])
@pytest.mark.parametrize("count", [10**13, 10**400, -1], ids=["large", "endless", "negative"])
def test_a_token_count(field: str, count: int) -> None:
    trial = run_once(lambda question: Answer(output="4", usage=Usage(**{field: count})))
    assert trial.state == "error"
    assert f"usage.{field} cannot be" in trial.reason


@pytest.mark.parametrize("make", [dict, Usage])
@pytest.mark.parametrize("count", [1e308, float("inf"), NAN, 2.5])
def test_a_token_count_with_which_no_answer_can_be_made(make: Callable[..., Any], count: float) -> None:
    trial = run_once(lambda question: Answer(output="4", usage=make(input_tokens=count)))
    assert (trial.state, trial.reason) == ("error", f"the answer's usage.input_tokens cannot be {count:g}")


@pytest.mark.parametrize(
    ("figures", "field"),
    [
        ({"durationMs": 1e308}, "events.1.durationMs"),
        ({"duration_ms": -1}, "events.1.duration_ms"),
        ({"totalCostUsd": 1e308}, "events.1.totalCostUsd"),
        ({"usage": {"inputTokens": 10**30}}, "events.1.usage.inputTokens"),
        ({"usage": {"output_tokens": -5}}, "events.1.usage.output_tokens"),
    ],
)
def test_what_an_agent_of_a_workflow_took(figures: dict[str, Any], field: str) -> None:
    trial = run_once(lambda question: Answer(output="4", events=agent_complete(**figures)))
    assert trial.state == "error"
    assert field in trial.reason


@pytest.mark.parametrize("duration_s", [1e10, -0.5, NAN, float("inf")])
def test_a_duration(duration_s: float) -> None:
    trial = run_once(lambda question: Answer(output="4", duration_s=duration_s))
    assert (trial.state, trial.reason) == ("error", f"the answer's duration_s cannot be {duration_s:g}")
    assert trial.duration_s < 60, "by the harness's clock"


def test_the_duration_of_a_workflow() -> None:
    events = ({"type": "flow:start", "timestamp": 1}, {"type": "flow:complete", "timestamp": 1e299})
    trial = run_once(lambda question: Answer(output="4", events=events))
    assert trial.state == "error"
    assert "the answer's duration_s cannot be 1e+296" in trial.reason


def test_figures_at_the_limit_are_kept() -> None:
    usage = Usage(input_tokens=10**12, output_tokens=0)
    events = agent_complete(durationMs=1e12, totalCostUsd=0, usage={"inputTokens": 0})
    trial = run_once(lambda question: Answer(output="4", cost_usd=1e9, usage=usage, events=events))
    assert (trial.state, trial.cost_usd, trial.input_tokens) == ("passed", 1e9, 10**12)


@pytest.mark.parametrize("cost", ["1e308", "-1", "NaN", "1e999"])
def test_the_cost_that_a_program_reports(cost: str) -> None:
    trial = run_once({"command": ["echo", f'{{"output": "4", "cost_usd": {cost}}}'], "result": "answer"})
    assert trial.state == "error"
    assert "cost_usd cannot be" in trial.reason


@pytest.mark.parametrize(("cost", "said"), [("true", "true"), ('"0.5"', "the text '0.5'"), ('"abc"', "the text 'abc'")])
def test_a_cost_that_is_no_number(cost: str, said: str) -> None:
    by_program = run_once({"command": ["echo", f'{{"output": "4", "cost_usd": {cost}}}'], "result": "answer"})
    by_function = run_once(lambda question: Answer(output="4", cost_usd=json.loads(cost)))
    for trial in (by_program, by_function):
        assert (trial.state, trial.reason) == ("error", f"the answer's cost_usd cannot be {said}")


@pytest.mark.parametrize("count", [True, "12"])
def test_a_token_count_that_is_no_number(count: Any) -> None:
    trial = run_once(lambda question: Answer(output="4", usage={"input_tokens": count}))
    assert trial.state == "error"
    assert "usage.input_tokens cannot be" in trial.reason


def test_the_cost_in_an_artifact() -> None:
    artifact = {"runId": "r", "snapshot": {"outputs": {"n": "4"}}, "events": agent_complete(totalCostUsd=1e299)}
    trial = run_once({"command": ["echo", json.dumps(artifact)], "result": "artifact"})
    assert trial.state == "error"
    assert "cost_usd cannot be 1e+299" in trial.reason


def test_a_function_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    target = {"function": f"{tmp_path}/agent.py:answer", "isolate": "process"}
    trial = run_once(target, input="dear", expected="hi")
    assert (trial.state, trial.reason) == ("error", "the answer's cost_usd cannot be 1e+308")


@pytest.mark.parametrize("kind", [TargetFailed, TargetUnavailable])
def test_what_a_failed_target_left_behind(kind: type[Exception]) -> None:
    def answer(question: str) -> str:
        error = kind("no answer")
        error.evidence = Transcript(stderr="so far", cost_usd=1e308)  # type: ignore[attr-defined]
        raise error

    run = run_suite(answer, cases=3)
    [trial, *_] = run.trials
    assert trial.state == ("failed" if kind is TargetFailed else "error")
    assert "no answer; what it left behind could not be kept: the answer's cost_usd cannot be 1e+308" in trial.reason
    assert trial.last.transcript is not None
    assert (trial.last.transcript.stderr, trial.cost_usd) == ("so far", None)


def test_the_report_is_complete_and_names_the_trial(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "suite.yaml").write_text(SUITE)
    done = drive(tmp_path, "run", "suite.yaml", "--target", "agent.py:answer", "--trials", "2", "--json")
    assert done.code == 3, done.both
    assert done.states() == {"usual": ["passed"] * 2, "odd": ["error"] * 2}
    shown = drive(tmp_path, "show", done.run_name, "odd")
    assert "the answer's cost_usd cannot be 1e+308" in shown.out
    assert drive(tmp_path, "show", done.run_name, "--json").report["summary"]["trials"]["error"] == 2
