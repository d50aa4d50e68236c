"""EvalArtifact: what a run of a workflow left behind, its final snapshot and its events, as they came.

What they mean is read in `artifact_metrics.py` and `artifact_view.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic import AliasChoices, ConfigDict, Field, ValidationError

from evalharness.domain.record import Json, Record
from evalharness.errors import UsageError

Event = Mapping[str, Json]
AGENT_COMPLETE: Final = "agent:complete"
PRIMARY_OUTPUT: Final = "primaryOutput"
WANTED: Mapping[str, str] = MappingProxyType({"dict": "a mapping", "tuple": "a list", "string": "text"})


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


Artifact = EvalArtifact | Mapping[str, Json]
"""What Python callers may hand over: an artifact, or the JSON of one."""


def parse_artifact(value: Artifact) -> EvalArtifact:
    """An artifact from JSON; raises ValueError, saying in one line what is missing or wrong."""
    if isinstance(value, EvalArtifact):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("an artifact is a mapping with snapshot and events")
    try:
        return EvalArtifact.model_validate(dict(value))
    except ValidationError as error:
        raise ValueError("; ".join(_problem(found) for found in error.errors())) from None


def as_artifact(value: Artifact) -> EvalArtifact:
    """The same for callers who pass it themselves: raises UsageError."""
    try:
        return parse_artifact(value)
    except ValueError as error:
        raise UsageError(f"this is no artifact: {error}") from None


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
    wanted = WANTED.get(found["type"].removesuffix("_type"))
    if found["type"] == "missing":
        return f"{place} is missing"
    return f"{place} must be {wanted}" if wanted else f"{place}: {found['msg']}"
