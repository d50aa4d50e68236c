"""The artifact of a run about which given assertions hold, as far as one can be made up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

from evalharness.domain.artifact import AGENT_COMPLETE, PRIMARY_OUTPUT, EvalArtifact
from evalharness.domain.artifact_view import walk
from evalharness.domain.assertions import (
    AnyAssertion,
    NodeExecuted,
    OutputContains,
    OutputEquals,
    evaluate_assertions,
)
from evalharness.domain.json_paths import MISSING
from evalharness.domain.record import Json

ROOTS = ("outputs", "state")


def artifact_for(assertions: Sequence[AnyAssertion]) -> EvalArtifact | None:
    """None when no such run can be made up: two assertions contradict each other, or ask for what a run cannot say."""
    snapshot: dict[str, Json] = {"status": "complete", "outputs": {}, "state": {}}
    wanted = sorted(_values(assertions), key=lambda pair: len(pair[0]))
    for steps, value in wanted:
        _put(snapshot, steps, value)
    artifact = EvalArtifact(snapshot=snapshot, events=tuple(_events(assertions)))
    return artifact if all(result.passed for result in evaluate_assertions(artifact, assertions)) else None


def _values(assertions: Iterable[AnyAssertion]) -> Iterable[tuple[tuple[str, ...], Json]]:
    """What must stand where; texts that must be contained at the same place are said one after the other."""
    texts: dict[tuple[str, ...], list[str]] = {}
    for assertion in assertions:
        if isinstance(assertion, OutputEquals) and assertion.has_value:
            yield _steps(assertion.path), deepcopy(assertion.value)
        elif isinstance(assertion, OutputContains):
            texts.setdefault(_steps(assertion.path), []).append(assertion.value)
    for steps, parts in texts.items():
        yield steps, " ".join(dict.fromkeys(parts))


def _steps(path: str) -> tuple[str, ...]:
    steps = tuple(path.split("."))
    return ("outputs", PRIMARY_OUTPUT, *steps[1:]) if steps[0] in (PRIMARY_OUTPUT, "primary_output") else steps


def _put(snapshot: dict[str, Json], steps: tuple[str, ...], value: Json) -> None:
    """Only into what is free: whatever is there was asked for by another assertion."""
    if steps[0] not in ROOTS or len(steps) == 1 or walk(snapshot, steps) is not MISSING:
        return
    place: Any = snapshot
    for step in steps[:-1]:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            return
    place[steps[-1]] = value


def _events(assertions: Iterable[AnyAssertion]) -> Iterable[dict[str, Json]]:
    nodes = dict.fromkeys(each.node_id for each in assertions if isinstance(each, NodeExecuted))
    usage = {"inputTokens": 0, "outputTokens": 0}
    for node in nodes:
        yield {"type": AGENT_COMPLETE, "nodeId": node, "durationMs": 0, "totalCostUsd": 0, "usage": usage}
    yield {"type": "flow:complete", "status": "complete"}
