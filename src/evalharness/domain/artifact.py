"""EvalArtifact: what a run of a workflow left behind, its final snapshot and its events, as they came.

What they mean is read in `artifact_metrics.py` and `artifact_view.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import AliasChoices, ConfigDict, Field, ValidationError

from evalharness.domain.record import Json, Record

Event = Mapping[str, Json]
AGENT_COMPLETE: Final = "agent:complete"
PRIMARY_OUTPUT: Final = "primaryOutput"


class EvalArtifact(Record):
    """`snapshot` and `events` are required; keys that are not known are ignored."""

    model_config = ConfigDict(extra="ignore")

    run_id: str = Field(default="", validation_alias=AliasChoices("run_id", "runId"), serialization_alias="runId")
    case_id: str = Field(default="", validation_alias=AliasChoices("case_id", "caseId"), serialization_alias="caseId")
    snapshot: dict[str, Json]
    events: tuple[dict[str, Json], ...]

    @property
    def outputs(self) -> dict[str, Json]:
        return _mapping(self.snapshot.get("outputs"))

    @property
    def state(self) -> dict[str, Json]:
        return _mapping(self.snapshot.get("state"))


def parse_artifact(value: EvalArtifact | Mapping[str, Json]) -> EvalArtifact:
    """An artifact from JSON; raises ValueError, saying in one line what is missing or wrong."""
    if isinstance(value, EvalArtifact):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("an artifact is a mapping with snapshot and events")
    try:
        return EvalArtifact.model_validate(dict(value))
    except ValidationError as error:
        raise ValueError("; ".join(_problem(found) for found in error.errors())) from None


def looks_like_artifact(value: Any) -> bool:
    """Whether a value is meant as an artifact, be it a sound one or not."""
    return isinstance(value, Mapping) and isinstance(value.get("snapshot"), Mapping) and "events" in value


def said(mapping: Mapping[str, Json], camel: str, snake: str) -> Json:
    """A field of an event or a snapshot, written `likeThis` or `like_this`."""
    found = mapping.get(camel)
    return mapping.get(snake) if found is None else found


def node_of(event: Event) -> str:
    node = said(event, "nodeId", "node_id")
    return node if isinstance(node, str) else ""


def _mapping(value: Json) -> dict[str, Json]:
    return dict(value) if isinstance(value, Mapping) else {}


def _problem(found: Any) -> str:
    place = ".".join(str(part) for part in found["loc"])
    return f"{place} is missing" if found["type"] == "missing" else f"{place}: {found['msg']}"
