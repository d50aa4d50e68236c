"""Language models and embedders, and the object that opens each of them once per run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from evalharness.domain.finding import Finding
from evalharness.domain.language_model import ChatReply, ChatRequest, Embedded


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


class Models(Protocol):
    """The models of a run, each opened once; their cost is added up and capped."""

    root: Path
    """The folder in which a model named by a file is looked up, before the current folder."""

    def llm(self, name: str) -> Llm:
        """The model. Raises UsageError for an unknown name, a missing key or a missing package; sends nothing."""
        ...

    def embedder(self, name: str) -> Embedder: ...

    def price_known(self, name: str) -> bool: ...

    def notes(self) -> tuple[Finding, ...]:
        """Findings for the report about how the models were used, each once."""
        ...

    def trouble(self) -> str:
        """Why a request is being retried, in the server's words if possible; empty after a successful reply."""
        ...

    async def close(self) -> None: ...
