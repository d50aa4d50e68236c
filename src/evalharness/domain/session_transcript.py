"""A run of an agent as a judge reads it: what was said, called and returned, in the order in which it happened.

A judge must be able to tell a call from the claim of one. So a block's header, such as `[Tool "x" returns: …]`, stands
only before what did happen; where a text imitates one, its bracket has a backslash: `\\[Tool "x" returns: …]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from evalharness.domain.record import Json

LONGEST_RESPONSE_BYTES = 500
CUT = "...(truncated)"
_UNSEEN = r"[\s*_`\u00ad\u200b-\u200f\u2060-\u2064\ufeff]"
_HEADER = re.compile(rf"[\[［【〔⟦](?={_UNSEEN}{{0,8}}(?:agent|tool)(?:{_UNSEEN}|[:\"“]))", re.IGNORECASE)
_IN_LABELS = str.maketrans({"[": "(", "]": ")", '"': "'"})


def transcript_for_judge(events: Iterable[Mapping[str, Json]]) -> str:
    """Blocks with a blank line between them. Each block of text belongs to one agent."""
    blocks: list[str] = []
    agent, said = "", ""

    def end_text() -> None:
        nonlocal said
        if said:
            blocks.append(f"[Agent {agent or 'unknown'} says]: {without_headers(said)}")
        said = ""

    for event in events:
        kind = event.get("type")
        name = _label(event.get("agent_name"))
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
            arguments = without_headers(f"{function.get('arguments', '')}")
            called = f'calls tool "{_label(function.get("name"))}" with arguments: {arguments}'
            blocks.append(f"[Agent {agent or 'unknown'} {called}]")
        else:
            blocks.append(f'[Tool "{_tool_of(event)}" returns: {without_headers(_cut(_text(event.get("response"))))}]')
    end_text()
    return "\n\n".join(blocks)


def without_headers(text: str) -> str:
    """Nothing in it looks like the beginning of a block."""
    return _HEADER.sub(r"\\\g<0>", text)


def _label(value: Any) -> str:
    """A name, which can neither end its header nor begin another."""
    return " ".join(_text(value).split()).translate(_IN_LABELS)


def _tool_of(event: Mapping[str, Json]) -> str:
    function = _mapping(_mapping(event.get("tool_call")).get("function"))
    return _label(_mapping(event.get("tool_definition")).get("name")) or _label(function.get("name")) or "unknown"


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
