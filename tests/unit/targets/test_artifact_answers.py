"""Artifacts as answers of programs, servers and functions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalharness.documents.artifact import EvalArtifact
from evalharness.domain.transcript import Transcript, Usage
from evalharness.errors import TargetFailed
from evalharness.targets.answers import read_result, transcript_of

ARTIFACT: dict[str, Any] = {
    "runId": "run-1",
    "snapshot": {"outputs": {"main": {"text": "hi"}}},
    "events": [
        {
            "type": "agent:complete",
            "nodeId": "main",
            "totalCostUsd": 0.5,
            "usage": {"inputTokens": 3, "outputTokens": 1},
        }
    ],
}


def test_a_reply_is_read_as_an_artifact_when_requested() -> None:
    transcript = read_result(json.dumps(ARTIFACT), "artifact", Transcript(exit_code=0, stderr="log"))
    assert transcript.output == {"main": {"text": "hi"}}
    assert transcript.snapshot == {**ARTIFACT["snapshot"], "runId": "run-1"}
    assert [event["type"] for event in transcript.events] == ["agent:complete"]
    assert (transcript.usage, transcript.cost_usd) == (Usage(input_tokens=3, output_tokens=1), 0.5)
    assert (transcript.exit_code, transcript.stderr) == (0, "log")


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("5", "a mapping with snapshot and events"),
        ("{}", "snapshot is missing; events is missing"),
        ('{"snapshot": {}}', "events is missing"),
        ('{"snapshot": [], "events": []}', "snapshot"),
        ("nothing", "not JSON"),
    ],
)
def test_another_reply_fails_and_says_what_is_missing(reply: str, problem: str) -> None:
    with pytest.raises(TargetFailed, match=problem) as failure:
        read_result(reply, "artifact", Transcript(stdout=reply))
    assert failure.value.evidence.stdout == reply


@pytest.mark.parametrize("returned", [ARTIFACT, EvalArtifact.model_validate(ARTIFACT)], ids=["mapping", "object"])
def test_a_function_may_return_one(returned: Any) -> None:
    transcript = transcript_of(returned)
    assert transcript.output == {"main": {"text": "hi"}}
    assert transcript.cost_usd == 0.5


def test_what_only_looks_a_little_like_one_is_an_answer_of_its_own() -> None:
    answers: list[dict[str, Any]] = [{"snapshot": {}}, {"snapshot": "a photo", "events": 3}, {"events": []}]
    for returned in answers:
        assert transcript_of(returned).output == returned


@pytest.mark.parametrize("events", [5, ["x"]])
def test_a_function_that_returns_a_broken_one_has_failed(events: Any) -> None:
    with pytest.raises(TargetFailed, match="not an artifact: events"):
        transcript_of({"snapshot": {}, "events": events})


def test_an_artifact_that_json_cannot_represent_has_failed() -> None:
    with pytest.raises(TargetFailed, match="type set"):
        transcript_of(EvalArtifact(snapshot={"outputs": {"a": {1, 2}}}, events=()))
