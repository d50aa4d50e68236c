"""A transcript as a conversation: what was said and which tools were called, in order, each with a number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evalharness.domain.case import as_text
from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.values.json_value import Json


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that was said, or a tool that was called."""

    number: int
    who: str
    text: str = ""
    call: ToolCall | None = None
    ended: str = ""
    """Why a reply did not end by itself: it was cut, or refused."""

    @property
    def call_head(self) -> str:
        """`search("capital of Peru") → 3 results`, on one line."""
        if self.call is None:
            return ""
        arguments = "" if self.call.arguments in (None, "", {}) else as_text(self.call.arguments)
        result = f" → {as_text(self.call.result)}" if self.call.result is not None else ""
        error = f" ✗ {self.call.error}" if self.call.error else ""
        return f"{self.call.name}({arguments}){result}{error}"

    @property
    def speaker(self) -> str:
        """Who speaks, or which tool is called."""
        return self.who if self.call is None else f"tool {self.call.name}"

    @property
    def likeness(self) -> tuple[str, str]:
        """Equal for turns that say or call the same."""
        if self.call is None:
            return self.who, " ".join(self.text.split())
        return self.call.name, as_text(self.call.arguments)


def conversation(transcript: Transcript) -> list[Turn]:
    return [Turn(number, *parts) for number, parts in enumerate(_parts(transcript), start=1)]


def _parts(transcript: Transcript) -> Iterator[tuple[str, str, ToolCall | None, str]]:
    calls = list(transcript.tool_calls)
    are_told = any(_calls_of(message) for message in transcript.messages)
    last = max((at for at, each in enumerate(transcript.messages) if each.get("role") == "assistant"), default=None)
    results = {as_text(call.result).strip() for call in calls if call.result is not None}
    for position, message in enumerate(transcript.messages):
        role, text = str(message.get("role", "message")), _text_of(message.get("content"))
        if not are_told and position == last:  # messages that do not name the calls: they came before the answer
            yield from (("tool", "", call, "") for call in calls)
            calls = []
        if role == "tool" and text.strip() in results:
            continue  # it is shown with its call
        ended = str(message.get("finish_reason") or "")
        if text or not (_calls_of(message) or (role == "assistant" and not ended)):
            yield role, text, None, ended
        for call in _calls_of(message):
            is_next = bool(calls) and calls[0].name == call.name
            yield "tool", "", calls.pop(0) if is_next else call, ""
    yield from (("tool", "", call, "") for call in calls)


def _calls_of(message: Mapping[str, Json]) -> list[ToolCall]:
    """The calls of one message, as chat messages carry them."""
    written = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(written, list | tuple):
        return []
    found = [call.get("function", call) for call in written if isinstance(call, Mapping)]
    return [
        ToolCall(name=str(each.get("name", "")), arguments=_value(each.get("arguments")))
        for each in found
        if isinstance(each, Mapping)
    ]


def _value(written: Json) -> Json:
    """Arguments are often JSON inside a text."""
    if not isinstance(written, str):
        return written
    try:
        return json.loads(written)
    except ValueError:
        return written


def _text_of(content: Json) -> str:
    """Of parts, the texts; pictures and sound are named, and what is anything else is shown as JSON."""
    if isinstance(content, list | tuple):
        return "\n".join(_part(part) for part in content)
    return "" if content is None else as_text(content)


def _part(part: Json) -> str:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("type", "")) if isinstance(part, Mapping) else ""
    return f"({kind})" if kind.startswith(("image", "input_image", "input_audio", "audio", "file")) else as_text(part)
