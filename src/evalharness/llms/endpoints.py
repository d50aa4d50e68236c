"""The address of a model's server, with the headers and keys it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlencode, urlsplit

NOTHING: Mapping[str, str] = MappingProxyType({})
VERSION_HEADER = "anthropic-version"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The key is only in a header, never in the URL, because URLs end up in logs."""

    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)
    query: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    is_own: bool = False
    """A process that the harness started: it handles one request at a time, and its connections do not hang."""

    def url(self, path: str) -> str:
        url = f"{self.base_url.rstrip('/')}/{path}"
        return f"{url}?{urlencode(self.query)}" if self.query else url

    @property
    def secrets(self) -> list[str]:
        """The headers that messages must not quote."""
        return [value for name, value in self.headers.items() if name != VERSION_HEADER]

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for endpoints that share a server and a key, and therefore rate limits."""
        return (self.base_url, *(f"{name}:{value}" for name, value in sorted(self.headers.items())))


def is_loopback(base_url: str) -> bool:
    """Whether the server is on this machine."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
