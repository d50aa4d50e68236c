"""A model that takes 200 ms, as a server of its own: `python -m benchmarks.http_server` prints its port and serves."""

from __future__ import annotations

import asyncio

from aiohttp import web

from benchmarks.question import ANSWER

DELAY_S = 0.2
BACKLOG = 4096


async def answer(request: web.Request) -> web.Response:
    await request.read()
    await asyncio.sleep(DELAY_S)
    return web.json_response({"output": ANSWER})


async def serve() -> None:
    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, backlog=BACKLOG)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
