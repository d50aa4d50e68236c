"""Recordings that other tools wrote: what they keep of a node, as the reply that a call of this harness expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalharness.domain.case import as_text
from evalharness.domain.exchange import Exchange, ExchangeKind
from evalharness.values.json_value import Json


def foreign_reply(kind: ExchangeKind, recorded: Json) -> Json:
    """`recorded` has the output of a provider, and its events."""
    written: Any = recorded
    output, events = written["output"], written["events"]
    if kind == "answer":
        return {"measured_s": _duration_s(events), "transcript": {"output": output, "events": events}}
    if kind == "chat":
        return {"text": as_text(_text_in(output))}
    if kind == "tool":
        return {"name": "", "result": output}
    return output


def answer_of_nodes(nodes: Sequence[Exchange]) -> Json:
    """The artifact of a workflow whose nodes were recorded one by one."""
    outputs: dict[str, Json] = {}
    events: list[Json] = []
    for each in nodes:
        written: Any = each.reply
        outputs[each.node] = written["output"]
        events.append({"type": "node:start", "nodeId": each.node})
        events += [{"nodeId": each.node, **event} for event in written["events"]]
        end = {"type": "node:complete", "nodeId": each.node, "output": written["output"]}
        events.append(end if each.error is None else {"type": "node:error", "nodeId": each.node})
    snapshot = {"status": "complete", "outputs": outputs}
    transcript: dict[str, Json] = {"output": outputs, "events": events, "snapshot": snapshot}
    return {"measured_s": _duration_s(events), "transcript": transcript}


def _duration_s(events: Sequence[Any]) -> float:
    """As the agents of the workflow say it."""
    said = [event.get("durationMs", 0) for event in events if event.get("type") == "agent:complete"]
    return sum(ms for ms in said if isinstance(ms, int | float)) / 1000


def _text_in(output: Json) -> Json:
    if isinstance(output, dict):
        return next((output[key] for key in ("text", "result", "content", "output") if key in output), output)
    return output
