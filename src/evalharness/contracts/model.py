"""Language models and embedders: what they are asked, what they reply, and the object that opens each once per run.

Requests and replies are the same whatever wire format carries them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from pydantic import Field

from evalharness.domain.finding import Finding
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


class Llm(ABC):
    """A language model. It keeps no state; the request contains the whole conversation."""

    name: str
    """`provider/model`, as requested."""
    revision: str = ""
    """What distinguishes it from another model of the same name: the server's address, the digest of a script."""

    @property
    def takes_no_temperature(self) -> bool:
        """Whether a temperature is known to have no effect."""
        return False

    @abstractmethod
    async def chat(self, request: ChatRequest) -> ChatReply:
        """The reply. Raises ModelUnavailable if there is none after all attempts, and SpendCapReached."""

    async def close(self) -> None:  # noqa: B027 - most have nothing open
        """Called at least once, even for a model that was never used."""


class Embedder(ABC):
    """Converts texts to vectors of one length whose directions represent the meaning."""

    name: str

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors. Raises ModelUnavailable and SpendCapReached, as a language model does."""

    async def close(self) -> None:  # noqa: B027 - most have nothing open
        """Called at least once, even for a model that was never used."""


class Relayed(NamedTuple):
    """A provider's reply: JSON, or the text of a stream. `usage` and `cost_usd` are None where nobody says them."""

    reply: Json
    usage: Usage | None = None
    cost_usd: float | None = None


class Relay(ABC):
    """Sends requests that somebody else has written in a provider's own form."""

    name: str
    """`provider/model`"""
    wire: str
    """The form that the provider understands, as the registry calls it: openai-compatible, anthropic."""

    @abstractmethod
    async def send(
        self,
        path: str,
        body: Json,
        usage_of: Callable[[Any], Usage | None],
        heard: Callable[[bytes], None] | None = None,
    ) -> Relayed:
        """With `heard`, the reply is a stream and handed on as it comes. `usage_of` reads what the reply took.

        Raises ModelUnavailable and SpendCapReached, as a language model does.
        """


class Models(Protocol):
    """The models of a run, each opened once; their cost is added up and capped."""

    root: Path
    """The folder in which a model named by a file is looked up, before the current folder."""

    def llm(self, name: str) -> Llm:
        """The model. Raises UsageError for an unknown name, a missing key or a missing package; sends nothing."""
        ...

    def embedder(self, name: str) -> Embedder: ...

    def relay(self, name: str) -> Relay: ...

    def price_known(self, name: str) -> bool: ...

    def notes(self) -> tuple[Finding, ...]:
        """Findings for the report about how the models were used, each once."""
        ...

    def trouble(self) -> str:
        """Why a request is being retried, in the server's words if possible; empty after a successful reply."""
        ...

    async def close(self) -> None: ...
