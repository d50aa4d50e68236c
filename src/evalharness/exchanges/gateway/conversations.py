"""Conversations: the traffic of an agent as the messages and tool calls of a transcript.

Every request repeats what was said before. A request whose beginning is a conversation so far goes on with it; any
other begins one. The result of a tool is in the request that follows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.exchanges.gateway.wires import Form
from evalharness.values.json_value import Json

Message = dict[str, Json]


@dataclass(slots=True)
class Conversation:
    messages: list[Message] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def add(self, messages: Sequence[Message]) -> None:
        self.messages += messages
        self.keys += map(_key, messages)


class Conversations:
    def __init__(self) -> None:
        self._all: list[Conversation] = []
        self._by_response: dict[str, Conversation] = {}

    def hear(self, form: Form, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        if form in ("embeddings", "count_tokens"):
            return
        asked = list(_asked(form, request))
        conversation = self._by_response.get(str(request.get("previous_response_id") or ""))
        if conversation is None:
            conversation, said = self._continued([_key(message) for message in asked])
            asked = asked[said:]
        conversation.add([*asked, *_replied(form, reply)])
        if form == "responses" and reply.get("id"):
            self._by_response[str(reply["id"])] = conversation

    def _continued(self, keys: list[str]) -> tuple[Conversation, int]:
        """The longest conversation that a request begins with, and how much of the request it has."""
        fitting = [each for each in self._all if each.keys == keys[: len(each.keys)]]
        if fitting:
            longest = max(fitting, key=lambda each: len(each.keys))
            return longest, len(longest.keys)
        self._all.append(Conversation())
        return self._all[-1], 0

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(message for each in self._all for message in each.messages)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(call for each in self._all for call in _calls(each.messages))

    def transcripts(self) -> Iterator[Transcript]:
        """One for each conversation; what a model said last is its answer."""
        for each in self._all:
            said = [str(m.get("content") or "") for m in each.messages if m["role"] == "assistant"]
            output = said[-1] if said else ""
            yield Transcript(output=output, messages=tuple(each.messages), tool_calls=tuple(_calls(each.messages)))


def _calls(messages: Sequence[Message]) -> Iterator[ToolCall]:
    results = {str(each.get("tool_call_id")): each.get("content") for each in messages if each["role"] == "tool"}
    for message in messages:
        asked: Any = message.get("tool_calls") or ()
        for call in asked:
            function = call["function"]
            yield ToolCall(
                name=function["name"], arguments=_parsed(function["arguments"]), result=results.get(call["id"])
            )


def _parsed(arguments: Any) -> Json:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return str(arguments)


def _key(message: Message) -> str:
    """Equal for messages that say the same, however clients write it down."""
    calls: Any = message.get("tool_calls") or ()
    asked = [[call["function"]["name"], _parsed(call["function"]["arguments"])] for call in calls]
    return json.dumps([message["role"], message.get("content") or "", asked], sort_keys=True)


# The messages of each form, as transcripts keep them.


def _asked(form: Form, request: Mapping[str, Any]) -> Iterator[Message]:
    if form == "messages":
        if system := _text(request.get("system")):
            yield {"role": "system", "content": system}
        for message in _dicts(request.get("messages")):
            yield from _of_anthropic(message)
    elif form == "responses":
        if instructions := request.get("instructions"):
            yield {"role": "system", "content": str(instructions)}
        given = request.get("input")
        yield from _items([{"role": "user", "content": given}] if isinstance(given, str) else _dicts(given))
    elif form == "completions":
        yield {"role": "user", "content": _text(request.get("prompt"))}
    else:
        for message in _dicts(request.get("messages")):
            yield _of_openai(message)


def _replied(form: Form, reply: Mapping[str, Any]) -> Iterator[Message]:
    if form == "messages":
        yield from _of_anthropic({"role": "assistant", "content": reply.get("content")})
    elif form == "responses":
        yield from _items(_dicts(reply.get("output")))
    else:
        for choice in _dicts(reply.get("choices"))[:1]:
            if form == "completions":
                yield {"role": "assistant", "content": str(choice.get("text") or "")}
            else:
                yield _of_openai({"role": "assistant", **(choice.get("message") or {})})


def _of_openai(message: Mapping[str, Any]) -> Message:
    role = str(message.get("role") or "user")
    kept: Message = {
        "role": {"developer": "system", "function": "tool"}.get(role, role),
        "content": _text(message.get("content")),
    }
    if calls := _dicts(message.get("tool_calls")):
        kept["tool_calls"] = [
            _call(
                call.get("id"), (call.get("function") or {}).get("name"), (call.get("function") or {}).get("arguments")
            )
            for call in calls
        ]
    if message.get("tool_call_id"):
        kept["tool_call_id"] = str(message["tool_call_id"])
    return kept


def _of_anthropic(message: Mapping[str, Any]) -> Iterator[Message]:
    """Results of tools are messages of their own; what else a message says follows them."""
    role, content = str(message.get("role") or "user"), message.get("content")
    blocks = _dicts(content) if isinstance(content, list) else []
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {
                "role": "tool",
                "content": _text(block.get("content")),
                "tool_call_id": str(block.get("tool_use_id")),
            }
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    text = _text(content)
    if text or calls or not blocks:
        kept: Message = {"role": role, "content": text}
        if calls:
            kept["tool_calls"] = [_call(block.get("id"), block.get("name"), block.get("input")) for block in calls]
        yield kept


def _items(items: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """The items of the Responses API; calls in a row belong to one message."""
    calls: list[Json] = []
    for item in items:
        kind = item.get("type") or "message"
        if kind == "function_call":
            calls.append(_call(item.get("call_id"), item.get("name"), item.get("arguments")))
            continue
        if calls:
            yield {"role": "assistant", "content": "", "tool_calls": calls}
            calls = []
        if kind == "function_call_output":
            yield {"role": "tool", "content": _text(item.get("output")), "tool_call_id": str(item.get("call_id"))}
        elif kind == "message":
            yield _of_openai(item)
    if calls:
        yield {"role": "assistant", "content": "", "tool_calls": calls}


def _call(call_id: Any, name: Any, arguments: Any) -> Json:
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": str(call_id or ""), "type": "function", "function": {"name": str(name or ""), "arguments": written}}


def _text(content: Any) -> str:
    """The text of a content; what is no text is named."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return json.dumps(content)
    texts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict):
            kind = str(part.get("type") or "")
            if isinstance(part.get("text"), str):
                texts.append(part["text"])
            elif "image" in kind:
                texts.append("[image]")
    return "".join(texts)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list | tuple) else []
