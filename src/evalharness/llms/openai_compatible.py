"""OpenAI's chat completions API, which most servers support.

Examples are vLLM, Ollama, llama.cpp, OpenRouter, Azure, Gemini and Mistral. What a server does not support is found out
by trying, not from a table of servers.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from evalharness.contracts.model import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    ToolRequest,
)
from evalharness.domain.transcript import Usage
from evalharness.llms.access import Access
from evalharness.llms.remote import (
    RemoteLlm,
    object_at,
    objects_at,
    optional_text_at,
    readable_count_at,
    text_at,
    with_schema,
)
from evalharness.values.json_value import Json

FINISHES: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
}
WORDS_FOR: Mapping[str, str] = {
    "response_format": r"response_format|json_schema|\bschema\b|grammar",
    "max_tokens": r"\bmax_tokens\b",
    "temperature": r"\btemperature\b",
    "seed": r"\bseed\b",
}


class OpenAiCompatible(RemoteLlm):
    path = "chat/completions"
    words_for = WORDS_FOR

    def __init__(self, model: str, access: Access) -> None:
        super().__init__(model, access)
        self._ignores_schema = False

    async def chat(self, request: ChatRequest) -> ChatReply:
        reply = await super().chat(request)
        if request.reply_schema is not None and _is_no_object(reply):
            self._ignores_schema = True
        return reply

    def body(self, request: ChatRequest) -> dict[str, Json]:
        return request_body(self.model, request, self.refused, says_schema=self._ignores_schema)

    def read(self, _sent: Mapping[str, Json], body: Json) -> ChatReply:
        with self.access.charging(usage_of(body)):
            return reply_of(body)


def request_body(
    model: str, request: ChatRequest, refused: Collection[str] = (), *, says_schema: bool = False
) -> dict[str, Json]:
    """The body of a request; `refused` has the fields that this server refused before."""
    messages = [_message(message) for message in request.messages]
    body: dict[str, Json] = {"model": model, "messages": messages}
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in request.tools]
    if request.reply_schema is not None:
        schema = {"name": "reply", "schema": request.reply_schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if messages and (says_schema or "response_format" in refused):
            messages[-1] = {**messages[-1], "content": with_schema(request.reply_schema, request.messages[-1].content)}
    optional = {"temperature": request.temperature, "max_tokens": request.max_tokens, "seed": request.seed}
    body |= {name: value for name, value in optional.items() if value is not None}
    if "max_tokens" in refused and "max_tokens" in body:
        body["max_completion_tokens"] = body["max_tokens"]  # the newer name, the only one that reasoning models accept
    return {name: value for name, value in body.items() if name not in refused}


def reply_of(body: Json) -> ChatReply:
    """The reply; raises ValueError if `body` is not one."""
    if isinstance(body, dict) and body.get("error"):
        raise ValueError(f"it reports an error: {json.dumps(body['error'], ensure_ascii=False)}")
    choices = objects_at(body, "choices")
    if not choices:
        raise ValueError("'choices' is empty")
    message = object_at(choices[0], "message")
    if any(object_at(choice, "message") != message for choice in choices):
        raise ValueError(f"it contains {len(choices)} different replies instead of one")
    requests = tuple(_tool_request(call, index) for index, call in enumerate(_calls_of(message)))
    finish = optional_text_at(choices[0], "finish_reason")
    if finish == "error":
        raise ValueError("it ends with a server error (finish_reason: error)")
    # A model that reaches its limit while thinking has no content; that is a valid, empty reply.
    if "content" not in message and finish not in FINISHES and not requests and not message.get("refusal"):
        raise ValueError("'message' has no content")
    refusal = optional_text_at(message, "refusal")
    return ChatReply(
        text=_text_of(message.get("content")) or refusal,
        tool_requests=requests,
        finish_reason=_finish_of(finish, bool(requests), bool(refusal)),
        model=optional_text_at(body, "model"),
        usage=usage_of(body),
    )


def _is_no_object(reply: ChatReply) -> bool:
    """A quick check; the caller validates the reply itself."""
    is_whole = not reply.tool_requests and reply.finish_reason == "stop"
    text = reply.text.strip()
    return is_whole and not (text.startswith("{") and text.endswith("}"))


def _message(message: ChatMessage) -> dict[str, Json]:
    written: dict[str, Json] = {"role": message.role, "content": message.content}
    if message.tool_requests:
        written["content"] = message.content or None
        written["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_requests
        ]
    if message.role == "tool":
        written["tool_call_id"] = message.answers_request
    return written


def _calls_of(message: dict[str, Json]) -> list[dict[str, Json]]:
    return [] if message.get("tool_calls") is None else objects_at(message, "tool_calls")


def _tool_request(call: dict[str, Json], index: int) -> ToolRequest:
    function = object_at(call, "function")
    arguments = function.get("arguments")
    # Some servers send the arguments as an object, or leave them out if there are none.
    written = json.dumps(arguments) if isinstance(arguments, dict) else optional_text_at(function, "arguments")
    return ToolRequest(
        id=optional_text_at(call, "id") or f"call_{index}", name=text_at(function, "name"), arguments=written or "{}"
    )


def _text_of(content: Json) -> str:
    """The text of a content: a text, None, or a list of which only the text parts count, not the model's thoughts."""
    if isinstance(content, list):
        parts = objects_at({"content": content}, "content")
        return "".join(text_at(part, "text") for part in parts if part.get("type") == "text")
    return optional_text_at({"content": content}, "content")


def _finish_of(written: str, asks_for_tools: bool, is_refusal: bool) -> FinishReason:
    if is_refusal:
        return "refused"
    if asks_for_tools and written != "length":
        return "tool_calls"  # some servers send "stop" here
    return FINISHES.get(written, "other")


def usage_of(body: Json) -> Usage | None:
    """The usage; None if it is missing or unreadable, because the reply is worth keeping without it."""
    usage = body.get("usage") if isinstance(body, dict) else None
    asked, replied = readable_count_at(usage, "prompt_tokens"), readable_count_at(usage, "completion_tokens")
    if asked is None or replied is None:
        return None
    total = readable_count_at(usage, "total_tokens") or 0
    # Some servers count thinking only in the total; it costs the same as other output.
    return Usage(input_tokens=asked, output_tokens=max(replied, total - asked))
