"""Which server a model's name means, and the messages if something is missing."""

from __future__ import annotations

import pytest

from evalharness.contracts.model import ModelName
from evalharness.errors import UsageError
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.providers import endpoint_of, parse_name, provider_named

KEY = "key-of-mine-1234"


def endpoint(name: str, **environment: str) -> Endpoint:
    parsed = parse_name(name)
    return endpoint_of(parsed, provider_named(parsed.provider, environment), environment)


@pytest.mark.parametrize(
    ("written", "provider", "model"),
    [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("OpenAI/gpt-4o", "openai", "gpt-4o"),
        ("openrouter/meta-llama/llama-3", "openrouter", "meta-llama/llama-3"),
        ("scripted/evals/judge.yaml", "scripted", "evals/judge.yaml"),
        ("gpt-4o", "openai", "gpt-4o"),
        ("o3-mini", "openai", "o3-mini"),
        ("claude-3-5-sonnet", "anthropic", "claude-3-5-sonnet"),
        ("gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("mistral-small-latest", "mistral", "mistral-small-latest"),
        (" smollm2 ", "local", "smollm2"),
    ],
)
def test_names(written: str, provider: str, model: str) -> None:
    assert parse_name(written) == ModelName(provider, model)


@pytest.mark.parametrize(
    ("written", "message", "hint"),
    [
        ("llama-3", "is not a model", "provider/model"),
        ("", "is not a model", "openai"),
        ("openai", "a provider without a model", "openai/MODEL"),
        ("openai/", "a provider without a model", "openai/MODEL"),
        ("/gpt-4o", "is not a model", "provider/model"),
    ],
)
def test_what_names_no_model_is_reported(written: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        parse_name(written)
    assert hint in caught.value.hint


def test_an_unknown_provider_is_guessed_at_and_the_way_to_make_it_known_is_reported() -> None:
    with pytest.raises(UsageError, match="Did you mean 'openai'") as caught:
        endpoint("opnai/gpt-4o")
    assert "OPNAI_BASE_URL" in caught.value.hint


def test_any_name_with_an_address_is_a_provider() -> None:
    found = endpoint("my-gate/m", MY_GATE_BASE_URL="https://gate.example/v1/", MY_GATE_API_KEY=KEY)
    assert found == Endpoint("https://gate.example/v1", {"Authorization": f"Bearer {KEY}"})
    assert found.url("chat/completions") == "https://gate.example/v1/chat/completions"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/m", "OPENAI_API_KEY"),
        ("anthropic/m", "ANTHROPIC_API_KEY"),
        ("gemini/m", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("mistral/m", "MISTRAL_API_KEY"),
        ("openrouter/m", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_is_reported_by_the_name_of_its_variable(name: str, variable: str) -> None:
    with pytest.raises(UsageError, match=f"{variable} is not set"):
        endpoint(name, **{variable: "  "})


def test_a_server_on_this_machine_needs_no_key() -> None:
    for url in ("http://127.0.0.1:9/v1", "http://localhost:9/v1", "http://[::1]:9/v1"):
        assert endpoint("openai/m", OPENAI_BASE_URL=url) == Endpoint(url)
    assert endpoint("vllm/m").base_url == "http://127.0.0.1:8000/v1"
    assert endpoint("llamacpp/m").base_url == "http://127.0.0.1:8080/v1"


def test_a_server_elsewhere_of_ones_own_may_have_a_key() -> None:
    assert not endpoint("vllm/m", VLLM_BASE_URL="http://gpu.example/v1").headers
    found = endpoint("vllm/m", VLLM_BASE_URL="http://gpu.example/v1", VLLM_API_KEY=KEY)
    assert found.headers == {"Authorization": f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:7", "http://127.0.0.1:7/v1"),
        (":7", "http://127.0.0.1:7/v1"),
        ("box", "http://box:11434/v1"),
        ("https://box.example", "https://box.example:443/v1"),
        ("http://box:9/", "http://box:9/v1"),
        ("[::1]:7", "http://[::1]:7/v1"),
        ("[::]", "http://[::1]:11434/v1"),
    ],
)
def test_ollama_is_where_its_own_variable_says(host: str, url: str) -> None:
    assert endpoint("ollama/llama3", OLLAMA_HOST=host).base_url == url


def test_anthropic_has_its_own_headers_and_takes_its_address_with_and_without_v1() -> None:
    for url in ("https://gate.example", "https://gate.example/v1"):
        found = endpoint("anthropic/claude-x", ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY=KEY)
        assert found.url("v1/messages") == "https://gate.example/v1/messages"
        assert found.headers["x-api-key"] == KEY
        assert found.headers["anthropic-version"]


def test_azure_in_both_its_forms() -> None:
    there = {"AZURE_BASE_URL": "https://me.example", "AZURE_OPENAI_API_KEY": KEY}
    new = endpoint("azure/my-deployment", **there)
    assert new.url("chat/completions") == "https://me.example/openai/v1/chat/completions"
    assert new.headers == {"api-key": KEY}
    old = endpoint("azure/my-deployment", AZURE_API_VERSION="2024-10-21", **there)
    assert old.url("chat/completions") == (
        "https://me.example/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
    )
    with pytest.raises(UsageError, match="azure needs the address") as caught:
        endpoint("azure/my-deployment", AZURE_OPENAI_API_KEY=KEY)
    assert "AZURE_BASE_URL" in caught.value.hint


@pytest.mark.parametrize(
    "url", ["gate.example/v1", "ftp://gate.example", "https://", "http://a:b:c/", "https://me:hidden-9876@gate.example",
            "https://gate.example/v1?key=hidden-9876"]
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_reported_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_BASE_URL") as caught:
        endpoint("openai/m", OPENAI_BASE_URL=url, OPENAI_API_KEY=KEY)
    assert "hidden-9876" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize("key", ["two words here", "line\nbreak-123", "schlüssel-1234"])
def test_a_key_that_cannot_be_sent_is_reported_without_showing_it(key: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY contains") as caught:
        endpoint("openai/m", OPENAI_API_KEY=key)
    assert key not in caught.value.message + caught.value.hint


def test_a_key_is_in_no_url_and_in_no_repr() -> None:
    found = endpoint("openai/m", OPENAI_API_KEY=KEY)
    assert KEY not in repr(found) + found.url("chat/completions")
