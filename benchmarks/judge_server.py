"""A judge as a separate server: `python -m benchmarks.judge_server SECONDS` prints its port and serves.

It supports chat completions, passes everything, and takes SECONDS for each reply.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

from aiohttp import web

from benchmarks.serving import serve

NONCE = re.compile(r'"nonce": "(\w+)"')
USAGE = {"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340}
SCORES = {"justification": "It is right.", "overall_score": 5, "passed": True, "specific_feedback": []}
DELAY_S = web.AppKey("delay_s", float)
STATEMENT = {"reason": "It is so.", "result": "pass"}


async def verdict(request: web.Request) -> web.Response:
    body = await request.json()
    nonce = NONCE.findall(body["messages"][-1]["content"])[-1]
    wanted = body["response_format"]["json_schema"]["schema"]["properties"]
    said = {"nonce": nonce, **(STATEMENT if "result" in wanted else SCORES)}
    await asyncio.sleep(request.app[DELAY_S])
    choice = {"message": {"role": "assistant", "content": json.dumps(said)}, "finish_reason": "stop"}
    return web.json_response({"model": "judge", "choices": [choice], "usage": USAGE})


def judge(delay_s: float) -> web.Application:
    application = web.Application()
    application[DELAY_S] = delay_s
    application.router.add_post("/chat/completions", verdict)
    return application


if __name__ == "__main__":
    asyncio.run(serve(judge(float(sys.argv[1]))))
