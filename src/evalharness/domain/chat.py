"""Chat: what is asked of a language model and what it replies, whatever wire format carries it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evalharness.domain.options import Number
from evalharness.domain.record import Json, Record
from evalharness.domain.transcript import Usage

Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length", "tool_calls", "refused", "other"]
Temperature = Annotated[Number, Field(ge=0, le=2)]


class Tool(Record):
    """A function the model may ask for; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str = ""
    parameters: dict[str, Json] = Field(default_factory=lambda: {"type": "object", "properties": {}})


class ToolRequest(Record):
    """The model asks for a call. `arguments` is as written by the model: JSON, if it kept to the rules."""

    id: str
    name: str
    arguments: str = "{}"


class ChatMessage(Record):
    """One message. `tool_requests` belong to an assistant's, `answers_request` (the request's id) to a tool's."""

    role: Role
    content: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    answers_request: str = ""


class ChatRequest(Record):
    """Everything a reply depends on."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[Tool, ...] = ()
    reply_schema: dict[str, Json] | None = None
    """The reply must be one JSON object of this JSON Schema. A server that cannot hold to it is told in words."""
    temperature: Temperature | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None


class ChatReply(Record):
    """`model` is the name the server gave itself. `cost_usd` is None where no price is known."""

    text: str = ""
    tool_requests: tuple[ToolRequest, ...] = ()
    finish_reason: FinishReason = "stop"
    model: str = ""
    usage: Usage | None = None
    cost_usd: float | None = None

    @property
    def message(self) -> ChatMessage:
        """As it goes into the next request."""
        return ChatMessage(role="assistant", content=self.text, tool_requests=self.tool_requests)
