"""Where requests for one model go, and what opens the door there."""

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
    """The key stands in a header and nowhere else: URLs end up in logs."""

    base_url: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)
    query: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    is_own: bool = False
    """A process that we started ourselves: it takes one request after another, and its connections do not hang."""

    def url(self, path: str) -> str:
        url = f"{self.base_url.rstrip('/')}/{path}"
        return f"{url}?{urlencode(self.query)}" if self.query else url

    @property
    def secrets(self) -> list[str]:
        """The headers that no message may quote."""
        return [value for name, value in self.headers.items() if name != VERSION_HEADER]

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for all who share one server and one key, and so its limits."""
        return (self.base_url, *(f"{name}:{value}" for name, value in sorted(self.headers.items())))


def is_loopback(base_url: str) -> bool:
    """Whether a server on this very machine is meant."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
