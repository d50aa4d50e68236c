"""One POST over HTTP, once: what came back, or what went wrong. When to ask again is `posting.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from evalharness.llms.endpoints import NOTHING, is_loopback
from evalharness.llms.faults import Fault

CONNECT_TIMEOUT_S = 30.0
LARGEST_BYTES = 64 * 1024 * 1024
JSON_TYPE: Mapping[str, str] = {"Content-Type": "application/json", "Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    text: str


class Sender:
    """One session for all: connections are kept open between requests."""

    def __init__(self, environment: Mapping[str, str] = NOTHING) -> None:
        self._proxies = {
            name.lower().removesuffix("_proxy"): value
            for name, value in environment.items()
            if name.lower().endswith("_proxy") and value
        }
        self._session: Any = None

    async def send(self, url: str, headers: Mapping[str, str], body: bytes, connect_s: float) -> Response | Fault:
        """However long the reply takes: `connect_s` is for the connection alone."""
        import aiohttp  # slow to import: only those who send something pay for it

        if self._session is None:
            # `pacing.py` bounds how many are open. No cookies: no request may depend on an earlier one.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
            )
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_s)
        try:
            # A redirect is not followed: it would take the key to another place.
            async with self._session.post(
                url,
                data=body,
                headers={**JSON_TYPE, **headers},
                timeout=timeout,
                allow_redirects=False,
                proxy=self._proxy_for(url),
            ) as response:
                return await _read(response)
        except aiohttp.InvalidURL as error:
            return Fault(f"no URL that can be asked: {error}", may_pass=False)
        except aiohttp.ClientConnectorCertificateError as error:
            return Fault(f"the certificate of {error.host} cannot be trusted", may_pass=False)
        except aiohttp.ClientConnectorError as error:
            return Fault(f"no connection to {error.host}:{error.port} ({error.os_error.strerror or error.os_error})")
        except aiohttp.ConnectionTimeoutError:
            return Fault(f"no connection within {round(connect_s, 1):g} s")
        except (aiohttp.ClientError, OSError) as error:
            return Fault(f"the connection broke: {error or type(error).__name__}", is_lost=True)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _proxy_for(self, url: str) -> str | None:
        parts = urlsplit(url)
        proxy = self._proxies.get(parts.scheme) or self._proxies.get("all")
        if proxy is None or is_loopback(url) or _is_among(parts.hostname or "", self._proxies.get("no", "")):
            return None
        return proxy


def _is_among(host: str, listed: str) -> bool:
    """Whether `NO_PROXY` covers a host: by name, by a domain it is in, or with all others."""
    names = {name.strip().lower().lstrip(".") for name in listed.split(",")} - {""}
    return "*" in names or any(host == name or host.endswith(f".{name}") for name in names)


async def _read(response: Any) -> Response | Fault:
    body = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        body += chunk
        if len(body) > LARGEST_BYTES:
            return Fault(f"the reply is larger than {LARGEST_BYTES // 1024**2} MB", is_garbage=True)
    try:
        return Response(response.status, response.headers, body.decode())
    except UnicodeDecodeError:
        if response.status == 200:
            return Fault("the reply is not UTF-8 text", is_garbage=True)
        return Response(response.status, response.headers, body.decode(errors="replace"))
