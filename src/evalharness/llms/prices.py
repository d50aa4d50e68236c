"""The price of tokens by model: the user's own prices first, then the built-in ones (`prices.json`), otherwise None.

Prices are never guessed from similar names: `gpt-4o` says nothing about `gpt-4o-mini`, nor about `gpt-4o-2024-05-13`,
which costs twice as much. Dated names are listed one by one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from evalharness.domain.transcript import Usage
from evalharness.errors import UsageError
from evalharness.values.json_value import Json

VARIABLE = "EVALHARNESS_PRICES"
NOTED = Path(__file__).with_name("prices.json")
MILLION = 1_000_000
DEAREST_USD = 1e9
OWN_MACHINES = ("local", "scripted", "ollama", "vllm", "llamacpp")
SELLERS: Mapping[str, str] = {"azure": "openai", "google": "gemini", "mistralai": "mistral"}
"""Providers that sell a model at its maker's price."""
HINT = 'it must contain {"provider/model": {"input": 2.5, "output": 10}}, in USD per million tokens'


class Price(NamedTuple):
    """USD per million tokens."""

    input_usd: float
    output_usd: float = 0.0

    def cost_usd(self, usage: Usage) -> float:
        return (usage.input_tokens * self.input_usd + usage.output_tokens * self.output_usd) / MILLION


FREE = Price(0.0, 0.0)


class Prices:
    def __init__(self, own: Mapping[str, Price], noted: Mapping[str, Price]) -> None:
        self._own = own
        self._noted = noted

    @classmethod
    def read(cls, environment: Mapping[str, str], root: Path) -> Prices:
        written = environment.get(VARIABLE, "").strip()
        own = _read(root / written, f"the prices in {written}") if written else {}
        return cls(own, _read(NOTED, "the built-in prices"))

    def price(self, provider: str, model: str) -> Price | None:
        name = f"{provider}/{model}"
        own = _of_name(self._own, name) or _of_name(self._own, model)
        if own is not None or provider in OWN_MACHINES:
            return own or FREE
        return _of_name(self._noted, _as_sold(provider, model))


def _as_sold(provider: str, model: str) -> str:
    if provider == "openrouter" and "/" in model:
        provider, _, model = model.partition("/")
    return f"{SELLERS.get(provider, provider)}/{model}"


def _of_name(prices: Mapping[str, Price], name: str) -> Price | None:
    """The price under exactly this name, else under the longest `name*` that matches."""
    if name in prices:
        return prices[name]
    fitting = [key for key in prices if key.endswith("*") and name.startswith(key[:-1])]
    return prices[max(fitting, key=len)] if fitting else None


def _read(path: Path, what: str) -> dict[str, Price]:
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {what}: {error.strerror}", hint=f"correct or unset {VARIABLE}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what} are not valid JSON: {error}", hint=HINT) from error
    if not isinstance(written, dict):
        raise UsageError(f"{what} are not a mapping", hint=HINT)
    return {name: _price(price, name, what) for name, price in written.items() if name != "noted"}


def _price(written: Json, name: str, what: str) -> Price:
    given = written if isinstance(written, dict) else {}
    amounts = (given.get("input"), given.get("output", 0.0))
    if not all(_is_amount(amount) for amount in amounts) or set(given) - {"input", "output"}:
        raise UsageError(f"{what}: '{name}' has no valid price", hint=HINT)
    return Price(*map(float, amounts))


def _is_amount(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= DEAREST_USD
