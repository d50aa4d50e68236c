"""openai-messages: a list of chat messages, `{messages: […]}`, or one message per line.

Also reads whole replies of the chat completions API (`choices`) and items of the Responses API.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evalharness.domain.transcript import Transcript, Usage
from evalharness.transcripts.collector import Collector
from evalharness.transcripts.stream import (
    Object,
    content_text,
    error_text,
    mapping,
    objects,
    read_stream,
    text_of,
    token_count,
)
from evalharness.values.json_value import Json

ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
ITEMS = frozenset(("function_call", "function_call_output", "reasoning"))


def recognises(event: Object) -> bool:
    if text_of(event.get("role")) in ROLES and event.get("type") in (None, "message"):
        return True
    wrapped = objects(event.get("messages")) + objects(event.get("choices")) + objects(event.get("output"))
    return text_of(event.get("type")) in ITEMS or bool(wrapped)


def parse(text: str) -> Transcript:
    stream = read_stream(text)
    reading = _Reading(Collector(stream.ignored_lines))
    for found in stream.objects:
        reading.read(found)
    return reading.found.transcript(usage=reading.usage())


@dataclass(slots=True)
class _Reading:
    found: Collector
    usages: list[Object] = field(default_factory=list)

    def read(self, said: Object) -> None:
        if isinstance(said.get("usage"), dict):
            self.usages.append(said["usage"])
        if said.get("error"):
            self.found.error(error_text(said["error"]))
        inner = objects(said.get("messages")) + objects(said.get("output"))
        inner += [mapping(choice.get("message")) for choice in objects(said.get("choices"))]
        for turn in inner or [said]:
            if text_of(turn.get("role")) in ROLES:
                self._message(turn)
            elif text_of(turn.get("type")) in ITEMS:
                self._item(turn["type"], turn)
            else:
                self.found.keep(turn)  # messages are not kept a second time as events

    def _message(self, message: Object) -> None:
        role, content = message["role"], message.get("content")
        if role in ("tool", "function"):
            self.found.returned(text_of(message.get("tool_call_id")) or text_of(message.get("name")), _value(content))
            return
        thought = text_of(message.get("reasoning_content"))
        if role == "assistant" and thought:
            self.found.think(thought)
        self.found.say(
            role, content_text(content) or text_of(message.get("refusal")), name=text_of(message.get("name"))
        )
        if role == "assistant":
            self._calls(message)

    def _calls(self, message: Object) -> None:
        for call in objects(message.get("tool_calls")):
            function = mapping(call.get("function")) or mapping(call.get("custom")) or call
            arguments = function.get("arguments", function.get("input"))
            self.found.call(text_of(call.get("id")), text_of(function.get("name")), arguments)
        old = mapping(message.get("function_call"))
        if old:
            self.found.call(text_of(old.get("name")), text_of(old.get("name")), old.get("arguments"))

    def _item(self, kind: str, item: Object) -> None:
        call_id = text_of(item.get("call_id"))
        if kind == "function_call":
            self.found.call(call_id, text_of(item.get("name")), item.get("arguments"))
        elif kind == "function_call_output":
            self.found.returned(call_id, _value(item.get("output")))
        else:
            self.found.think(content_text(item.get("summary")))

    def usage(self) -> Usage | None:
        if not self.usages:
            return None
        return Usage(
            input_tokens=sum(token_count(said.get("prompt_tokens", said.get("input_tokens"))) for said in self.usages),
            output_tokens=sum(
                token_count(said.get("completion_tokens", said.get("output_tokens"))) for said in self.usages
            ),
        )


def _value(content: Json) -> Json:
    return content_text(content) or content
