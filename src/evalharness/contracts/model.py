"""Language models and embedders, and the place where a run opens each of them once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from evalharness.domain.finding import Finding
from evalharness.domain.language_model import ChatReply, ChatRequest, Embedded


class Llm(ABC):
    """A language model. Whatever it is to know of a conversation stands in the request."""

    name: str
    """`provider/model`, as it was asked for."""
    revision: str = ""
    """What else sets it apart from a model of the same name: the server's address, the digest of a script."""

    @property
    def takes_no_temperature(self) -> bool:
        """As far as is known: whether a temperature that is asked for changes nothing."""
        return False

    @abstractmethod
    async def chat(self, request: ChatRequest) -> ChatReply:
        """Raises ModelUnavailable when there is no reply, whatever was tried, and SpendCapReached."""

    async def close(self) -> None:  # noqa: B027 - most have nothing open
        """Called once or more, also for a model that was never asked."""


class Embedder(ABC):
    """Texts → vectors of one length whose directions say what the texts mean."""

    name: str

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Raises ModelUnavailable and SpendCapReached, as a language model does."""

    async def close(self) -> None:  # noqa: B027 - most have nothing open
        """Called once or more, also for a model that was never asked."""


class Models(Protocol):
    """Every model a run uses, each opened once; what they cost is added up, and capped."""

    root: Path
    """The folder where a model that is named by a file is looked for, before the current one."""

    def llm(self, name: str) -> Llm:
        """Raises UsageError for a name nobody knows, a missing key or a missing package: nothing is sent yet."""
        ...

    def embedder(self, name: str) -> Embedder: ...

    def price_known(self, name: str) -> bool: ...

    def notes(self) -> tuple[Finding, ...]:
        """What a reader of the report must know of how the models were asked, each once."""
        ...

    def trouble(self) -> str:
        """Why a server is asked again, in its words where it had any; empty where the last one asked has replied."""
        ...

    async def close(self) -> None: ...
