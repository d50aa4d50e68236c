"""What a workflow's run took: time, cost and tokens, in all and by node, read from its events.

Nothing an event holds can make this raise: a number that is none counts as 0.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evalharness.domain.artifact import AGENT_COMPLETE, Artifact, Event, as_artifact, node_of, said


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
    """`total.duration_ms` is the sum over agents, as documented; the workflow's own time where no agent completed."""

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
    workflow, total = _workflow(events), _summed(completed)
    if not completed and workflow.duration_ms is not None:
        total = NodeMetrics(duration_ms=workflow.duration_ms)
    nodes = {node: _summed(group) for node, group in by_node.items()}
    return Metrics(workflow, total, {**nodes, **_nodes_without_agent(events)})


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


def _workflow(events: Iterable[Event]) -> WorkflowMetrics:
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
