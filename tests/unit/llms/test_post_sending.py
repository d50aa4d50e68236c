"""One request: proxies from the environment are used, but never for this machine."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from loop_server import serving

from evalharness.llms.faults import ProviderFault
from evalharness.llms.post import Response, Sender


def ask(url: str, **environment: str) -> tuple[Response | ProviderFault, list[str]]:
    """The result of one request, and what the proxy at `HTTP_PROXY` received."""
    asked: list[str] = []

    async def proxy(request: web.Request) -> web.Response:
        asked.append(str(request.url))
        return web.json_response({"from": "proxy"})

    async def run() -> Response | ProviderFault:
        async with serving(proxy) as address:
            sender = Sender({"HTTP_PROXY": address, **environment})
            try:
                return await sender.send(url, {}, b"{}", 10.0)
            finally:
                await sender.close()

    return asyncio.run(run()), asked


def test_a_proxy_is_used_where_the_environment_names_one() -> None:
    response, asked = ask("http://models.invalid/v1/x")
    assert isinstance(response, Response)
    assert response.text == '{"from": "proxy"}'
    assert asked == ["http://models.invalid/v1/x"]


@pytest.mark.parametrize("excepted", ["models.invalid", "a, .invalid", "*"])
def test_no_proxy_is_used_where_the_environment_excepts_the_host(excepted: str) -> None:
    response, asked = ask("http://models.invalid/v1/x", no_proxy=excepted)
    assert isinstance(response, ProviderFault)
    assert asked == []


def test_no_proxy_is_used_for_this_machine() -> None:
    response, asked = ask("http://127.0.0.1:1/x")
    assert isinstance(response, ProviderFault)
    assert "127.0.0.1:1" in response.words
    assert asked == []
