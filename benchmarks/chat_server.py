"""An OpenAI-compatible model that takes 200 ms: `python -m benchmarks.chat_server` prints its port and serves."""

from __future__ import annotations

import asyncio

from aiohttp import web

from benchmarks.http_server import DELAY_S
from benchmarks.question import ANSWER
from benchmarks.serving import serve


async def answer(request: web.Request) -> web.Response:
    await request.read()
    await asyncio.sleep(DELAY_S)
    message = {"role": "assistant", "content": ANSWER}
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return web.json_response(
        {"id": "r", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    )


def model() -> web.Application:
    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    return application


if __name__ == "__main__":
    asyncio.run(serve(model()))
