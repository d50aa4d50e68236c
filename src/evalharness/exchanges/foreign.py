"""Recordings as other tools keep them, one for each run of a node: as replies that calls of this harness expect, and as
parts of the answer of a whole workflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalharness.domain.case import as_text
from evalharness.domain.exchange import Exchange, ExchangeKind
from evalharness.exchanges.links import LINK, START
from evalharness.values.json_value import Json

COMPLETE, FAILED = "node:complete", "node:error"
ENDS = (COMPLETE, FAILED)


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
        events.append({"type": START, "nodeId": each.node})
        events += [{"nodeId": each.node, **event} for event in written["events"]]
        end = {"type": COMPLETE, "nodeId": each.node, "output": written["output"]}
        events.append(end if each.error is None else {"type": FAILED, "nodeId": each.node})
    snapshot = {"status": "complete", "outputs": outputs}
    transcript: dict[str, Json] = {"output": outputs, "events": events, "snapshot": snapshot}
    return {"measured_s": _duration_s(events), "transcript": transcript}


class NodeRun(NamedTuple):
    """What a workflow did in one run of one of its nodes."""

    node: str
    events: tuple[dict[str, Json], ...]
    output: Json = None
    failed: str = ""


def nodes_of_answer(reply: Json) -> Iterator[NodeRun]:
    """In the order in which they began. A node says what it put out at its end, else the workflow says it."""
    written: Any = reply
    transcript = written.get("transcript") if isinstance(written, dict) else None
    events = transcript.get("events") if isinstance(transcript, dict) else None
    open_: dict[str, list[dict[str, Json]]] = {}
    runs: list[tuple[str, list[dict[str, Json]]]] = []
    for event in events or ():
        node = str(event.get("nodeId") or "")
        if event.get("type") == START and node:
            open_[node] = []
            runs.append((node, open_[node]))
        elif node in open_ and event.get("type") != LINK:
            open_[node].append(event)
    outputs: Any = transcript.get("output") if isinstance(transcript, dict) else None
    for node, said in runs:
        end = said[-1] if said and said[-1].get("type") in ENDS else {}
        usual = outputs.get(node) if isinstance(outputs, dict) else None
        failed = str(end.get("error") or "the node failed") if end.get("type") == FAILED else ""
        yield NodeRun(node, tuple(said[:-1] if end else said), end.get("output", usual), failed)


def _duration_s(events: Sequence[Any]) -> float:
    """As the agents of the workflow say it."""
    said = [event.get("durationMs", 0) for event in events if event.get("type") == "agent:complete"]
    return sum(ms for ms in said if isinstance(ms, int | float)) / 1000


def _text_in(output: Json) -> Json:
    if isinstance(output, dict):
        return next((output[key] for key in ("text", "result", "content", "output") if key in output), output)
    return output
