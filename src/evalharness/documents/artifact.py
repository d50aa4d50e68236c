"""EvalArtifact: what a run of a workflow left behind, its final snapshot and its events; and the ids of recordings.

What they mean beyond time, cost and tokens is read in `artifact_view.py`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import unquote

from pydantic import AliasChoices, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import core_schema

from evalharness.domain.invalid_values import message_of
from evalharness.domain.record import Record
from evalharness.errors import UsageError
from evalharness.values.json_value import Json

Event = Mapping[str, Json]
AGENT_COMPLETE: Final = "agent:complete"
PRIMARY_OUTPUT: Final = "primaryOutput"
WANTED: Mapping[str, str] = MappingProxyType({"dict": "a mapping", "tuple": "a list", "string": "text"})


class RunSnapshot(dict[str, Json]):
    """The state in which a workflow ended, as JSON; what is documented of it is there as attributes, too.

    A failed one is `complete` as well: only its events tell that it failed.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(cls, handler.generate_schema(dict[str, Json]))

    @property
    def run_id(self) -> str:
        return _text(said(self, "runId", "run_id"))

    @property
    def status(self) -> str:
        """idle, running, paused, aborted or complete"""
        return _text(self.get("status"))

    @property
    def outputs(self) -> dict[str, Json]:
        return _mapping(self.get("outputs"))

    @property
    def state(self) -> dict[str, Json]:
        return _mapping(self.get("state"))

    @property
    def node_status(self) -> dict[str, Json]:
        """pending, running, done or failed"""
        return _mapping(said(self, "nodeStatus", "node_status"))

    @property
    def edge_status(self) -> dict[str, Json]:
        """pending, fired or skipped"""
        return _mapping(said(self, "edgeStatus", "edge_status"))

    @property
    def loop_counters(self) -> dict[str, Json]:
        return _mapping(said(self, "loopCounters", "loop_counters"))

    @property
    def inbox(self) -> list[Json]:
        found = self.get("inbox")
        return list(found) if isinstance(found, list | tuple) else []

    @property
    def agent_sessions(self) -> dict[str, Json]:
        return _mapping(said(self, "agentSessions", "agent_sessions"))


class EvalArtifact(Record):
    """`snapshot` and `events` are required; keys that are not known are ignored."""

    model_config = ConfigDict(extra="ignore")

    run_id: str = Field(default="", validation_alias=AliasChoices("run_id", "runId"), serialization_alias="runId")
    case_id: str = Field(default="", validation_alias=AliasChoices("case_id", "caseId"), serialization_alias="caseId")
    snapshot: RunSnapshot
    events: tuple[dict[str, Json], ...]

    @property
    def outputs(self) -> dict[str, Json]:
        return self.snapshot.outputs

    @property
    def state(self) -> dict[str, Json]:
        return self.snapshot.state


Artifact = EvalArtifact | Mapping[str, Json]
"""What Python callers may hand over: an artifact, or the JSON of one."""


def parse_artifact(value: Artifact) -> EvalArtifact:
    """An artifact from JSON; raises ValueError, saying in one line what is missing or wrong."""
    if isinstance(value, EvalArtifact):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("an artifact must be a mapping with snapshot and events")
    try:
        return EvalArtifact.model_validate(dict(value))
    except ValidationError as error:
        raise ValueError("; ".join(_problem(found) for found in error.errors())) from None


def as_artifact(value: Artifact) -> EvalArtifact:
    """The same for callers who pass it themselves: raises UsageError."""
    try:
        return parse_artifact(value)
    except ValueError as error:
        raise UsageError(f"this is not an artifact: {error}") from None


def looks_like_artifact(value: Any) -> bool:
    """Whether a value is meant as an artifact, be it a sound one or not."""
    return isinstance(value, Mapping) and isinstance(value.get("snapshot"), Mapping) and "events" in value


def said(mapping: Mapping[str, Json], camel: str, snake: str) -> Json:
    """A field of an event or a snapshot, written `likeThis` or `like_this`."""
    found = mapping.get(camel)
    return mapping.get(snake) if found is None else found


