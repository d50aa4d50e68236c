"""The wire formats that pass the gateway: where they are asked, what a reply took, and a stream as one reply.

Nothing is translated from one to another. What cannot be read is passed on all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evalharness.domain.transcript import Usage
from evalharness.values.json_value import Json

Form = Literal["chat", "responses", "completions", "embeddings", "messages", "count_tokens"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    form: Form
    path: str
    """Behind the base URL of the provider."""
    wire: str
    """The form of the provider, as the registry calls it."""
    provider: str
    """Whose model a bare name is."""


OPENAI, ANTHROPIC = "openai-compatible", "anthropic"
ENDPOINTS: Mapping[str, Endpoint] = {
    "/v1/chat/completions": Endpoint("chat", "chat/completions", OPENAI, "openai"),
    "/v1/responses": Endpoint("responses", "responses", OPENAI, "openai"),
    "/v1/completions": Endpoint("completions", "completions", OPENAI, "openai"),
    "/v1/embeddings": Endpoint("embeddings", "embeddings", OPENAI, "openai"),
    "/v1/messages": Endpoint("messages", "v1/messages", ANTHROPIC, "anthropic"),
    "/v1/messages/count_tokens": Endpoint("count_tokens", "v1/messages/count_tokens", ANTHROPIC, "anthropic"),
}


def error_body(is_anthropic: bool, message: str, kind: str) -> dict[str, Json]:
    """As the vendor's SDK reads it."""
    if is_anthropic:
        return {"type": "error", "error": {"type": kind, "message": message}}
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def refused(form: Form, body: Mapping[str, Any]) -> str:
    """Why a request cannot pass; empty if it can. What happens out of sight could be neither recorded nor replayed."""
    if form == "responses" and body.get("background"):
        return "background responses cannot pass the gateway"
    if form == "responses" and body.get("conversation"):
        return "conversation objects cannot pass the gateway: send the messages, or previous_response_id"
    return ""


# Replies


def usage_in(reply: Any) -> Usage | None:
    """What a whole reply says that it took, in any of the forms."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(usage, dict):
        return None
    asked = _count(usage, "prompt_tokens", "input_tokens")
    replied = _count(usage, "completion_tokens", "output_tokens")
    cached = sum(_count(usage, name) for name in ("cache_creation_input_tokens", "cache_read_input_tokens"))
    return Usage(input_tokens=asked + cached, output_tokens=replied) if asked or replied or cached else None


def _count(usage: Mapping[str, Any], *names: str) -> int:
    counts = [usage.get(name) for name in names]
    return max((count for count in counts if isinstance(count, int) and count > 0), default=0)


def usage_in_stream(form: Form, text: str) -> Usage | None:
    return usage_in(assembled(form, text))


def events_in(text: str) -> Iterator[Any]:
    """The data of server-sent events."""
    for line in text.splitlines():
        if line.startswith("data:") and (data := line[5:].strip()) not in ("", "[DONE]"):
            try:
                yield json.loads(data)
            except ValueError:
                continue


def assembled(form: Form, text: str) -> dict[str, Any]:
    """A stream as the reply that it would have been in one piece; as much of it as came."""
    events = [event for event in events_in(text) if isinstance(event, dict)]
    if form == "messages":
        return _message(events)
    if form == "responses":
        whole = [event["response"] for event in events if isinstance(event.get("response"), dict)]
        return whole[-1] if whole else {}
    if form == "completions":
        pieces = [choice.get("text") or "" for event in events for choice in event.get("choices") or ()]
        return {**_last_with_usage(events), "choices": [{"text": "".join(pieces)}]}
    return _completion(events)


def _last_with_usage(events: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for event in events:
        if isinstance(event.get("usage"), dict):
            found["usage"] = event["usage"]
        if event.get("model"):
            found["model"] = event["model"]
    return found


def _completion(events: list[dict[str, Any]]) -> dict[str, Any]:
    content: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    finish = None
    for event in events:
        for choice in (event.get("choices") or ())[:1]:
            delta = choice.get("delta") or {}
            content.append(delta.get("content") or "")
            finish = choice.get("finish_reason") or finish
            for piece in delta.get("tool_calls") or ():
                call = calls.setdefault(piece.get("index", 0), {"id": "", "name": "", "arguments": ""})
                function = piece.get("function") or {}
                call["id"] = piece.get("id") or call["id"]
                call["name"] += function.get("name") or ""
                call["arguments"] += function.get("arguments") or ""
    message: dict[str, Any] = {"role": "assistant", "content": "".join(content)}
    if calls:
        message["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for _, call in sorted(calls.items())
        ]
    return {**_last_with_usage(events), "choices": [{"message": message, "finish_reason": finish}]}


def _message(events: list[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": []}
    blocks: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        kind = event.get("type")
        if kind == "message_start":
            begun = event.get("message") or {}
            message.update({name: begun.get(name) for name in ("id", "model")})
            usage.update(begun.get("usage") or {})
        elif kind == "content_block_start":
            blocks[event.get("index", 0)] = {**(event.get("content_block") or {}), "json": ""}
        elif kind == "content_block_delta":
            block, delta = (
                blocks.setdefault(event.get("index", 0), {"type": "text", "json": ""}),
                event.get("delta") or {},
            )
            block["text"] = block.get("text", "") + delta.get("text", "")
            block["json"] += delta.get("partial_json", "")
        elif kind == "message_delta":
            usage.update({name: count for name, count in (event.get("usage") or {}).items() if count})
            message["stop_reason"] = (event.get("delta") or {}).get("stop_reason")
    for _, block in sorted(blocks.items()):
        written = block.pop("json")
        if block.get("type") == "tool_use" and written:
            try:
                block["input"] = json.loads(written)
            except ValueError:
                block["input"] = written
        message["content"].append(block)
    return {**message, "usage": usage}
