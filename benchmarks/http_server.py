"""A model that takes 200 ms, as a separate server: `python -m benchmarks.http_server` prints its port and serves."""

from __future__ import annotations

import asyncio

from aiohttp import web

from benchmarks.question import ANSWER
from benchmarks.serving import serve

DELAY_S = 0.2


async def answer(request: web.Request) -> web.Response:
    await request.read()
    await asyncio.sleep(DELAY_S)
    return web.json_response({"output": ANSWER})


def model() -> web.Application:
    application = web.Application()
    application.router.add_post("/", answer)
    return application


if __name__ == "__main__":
    asyncio.run(serve(model()))
