"""Links: events that name a recording. In the artifact of a workflow they come before the start of the node that was
recorded, in an exported recording before its exchange.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evalharness.documents.artifact import generate_recording_id
from evalharness.domain.exchange import Mode
from evalharness.domain.transcript import Transcript
from evalharness.values.json_value import Json

LINK = "recording:linked"
START = "node:start"


def node_of_trial(node: str, index: int) -> str:
    """The first trial has the name of the node alone."""
    return f"{node}@{index}" if index else node


def with_links(answer: Transcript, run_id: str, mode: Mode, of: Sequence[str], index: int) -> Transcript:
    """`of`: dataset, case and variant. An answer that starts no node is left as it is."""
    dataset, case_id, variant = of
    if not (dataset and variant) or all(event.get("type") != START for event in answer.events):
        return answer
    invocations: Counter[str] = Counter()
    events: list[dict[str, Json]] = []
    for event in answer.events:
        if event.get("type") == LINK:  # that of whoever recorded it before
            continue
        node = str(event.get("nodeId") or "")
        if event.get("type") == START and node:
            number = invocations[node]
            invocations[node] += 1
            recording = generate_recording_id(dataset, case_id, variant, node_of_trial(node, index), number)
            events.append(link(run_id, mode, node, number, TARGET, recording))
        events.append(event)
    return answer.model_copy(update={"events": tuple(events)})


def link(run_id: str, mode: Mode, node: str, invocation: int, provider: str, recording: str) -> dict[str, Json]:
    about: dict[str, Json] = {"runId": run_id, "nodeId": node, "invocation": invocation, "mode": mode}
    return {"type": LINK, **about, "providerType": provider, "recordingId": recording}


TARGET = "target"
"""Whoever answers for the nodes: their own providers are not known here."""
