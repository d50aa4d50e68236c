"""An OpenAI-compatible model that takes 200 ms: `python -m benchmarks.chat_server` prints its port and serves.

`GET /v1/most` says how many requests were under way at the same time at most since it was last asked.
"""

from __future__ import annotations

import asyncio

from aiohttp import web

from benchmarks.http_server import DELAY_S
from benchmarks.question import ANSWER
from benchmarks.serving import serve


class UnderWay:
    """Requests that have arrived and are not answered."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def __enter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *_raised: object) -> None:
        self.now -= 1


UNDER_WAY = web.AppKey("under_way", UnderWay)


async def answer(request: web.Request) -> web.Response:
    with request.app[UNDER_WAY]:
        await request.read()
        await asyncio.sleep(DELAY_S)
    message = {"role": "assistant", "content": ANSWER}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return web.json_response(
        {"id": "r", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    )


async def most(request: web.Request) -> web.Response:
    seen = request.app[UNDER_WAY]
    found, seen.most = seen.most, seen.now
    return web.json_response(found)


def model() -> web.Application:
    application = web.Application()
    application[UNDER_WAY] = UnderWay()
    application.router.add_get("/v1/most", most)
    application.router.add_post("/v1/chat/completions", answer)
    return application


if __name__ == "__main__":
    asyncio.run(serve(model()))
