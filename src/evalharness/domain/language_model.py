"""What is asked of a language model or an embedder, under which name, and what it replies.

The same whatever wire format carries it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from evalharness.domain.options import Number
from evalharness.domain.record import Record
from evalharness.domain.transcript import Usage
from evalharness.values.json_value import Json

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
    """The reply must be one JSON object of this JSON Schema. A server that cannot do so is asked in words."""
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


# The name of a model: `provider/model`, split at the first slash, or a bare name of which everybody knows whose it is.
#
# Whether the provider exists, and where, is not decided here.

FAMILIES: tuple[tuple[str, str], ...] = (
    (r"gpt-|chatgpt-|o[1345](-|$)|text-embedding-", "openai"),
    (r"claude-", "anthropic"),
    (r"gemini-", "gemini"),
    (r"mistral-|ministral-|codestral-|magistral-|pixtral-", "mistral"),
    (r"smollm2$", "local"),
)
"""How a bare name begins, and whose it then is."""


class ModelName(NamedTuple):
    provider: str
    model: str


def split_name(written: str) -> ModelName | None:
    """None for what names no model."""
    name = written.strip()
    provider, slash, model = name.partition("/")
    if slash:
        return ModelName(provider.lower(), model) if provider and model else None
    owner = next((owner for beginning, owner in FAMILIES if re.match(beginning, name)), None)
    return ModelName(owner, name) if owner else None


# Embedded: the vectors of some texts, in their order, and what they took.


@dataclass(frozen=True, slots=True)
class Embedded:
    vectors: list[list[float]]
    usage: Usage | None = None
    """None where nobody counted."""
    cost_usd: float | None = None
    """None where no price is known."""
