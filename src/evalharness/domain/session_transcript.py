"""A run of an agent as a judge reads it: what was said, called and returned, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalharness.domain.record import Json

LONGEST_RESPONSE_BYTES = 500
CUT = "...(truncated)"


def transcript_for_judge(events: Iterable[Mapping[str, Json]]) -> str:
    """Blocks with a blank line between them. Each block of text belongs to one agent."""
    blocks: list[str] = []
    agent, said = "", ""

    def end_text() -> None:
        nonlocal said
        if said:
            blocks.append(f"[Agent {agent or 'unknown'} says]: {said}")
        said = ""

    for event in events:
        kind = event.get("type")
        name = _text(event.get("agent_name"))
        if kind not in ("agent_choice", "tool_call", "tool_call_response"):
            continue
        if kind != "agent_choice" or (name and name != agent):
            end_text()
        if kind != "tool_call_response":
            agent = name or agent
        if kind == "agent_choice":
            said += _text(event.get("content"))
        elif kind == "tool_call":
            function = _mapping(_mapping(event.get("tool_call")).get("function"))
            called = f'calls tool "{_text(function.get("name"))}" with arguments: {function.get("arguments", "")}'
            blocks.append(f"[Agent {agent or 'unknown'} {called}]")
        else:
            blocks.append(f'[Tool "{_tool_of(event)}" returns: {_cut(_text(event.get("response")))}]')
    end_text()
    return "\n\n".join(blocks)


def _tool_of(event: Mapping[str, Json]) -> str:
    function = _mapping(_mapping(event.get("tool_call")).get("function"))
    return _text(_mapping(event.get("tool_definition")).get("name")) or _text(function.get("name")) or "unknown"


def _cut(text: str) -> str:
    """Never in the middle of a character."""
    encoded = text.encode(errors="replace")
    if len(encoded) <= LONGEST_RESPONSE_BYTES:
        return text
    return encoded[:LONGEST_RESPONSE_BYTES].decode(errors="ignore") + CUT


def _mapping(value: Any) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