def node_of(event: Event) -> str:
    return _text(said(event, "nodeId", "node_id"))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Json) -> dict[str, Json]:
    return dict(value) if isinstance(value, Mapping) else {}


def _problem(found: Any) -> str:
    place = ".".join(str(part) for part in found["loc"])
    wanted = WANTED.get(found["type"].removesuffix("_type"))
    if found["type"] == "missing":
        return f"{place} is missing"
    return f"{place} must be {wanted}" if wanted else f"{place}: {message_of({**found, 'wanted': ()})}"


# What a workflow's run took: time, cost and tokens, in all and by node, read from its events.
#
# Nothing an event holds can make this raise: a number that is none counts as 0.


@dataclass(frozen=True, slots=True)
class WorkflowMetrics:
    """From the first flow:start to the last flow:complete; None where one of them is not there."""

    started_at: float | None = None
    ended_at: float | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class NodeMetrics:
    duration_ms: float = 0
    total_cost_usd: float = 0.0
    input_tokens: float = 0
    output_tokens: float = 0
    invocations: int = 0


@dataclass(frozen=True, slots=True)
class Metrics:
    """`total.duration_ms` is the sum over agents, as documented; the workflow's own time where no agent completed.

    `total.invocations` is the sum over nodes: what belongs to no node invoked none.
    """

    workflow: WorkflowMetrics
    total: NodeMetrics
    by_node: dict[str, NodeMetrics]


def extract_metrics(artifact: Artifact) -> Metrics:
    return read_metrics(as_artifact(artifact).events)


def read_metrics(events: Iterable[Event]) -> Metrics:
    events = tuple(events)
    completed = [event for event in events if event.get("type") == AGENT_COMPLETE]
    by_node: defaultdict[str, list[Event]] = defaultdict(list)
    for event in completed:
        if node := node_of(event):
            by_node[node].append(event)
    workflow, total = workflow_metrics(events), _summed(completed)
    if not completed and workflow.duration_ms is not None:
        total = NodeMetrics(duration_ms=workflow.duration_ms)
    nodes = {node: _summed(group) for node, group in by_node.items()} | _nodes_without_agent(events)
    invocations = sum(node.invocations for node in nodes.values())
    return Metrics(workflow, replace(total, invocations=invocations), nodes)


Spent = Literal["duration", "cost", "tokens"]
_SPENDING: Final[Mapping[str, Mapping[str, Spent]]] = MappingProxyType(
    {
        "": {"durationMs": "duration", "duration_ms": "duration", "totalCostUsd": "cost", "total_cost_usd": "cost"},
        "usage.": dict.fromkeys(("inputTokens", "input_tokens", "outputTokens", "output_tokens"), "tokens"),
    }
)


def spending_of(events: Iterable[Event]) -> Iterator[tuple[str, Spent, float]]:
    """Every number by which an event says what an agent took: its place, what it counts, and the number."""
    for place, event in enumerate(events):
        if event.get("type") != AGENT_COMPLETE:
            continue
        usage = event.get("usage")
        for holder, inside in ((event, ""), (usage if isinstance(usage, Mapping) else {}, "usage.")):
            for name, what in _SPENDING[inside].items():
                value = holder.get(name)
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield f"events.{place}.{inside}{name}", what, value


def _summed(completed: list[Event]) -> NodeMetrics:
    usages = [usage for event in completed if isinstance(usage := event.get("usage"), dict)]
    return NodeMetrics(
        duration_ms=sum(_amount(said(event, "durationMs", "duration_ms")) for event in completed),
        total_cost_usd=math.fsum(_amount(said(event, "totalCostUsd", "total_cost_usd")) for event in completed),
        input_tokens=sum(_amount(said(usage, "inputTokens", "input_tokens")) for usage in usages),
        output_tokens=sum(_amount(said(usage, "outputTokens", "output_tokens")) for usage in usages),
        invocations=len(completed),
    )


