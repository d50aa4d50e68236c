"""The view of an artifact: its outputs, state, metrics and errors by node, and the paths that lead to them.

Nothing an artifact holds can make this raise: what has the wrong shape counts as not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from pydantic.alias_generators import to_camel, to_snake

from evalharness.domain.artifact import PRIMARY_OUTPUT, Artifact, Event, as_artifact, node_of, said
from evalharness.domain.artifact_metrics import Metrics, extract_metrics
from evalharness.domain.json_paths import MISSING, step_into
from evalharness.domain.record import Json


@dataclass(frozen=True, slots=True)
class Errors:
    """`flow_errors` holds what the workflow alone knows: that it failed, where no node said why."""

    node_errors: dict[str, list[str]] = field(default_factory=dict)
    flow_errors: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[str]:
        return [*(message for messages in self.node_errors.values() for message in messages), *self.flow_errors]


@dataclass(frozen=True, slots=True)
class ArtifactView:
    run_id: str
    outputs: dict[str, Json]
    state: dict[str, Json]
    metrics: Metrics
    errors: Errors
    primary_output: Json = None

    def at(self, path: str) -> Any:
        """What stands at `outputs.a.0.b`, `state.x`, `metrics.byNode.coder.durationMs`, `primaryOutput`, as JSON.

        MISSING where the path leads nowhere.
        """
        steps = path.split(".")
        if steps[0] in (PRIMARY_OUTPUT, "primary_output"):
            return walk(self.outputs, [PRIMARY_OUTPUT, *steps[1:]])
        found = walk(self, steps)
        return _as_json(found) if steps[0] in ("metrics", "errors") else found


def create_artifact_view(artifact: Artifact) -> ArtifactView:
    artifact = as_artifact(artifact)
    return ArtifactView(
        run_id=artifact.run_id,
        outputs=artifact.outputs,
        state=artifact.state,
        metrics=extract_metrics(artifact),
        errors=_errors(artifact.events),
        primary_output=artifact.outputs.get(PRIMARY_OUTPUT),
    )


def _errors(events: Iterable[Event]) -> Errors:
    by_node: dict[str, list[str]] = {}
    failed_flows = []
    for event in events:
        kind = event.get("type")
        if kind in ("agent:error", "node:error"):
            message = _message(event)
            messages = by_node.setdefault(node_of(event), [])
            if kind == "agent:error" or message not in messages:  # a node repeats what its agent said
                messages.append(message)
        elif kind == "flow:complete" and event.get("status") == "failed":
            name = said(event, "flowName", "flow_name")
            failed_flows.append(f"workflow {name} failed" if isinstance(name, str) and name else "the workflow failed")
    return Errors(by_node, [] if by_node else failed_flows)


def _message(event: Event) -> str:
    for found in (event.get("message"), event.get("error")):
        text = found.get("message") if isinstance(found, Mapping) else found
        if isinstance(text, str) and text:
            return text
    return "unknown error"


def walk(value: Any, steps: Iterable[str]) -> Any:
    """Follow the steps through mappings, lists (by index, or their `length`) and the records of a view."""
    for step in steps:
        if is_dataclass(value):
            value = _in_record(value, step)
        elif step == "length" and isinstance(value, list | tuple):
            value = len(value)
        else:
            value = step_into(value, step)
    return value


def output_at(artifact: Artifact, path: str) -> Any:
    """What stands at a path inside the outputs: `main.text`; `outputs.main.text` is the same place. Or MISSING."""
    outputs, steps = as_artifact(artifact).outputs, path.split(".")
    found = walk(outputs, steps)
    return walk(outputs, steps[1:]) if found is MISSING and steps[0] == "outputs" else found


def _in_record(record: Any, step: str) -> Any:
    name = to_snake(step)
    value = getattr(record, name) if name in {each.name for each in fields(record)} else None
    return MISSING if value is None else value


def _as_json(value: Any) -> Any:
    """The records of a view as JSON writes them; what is not known is left out."""
    if is_dataclass(value):
        known = {each.name: getattr(value, each.name) for each in fields(value)}
        return {to_camel(name): _as_json(item) for name, item in known.items() if item is not None}
    return {key: _as_json(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def compact_text(value: Any) -> str:
    """A text as it is, anything else as compact JSON, in which a whole number has no `.0`.

    Raises RecursionError or ValueError for what has no text: a value nested too deeply, a number of 5,000 digits.
    """
    if isinstance(value, str):
        return value
    return json.dumps(_without_point(value), ensure_ascii=False, separators=(",", ":"), default=str)


def _without_point(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _without_point(item) for key, item in value.items()}
    return [_without_point(item) for item in value] if isinstance(value, list | tuple) else value
