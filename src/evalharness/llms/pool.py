"""Opens every model a run uses by name: each once, at a shared pace, and metered.

Opening checks names, addresses, keys and packages, and sends nothing. `access.py` says what the model classes are
created with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

from evalharness import registry
from evalharness.contracts.budget import Budget
from evalharness.contracts.model import Embedder, Llm, ModelName, Relay
from evalharness.domain.finding import Finding
from evalharness.errors import UsageError
from evalharness.llms.access import Access
from evalharness.llms.metered import Meter, Metered, MeteredEmbedder
from evalharness.llms.post import CEILING, DEADLINE_S, Posting, always_allowed
from evalharness.llms.prices import Price, Prices
from evalharness.llms.providers import endpoint_of, parse_name, provider_named
from evalharness.llms.relay import ProviderRelay

DEADLINE = "EVALHARNESS_MODEL_DEADLINE"
LONGEST_DEADLINE_S = 86_400.0
CALLS_PER_TRIAL = 4
"""Judges grade several criteria of one trial at once."""


class OpenModels:
    """The open models of one event loop, until `close`. `concurrency` is the number of trials that run at once."""

    def __init__(
        self,
        environment: Mapping[str, str],
        root: Path,
        concurrency: int,
        budget: Budget | None = None,
        usual_deadline_s: float = DEADLINE_S,
    ) -> None:
        self._environment = environment
        self._usual_deadline_s = usual_deadline_s
        self.root = root
        self._concurrency = concurrency
        self._budget = budget
        self._llms: dict[ModelName, Llm] = {}
        self._by_name: dict[str, Llm] = {}
        self._embedders: dict[ModelName, Embedder] = {}
        self._relays: dict[str, Relay] = {}
        self._posting: Posting | None = None
        self._prices: Prices | None = None
        self._notes: dict[Finding, None] = {}

    def llm(self, name: str) -> Llm:
        if name not in self._by_name:
            self._by_name[name] = self._llm(parse_name(name))
        return self._by_name[name]

    def _llm(self, name: ModelName) -> Llm:
        if name not in self._llms:
            wire, access, meter = self._opened("llm", name)
            llm: Llm = registry.load("llm", wire)(name.model, access)
            self._llms[name] = Metered(llm, meter)
        return self._llms[name]

    def embedder(self, name: str) -> Embedder:
        parsed = parse_name(name)
        if parsed not in self._embedders:
            wire, access, meter = self._opened("embedder", parsed)
            embedder: Embedder = registry.load("embedder", wire)(parsed.model, access)
            self._embedders[parsed] = MeteredEmbedder(embedder, meter)
        return self._embedders[parsed]

    def relay(self, name: str) -> Relay:
        if name not in self._relays:
            self._relays[name] = ProviderRelay(name, *self._opened("llm", parse_name(name)))
        return self._relays[name]

    def price_known(self, name: str) -> bool:
        """Whether the cost of this model can be added up, and so capped."""
        return self._price(parse_name(name)) is not None

    def notes(self) -> tuple[Finding, ...]:
        return tuple(self._notes)

    def trouble(self) -> str:
        return self._posting.trouble if self._posting is not None else ""

    async def close(self) -> None:
        async with AsyncExitStack() as closing:
            if self._posting is not None:
                closing.push_async_callback(self._posting.close)
            for llm in self._llms.values():
                closing.push_async_callback(llm.close)
            for embedder in self._embedders.values():
                closing.push_async_callback(embedder.close)

    def _price(self, name: ModelName) -> Price | None:
        if self._prices is None:
            self._prices = Prices.read(self._environment, self.root)
        return self._prices.price(name.provider, name.model)

    def _opened(self, noun: Literal["llm", "embedder"], name: ModelName) -> tuple[str, Access, Meter]:
        """The name of the class in the registry, its access, and its meter."""
        available = registry.names(noun)
        provider = provider_named(name.provider, self._environment, available)
        if provider.wire not in available:
            raise UsageError(f"{name.provider} has no embeddings", hint="use a model of another provider")
        if self._posting is None:
            self._posting = Posting(
                deadline_s=deadline_s(self._environment, self._usual_deadline_s),
                ceiling=max(CEILING, CALLS_PER_TRIAL * self._concurrency),
                environment=self._environment,
                may_ask_again=self._budget.check if self._budget is not None else always_allowed,
            )

        def reported(note: Finding) -> None:
            self._notes[note] = None

        endpoint = endpoint_of(name, provider, self._environment)
        meter = Meter("/".join(name), self._price(name), self._budget)
        access = Access(
            name.provider, endpoint, self._environment, self.root, self._posting, meter.charge, reported, meter.lost
        )
        return provider.wire, access, meter


def deadline_s(environment: Mapping[str, str], usual_s: float = DEADLINE_S) -> float:
    written = environment.get(DEADLINE, "").strip()
    try:
        seconds = float(written) if written else usual_s
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= LONGEST_DEADLINE_S:
        raise UsageError(
            f"{DEADLINE} is '{written}', not a number of seconds up to {LONGEST_DEADLINE_S:.0f}",
            hint=f"set {DEADLINE}={DEADLINE_S:.0f} or unset it",
        )
    return seconds
