"""What a call costs, and for which models that is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.transcript import Usage
from evalharness.errors import UsageError
from evalharness.llms.prices import FREE, Price, Prices


def noted() -> Prices:
    return Prices.read({}, Path())


def own(folder: Path, written: Any) -> Prices:
    (folder / "prices.json").write_text(written if isinstance(written, str) else json.dumps(written), encoding="utf-8")
    return Prices.read({"EVALHARNESS_PRICES": "prices.json"}, folder)


def test_the_cost_of_a_reply() -> None:
    assert Price(2.5, 10).cost_usd(Usage(input_tokens=1_000_000, output_tokens=100_000)) == pytest.approx(3.5)


@pytest.mark.parametrize(
    ("provider", "model", "like"),
    [
        ("openai", "gpt-4o-2024-08-06", ("openai", "gpt-4o")),
        ("anthropic", "claude-3-5-sonnet-20241022", ("anthropic", "claude-3-5-sonnet")),
        ("anthropic", "claude-3-5-sonnet-latest", ("anthropic", "claude-3-5-sonnet")),
        ("gemini", "gemini-2.0-flash-001", ("gemini", "gemini-2.0-flash")),
        ("azure", "gpt-4o-mini", ("openai", "gpt-4o-mini")),
        ("openrouter", "openai/gpt-4o", ("openai", "gpt-4o")),
        ("openrouter", "google/gemini-2.5-pro", ("gemini", "gemini-2.5-pro")),
    ],
)
def test_a_listed_or_resold_model_has_the_price_of_the_model(provider: str, model: str, like: tuple[str, str]) -> None:
    price = noted().price(provider, model)
    assert price is not None
    assert price == noted().price(*like)


def test_a_longer_name_is_another_model() -> None:
    small, large = noted().price("openai", "gpt-4o-mini"), noted().price("openai", "gpt-4o")
    assert small is not None
    assert large is not None
    assert small.input_usd < large.input_usd


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai", "gpt-4o-audio"), ("openai", "gpt-99"), ("my-gate", "gpt-4o"), ("openrouter", "meta-llama/x"),
     ("anthropic", "claude-opus-4-9"), ("openai", "gpt-4o-2031-01-01"), ("openai", "gpt-4-0314-x"),
     ("gemini", "gemini-2.5-flash-preview-04-17"), ("mistral", "mistral-medium-2312")],
)  # fmt: skip
def test_a_price_that_is_only_likely_is_none(provider: str, model: str) -> None:
    assert noted().price(provider, model) is None


@pytest.mark.parametrize("provider", ["local", "scripted", "ollama", "vllm", "llamacpp"])
def test_ones_own_machines_cost_nothing(provider: str) -> None:
    assert noted().price(provider, "anything/at-all") == FREE


def test_an_early_form_of_a_model_has_its_own_price() -> None:
    assert noted().price("openai", "gpt-4o-2024-05-13") == Price(5, 15)


def test_own_prices_cover_dated_names_only_where_a_star_says_so(tmp_path: Path) -> None:
    prices = own(
        tmp_path, {"g/a": {"input": 1}, "g/b*": {"input": 2}, "g/b-big*": {"input": 3}, "g/b-big-1": {"input": 4}}
    )
    assert prices.price("g", "a-2025-01-01") is None
    assert prices.price("g", "b-2025-01-01") == Price(2)
    assert prices.price("g", "b-big-2025-01-01") == Price(3)
    assert prices.price("g", "b-big-1") == Price(4)


def test_own_prices_go_before_all_others(tmp_path: Path) -> None:
    prices = own(tmp_path, {"openai/gpt-4o": {"input": 1, "output": 2}, "vllm/*": {"input": 0.5}, "m": {"input": 7}})
    assert prices.price("openai", "gpt-4o") == Price(1, 2)
    assert prices.price("vllm", "llama") == Price(0.5, 0)
    assert prices.price("my-gate", "m") == Price(7, 0)
    assert prices.price("openai", "gpt-4o-mini") == noted().price("openai", "gpt-4o-mini")


@pytest.mark.parametrize(
    "written",
    ["", "[]", "{", {"m": 3}, {"m": {}}, {"m": {"input": "3"}}, {"m": {"input": True}}, {"m": {"input": -1}},
     '{"m": {"input": NaN}}', {"m": {"input": 10**400}}, {"m": {"input": 1, "outptu": 2}}],
)  # fmt: skip
def test_a_broken_file_of_prices_is_reported(written: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="prices") as caught:
        own(tmp_path, written)
    assert "USD per million tokens" in caught.value.hint


def test_a_missing_file_of_prices_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read the prices in none\.json"):
        Prices.read({"EVALHARNESS_PRICES": "none.json"}, tmp_path)
