"""Resolves the name of a model to its provider, address and key. It sends nothing.

A name is `provider/model`, split at the first slash. For any provider NAME, the variables `NAME_BASE_URL` and
`NAME_API_KEY` set address and key. A name that is not in the table becomes an OpenAI-compatible provider this way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from evalharness.contracts.model import ModelName, split_name
from evalharness.errors import UnknownName, UsageError
from evalharness.llms.endpoints import VERSION_HEADER, Endpoint, is_loopback

OPENAI_COMPATIBLE = "openai-compatible"


@dataclass(frozen=True, slots=True)
class Provider:
    wire: str = OPENAI_COMPATIBLE
    """The name of its wire format in the registry."""
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    """Used after NAME_API_KEY."""
    url_variables: tuple[str, ...] = ()
    """Used after NAME_BASE_URL."""
    needs_key: bool = True
    is_on_network: bool = True


PROVIDERS: Mapping[str, Provider] = {
    "openai": Provider(base_url="https://api.openai.com/v1"),
    "azure": Provider(key_variables=("AZURE_OPENAI_API_KEY",), url_variables=("AZURE_OPENAI_ENDPOINT",)),
    "anthropic": Provider(wire="anthropic", base_url="https://api.anthropic.com"),
    "gemini": Provider(
        base_url="https://generativelanguage.googleapis.com/v1beta/openai", key_variables=("GOOGLE_API_KEY",)
    ),
    "mistral": Provider(base_url="https://api.mistral.ai/v1"),
    "openrouter": Provider(base_url="https://openrouter.ai/api/v1"),
    "ollama": Provider(base_url="http://127.0.0.1:11434/v1", url_variables=("OLLAMA_HOST",), needs_key=False),
    "vllm": Provider(base_url="http://127.0.0.1:8000/v1", needs_key=False),
    "llamacpp": Provider(base_url="http://127.0.0.1:8080/v1", needs_key=False),
    "local": Provider(wire="local", is_on_network=False),
    "scripted": Provider(wire="scripted", is_on_network=False),
}
ANTHROPIC_VERSION = "2023-06-01"


def parse_name(written: str) -> ModelName:
    """Split the name; raises UsageError if it is not a model's."""
    if (name := split_name(written)) is not None:
        return name
    provider = written.strip().strip("/")
    if provider.lower() in PROVIDERS:
        raise UsageError(f"'{written}' is a provider without a model", hint=f"write {provider}/MODEL")
    raise UsageError(f"'{written}' is not a model", hint=f"write provider/model; providers: {', '.join(PROVIDERS)}")


def provider_named(name: str, environment: Mapping[str, str], others: Iterable[str] = ()) -> Provider:
    """The provider. `others` are providers from plug-ins, each with its own wire format."""
    if name in PROVIDERS:
        return PROVIDERS[name]
    if name in others:
        return Provider(wire=name, needs_key=False)
    if environment.get(variable(name, "BASE_URL")):
        return Provider()
    unknown = UnknownName(
        "model provider", name, [*PROVIDERS, *(other for other in others if other != OPENAI_COMPATIBLE)]
    )
    unknown.hint += f"; for an OpenAI-compatible server of any name set {variable(name, 'BASE_URL')}"
    raise unknown


def endpoint_of(name: ModelName, provider: Provider, environment: Mapping[str, str]) -> Endpoint:
    """The endpoint; raises UsageError if an address or key is missing, with the variable's name."""
    if not provider.is_on_network:
        return Endpoint()
    base_url = _base_url(name.provider, provider, environment)
    key = _key(name.provider, provider, environment, base_url)
    if name.provider == "azure":
        return _azure(name.model, base_url, key, environment)
    if provider.wire == "anthropic":
        headers = {"x-api-key": key} if key else {}
        return Endpoint(base_url.removesuffix("/v1"), {**headers, VERSION_HEADER: ANTHROPIC_VERSION})
    return Endpoint(base_url, {"Authorization": f"Bearer {key}"} if key else {})


def variable(provider: str, ending: str) -> str:
    return f"{re.sub(r'[^A-Z0-9]', '_', provider.upper())}_{ending}"


def _base_url(name: str, provider: Provider, environment: Mapping[str, str]) -> str:
    variables = (variable(name, "BASE_URL"), *provider.url_variables)
    for asked in variables:
        if written := environment.get(asked, "").strip():
            return _checked_url(_ollama_url(written) if asked == "OLLAMA_HOST" else written, asked)
    if provider.base_url or provider.wire not in (OPENAI_COMPATIBLE, "anthropic"):
        return provider.base_url
    raise UsageError(f"{name} needs the address of your server", hint=f"set {variables[0]}")


def _checked_url(url: str, asked: str) -> str:
    """Check the URL. Messages contain only the variable's name, because the URL may contain a secret."""
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_url = False
    if not is_url:
        raise UsageError(f"{asked} is not a valid URL", hint="it must begin with http:// or https://")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"{asked} contains more than an address", hint="put a key into the variable for keys")
    return url.rstrip("/")


def _ollama_url(written: str) -> str:
    """The URL as Ollama reads it: `host`, `host:port`, `:port` or a URL; a wildcard address becomes loopback."""
    url = written if "://" in written else f"http://{written}"
    scheme, _, place = url.partition("://")
    place = place.rstrip("/")
    host, colon, port = place.rpartition(":") if re.search(r":\d*\Z", place) else (place, "", "")
    host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    port = port if colon else {"https": "443"}.get(scheme, "11434")
    return f"{scheme}://{host}:{port}/v1"


def _key(name: str, provider: Provider, environment: Mapping[str, str], base_url: str) -> str:
    variables = (variable(name, "API_KEY"), *provider.key_variables)
    for asked in variables:
        if key := environment.get(asked, "").strip():
            if not key.isascii() or not key.isprintable() or " " in key:
                raise UsageError(
                    f"{asked} contains characters that are not allowed in a key", hint="look for line breaks and quotes"
                )
            return key
    if not provider.needs_key or is_loopback(base_url):
        return ""
    raise UsageError(f"no key for {name}: {' or '.join(variables)} is not set", hint=f"set {variables[0]}")


def _azure(deployment: str, base_url: str, key: str, environment: Mapping[str, str]) -> Endpoint:
    """With an API version, the older form with the deployment in the path; without one, the newer form."""
    resource = base_url.removesuffix("/openai/v1").removesuffix("/openai")
    headers = {"api-key": key} if key else {}
    version = environment.get("AZURE_API_VERSION", "").strip() or environment.get("OPENAI_API_VERSION", "").strip()
    if version:
        return Endpoint(f"{resource}/openai/deployments/{deployment}", headers, {"api-version": version})
    return Endpoint(f"{resource}/openai/v1", headers)
