"""Anthropic's messages API. Structured replies are requested as a forced tool call."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from evalharness.contracts.model import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    Tool,
    ToolRequest,
)
from evalharness.domain.transcript import Usage
from evalharness.errors import ModelUnavailable
from evalharness.llms.remote import (
    RemoteLlm,
    field_left_out,
    object_at,
    objects_at,
    optional_text_at,
    readable_count_at,
    text_at,
    with_schema,
)
from evalharness.values.json_value import Json, parse_strictly

DEFAULT_MAX_TOKENS = 4096
"""The server requires a limit."""
REPLY_TOOL = "reply"
FINISHES: Mapping[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refused",
}
CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")
WORDS_FOR: Mapping[str, str] = {"tool_choice": r"\btool_choice\b|\btools\b", "temperature": r"\btemperature\b"}


class Anthropic(RemoteLlm):
    path = "v1/messages"
    words_for = WORDS_FOR

    def body(self, request: ChatRequest) -> dict[str, Json]:
        if request.seed is not None:
            self.access.note(field_left_out(self.name, "seed"))
        return request_body(self.model, request, self.refused)

    def read(self, sent: Mapping[str, Json], body: Json) -> ChatReply:
        with self.access.charging(usage_of(body)):
            return reply_of(body, is_forced="tool_choice" in sent)


def request_body(model: str, request: ChatRequest, refused: Collection[str] = ()) -> dict[str, Json]:
    """The body of a request; `refused` has the fields that this server refused before.

    A seed is not supported and left out. Raises ModelUnavailable if the last message is blank or no message is left,
    because the server rejects empty messages.
    """
    spoken = [message for message in request.messages if message.role != "system"]
    system = [message.content for message in request.messages if message.role == "system" and message.content]
    tools = [_tool(tool) for tool in request.tools]
    body: dict[str, Json] = {"model": model, "max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS}
    if request.reply_schema is not None:
        # With the user's own tools no call can be forced, because the model must be free to choose among them.
        if tools or "tool_choice" in refused:
            spoken = _with_form(spoken, request.reply_schema)
        else:
            tools = [_tool(Tool(name=REPLY_TOOL, description="Give the reply.", parameters=request.reply_schema))]
            body["tool_choice"] = {"type": "tool", "name": REPLY_TOOL}
    if system:
        body["system"] = "\n\n".join(system)
    if tools:
        body["tools"] = tools
    if request.temperature is not None and "temperature" not in refused:
        body["temperature"] = request.temperature
    turns = _turns(spoken)
    if not turns or (spoken[-1].role == "user" and not _blocks(spoken[-1])):
        raise ModelUnavailable("Anthropic does not accept empty messages, and there is no other message to send")
    return {**body, "messages": turns}


def reply_of(body: Json, *, is_forced: bool = False) -> ChatReply:
    """The reply; raises ValueError if `body` is not one. `is_forced`: the reply was requested as a tool's arguments."""
    if isinstance(body, dict) and body.get("type") == "error":
        raise ValueError(f"it reports an error: {json.dumps(body.get('error'), ensure_ascii=False)}")
    blocks = objects_at(body, "content")
    text = "".join(text_at(block, "text") for block in blocks if block.get("type") == "text")
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    usage = usage_of(body)
    finish = FINISHES.get(optional_text_at(body, "stop_reason"), "other")
    requests = tuple(
        ToolRequest(
            id=text_at(call, "id"),
            name=text_at(call, "name"),
            arguments=json.dumps(object_at(call, "input"), ensure_ascii=False),
        )
        for call in calls
    )
    model = optional_text_at(body, "model")
    if is_forced and requests and all(call.name == REPLY_TOOL for call in requests):
        finish = "stop" if finish == "tool_calls" else finish
        # Keep a second reply, even one in the text, so that a caller who needs exactly one can reject both.
        replies = [*([text] if "{" in text else []), *(call.arguments for call in requests)]
        return ChatReply(text="\n".join(replies), finish_reason=finish, model=model, usage=usage)
    return ChatReply(text=text, tool_requests=requests, finish_reason=finish, model=model, usage=usage)


def _tool(tool: Tool) -> dict[str, Json]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _with_form(spoken: list[ChatMessage], schema: Mapping[str, Json]) -> list[ChatMessage]:
    if not spoken:
        return spoken
    last = spoken[-1]
    return [*spoken[:-1], last.model_copy(update={"content": with_schema(schema, last.content)})]


def _turns(spoken: list[ChatMessage]) -> list[dict[str, Json]]:
    """Alternating user and assistant messages: adjacent messages of one side are merged, as tool results must be."""
    turns: list[dict[str, Json]] = []
    for message in spoken:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        elif blocks:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: ChatMessage) -> list[dict[str, Json]]:
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": message.answers_request, "content": message.content}]
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return text + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _input_of(call)}
        for call in message.tool_requests
    ]


def _input_of(call: ToolRequest) -> dict[str, Json]:
    """The arguments as an object, the only form the server accepts; arguments from another model may not be JSON."""
    try:
        value = parse_strictly(call.arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": call.arguments}


def usage_of(body: Json) -> Usage | None:
    """The usage; None if it is missing or unreadable, because the reply is worth keeping without it."""
    usage = body.get("usage") if isinstance(body, dict) else None
    asked, replied = readable_count_at(usage, "input_tokens"), readable_count_at(usage, "output_tokens")
    if asked is None or replied is None:
        return None
    cached = (readable_count_at(usage, key) or 0 for key in CACHED)
    return Usage(input_tokens=asked + sum(cached), output_tokens=replied)