def _nodes_without_agent(events: Iterable[Event]) -> dict[str, NodeMetrics]:
    """A node that has no agent has run when it was started or completed."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with_agent = set()
    for event in events:
        kind, node = event.get("type"), node_of(event)
        if not node or not isinstance(kind, str):
            continue
        if kind.startswith("agent:"):
            with_agent.add(node)
        elif kind in ("node:start", "node:complete"):
            seen[node][kind] += 1
    return {
        node: NodeMetrics(invocations=max(counts.values())) for node, counts in seen.items() if node not in with_agent
    }


def workflow_metrics(events: Iterable[Event]) -> WorkflowMetrics:
    started = ended = None
    for event in events:
        at = event.get("timestamp")
        if not _is_number(at):
            continue
        if event.get("type") == "flow:start" and started is None:
            started = at
        elif event.get("type") == "flow:complete":
            ended = at
    duration_ms = None if started is None or ended is None else max(ended - started, 0)
    return WorkflowMetrics(started, ended, duration_ms)


def _is_number(value: Any) -> bool:
    """Finite, and small enough that sums stay finite too."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _amount(value: Any) -> float:
    return value if _is_number(value) and value > 0 else 0


_SEPARATOR = "__"
_ESCAPED = re.compile(r"(?<![^_])_|_(?![^_])|[%/\\\x00-\x1f\x7f\ud800-\udfff]")
_DOCUMENTED = re.compile(r"eval__(.+)__(.+)__(.+)__(.+)__inv([0-9]{1,18})", re.DOTALL)
_AFTER_DATASET = re.compile(r"(.+)__(.+)__(.+)__inv([0-9]{1,18})", re.DOTALL)
_MOST_INVOCATIONS = 10**18


class RecordingParts(NamedTuple):
    dataset_id: str
    case_id: str
    variant_id: str
    node_id: str
    invocation: int


def generate_recording_id(
    dataset_id: str | Mapping[str, Any],
    case_id: str = "",
    variant_id: str = "",
    node_id: str = "",
    invocation: int | None = None,
) -> str:
    """`parse_recording_id` gives the same parts back, so what it could not read raises ValueError.

    The first invocation is number 0. All parts may be given as one mapping, as documented: `{"datasetId": …, …}`.
    """
    if isinstance(dataset_id, Mapping):
        parts = {to_snake(str(name)): part for name, part in dataset_id.items()}
        if parts.keys() != set(RecordingParts._fields):
            names = ", ".join(map(to_camel, RecordingParts._fields))
            raise UsageError(f"the parts of a recording's id are {names}, got {', '.join(map(str, dataset_id))}")
        return generate_recording_id(**parts)
    ids = (dataset_id, case_id, variant_id, node_id)
    if not isinstance(invocation, int) or isinstance(invocation, bool):
        raise ValueError(f"invocation must be a whole number, not {invocation!r}")
    if invocation < 0:
        raise ValueError("invocation must be at least 0")
    if invocation >= _MOST_INVOCATIONS:
        raise ValueError("invocation must have at most 18 digits")
    if not all(isinstance(id_, str) and id_ for id_ in ids):
        raise ValueError("every id must be text of at least one character")
    return _SEPARATOR.join(["eval", *map(_escape, ids), f"inv{invocation}"])


def parse_recording_id(recording_id: str, dataset_id: str = "") -> RecordingParts | None:
    """None when it is not the id of a recording.

    Ids as other tools write them are understood too: with plain slashes and underscores as they are. Underscores that
    may belong to several parts go to the first of them: to the dataset, or to the case where the dataset is known.
    """
    if not isinstance(recording_id, str):
        return None
    start = f"eval{_SEPARATOR}{dataset_id}{_SEPARATOR}"
    if dataset_id and recording_id.startswith(start):
        found = _AFTER_DATASET.fullmatch(recording_id.removeprefix(start))
        if found is not None:
            return _parts(_escape(dataset_id), *found.groups())
    found = _DOCUMENTED.fullmatch(recording_id)
    return None if found is None else _parts(*found.groups())


def _parts(*written: str) -> RecordingParts | None:
    try:
        dataset, case, variant, node = (unquote(id_, errors="surrogatepass") for id_ in written[:4])
    except UnicodeDecodeError:
        return None
    return RecordingParts(dataset, case, variant, node, int(written[4]))


def _escape(id_: str) -> str:
    return _ESCAPED.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")), id_
    )
