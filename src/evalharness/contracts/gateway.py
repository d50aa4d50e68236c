"""The gateway: a proxy of models on this machine. What an agent asks through it is recorded, counted and limited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from evalharness.contracts.exchange import Tape
from evalharness.domain.transcript import Transcript


def sdk_variables(url: str, key: str) -> dict[str, str]:
    """What the SDKs of the vendors read."""
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": key,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": key,
    }


class GatewaySession(ABC):
    """The gateway as one attempt sees it: its key works while the attempt lasts. Functions get it as
    `context.gateway`."""

    url: str
    """Without `/v1`."""
    key: str

    @property
    def environment(self) -> Mapping[str, str]:
        return sdk_variables(self.url, self.key)

    @abstractmethod
    async def close(self) -> None:
        """The key stops working; calls under way are waited for, but not for long. Raises SpendCapReached if that
        was the answer to one of them."""

    @abstractmethod
    def completed(self, answer: Transcript) -> Transcript:
        """The answer with the messages, tool calls, usage and cost that passed, where it does not say its own."""


class Gateway(ABC):
    @abstractmethod
    async def begin(self, tape: Tape | None) -> GatewaySession:
        """For one attempt. The first one starts the server."""

    @abstractmethod
    def unpinned(self) -> tuple[str, ...]:
        """The models that may be asked through it, which no digest can pin."""

    @abstractmethod
    async def close(self) -> None:
        """Called at least once, even if it was never started."""
