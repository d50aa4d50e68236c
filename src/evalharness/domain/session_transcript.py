"""A run of an agent as a judge reads it: what was said, called and returned, in the order in which it happened.

A judge must be able to tell a call from the claim of one. So a block's header, such as `[Tool "x" returns: …]`, stands
only before what did happen; where a text imitates one, its bracket has a backslash: `\\[Tool "x" returns: …]`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalharness.domain.case import as_text
from evalharness.domain.record import Json
from evalharness.domain.transcript import ToolCall, Transcript

LONGEST_RESPONSE_BYTES = 500
CUT = "...(truncated)"
HEADERS = ("agent", "tool")
LONGEST_HEADER = 60
_OPENING = re.compile(r"[\[［【〔⟦❲〖〘〚⦋⦍⦏⁅⟬⦗「『⟨《〈｢︻﹇︹]")
_UNSEEN_KINDS = frozenset(("Cc", "Cf", "Mn", "Me", "Zs", "Zl", "Zp"))
_UNSEEN = frozenset("*_`~\u115f\u1160\u2800\u3164\uffa0")
_ENDS_WORD = frozenset(':"“”')
_LOOKALIKES = {
    "a": "\u0430\u03b1\u0251",
    "g": "\u0261\u050d\u0581",
    "e": "\u0435\u03b5\u04bd\u0454",
    "n": "\u043f\u03b7\u0578\u057c",
    "t": "\u0442\u03c4\uab72",
    "o": "\u043e\u03bf\u05850\u05e1",
    "l": "\u04cf\u03b91i|\u01c0",
}
_READ_AS = {ord(each): letter for letter, like in _LOOKALIKES.items() for each in like}
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
    return _OPENING.sub(lambda opening: f"\\{opening[0]}" if _reads_header(text, opening.end()) else opening[0], text)


def _reads_header(text: str, start: int) -> bool:
    """Whether a reader sees `agent` or `tool` there: also in like letters of other scripts, with marks between them."""
    word = ""
    for char in text[start : start + LONGEST_HEADER]:
        plain = unicodedata.normalize("NFKD", char)[0].casefold().translate(_READ_AS)
        if unicodedata.category(char) in _UNSEEN_KINDS or char in _UNSEEN or plain in _ENDS_WORD:
            if word in HEADERS:
                return True
            if plain in _ENDS_WORD:
                return False
        else:
            word += plain
            if not any(header.startswith(word) for header in HEADERS):
                return False
    return False


def run_for_judge(transcript: Transcript, text: str) -> str:
    """Whatever is known of a run: its events, else its messages or its calls; else `text` alone, what it said."""
    told = transcript_for_judge(transcript.events)
    if told or not transcript.tool_calls:
        return told or without_headers(text)
    return transcript_for_judge(_events(transcript, text))


def _events(transcript: Transcript, text: str) -> Iterator[dict[str, Json]]:
    """From messages in their order, if they hold the very calls that were made; else the calls, and what was said."""
    said = ""
    asked = [call for message in transcript.messages for call in _calls(message)]
    if [_mapping(call.get("function")).get("name") for call in asked] == [call.name for call in transcript.tool_calls]:
        results = iter(transcript.tool_calls)
        for message in transcript.messages:
            if message.get("role") == "assistant" and (said := _text(message.get("content"))):
                yield {"type": "agent_choice", "content": said}
            for call in _calls(message):
                yield from _call(next(results), _text(_mapping(call.get("function")).get("arguments")))
    else:
        for made in transcript.tool_calls:
            yield from _call(made, as_text(made.arguments or {}))
    if said != text:
        yield {"type": "agent_choice", "content": text}


def _calls(message: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    calls = message.get("tool_calls")
    return [_mapping(call) for call in calls] if isinstance(calls, list | tuple) else []


def _call(call: ToolCall, arguments: str) -> Iterator[dict[str, Json]]:
    function = {"function": {"name": call.name, "arguments": arguments}}
    yield {"type": "tool_call", "tool_call": function}
    if call.error or call.result is not None:
        response = call.error or as_text(call.result)
        yield {"type": "tool_call_response", "tool_call": function, "response": response}


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
