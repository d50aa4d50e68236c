"""`python -m benchmarks.bare_run TRIALS`: the bare loop as a process; with a URL and a number at once, asking a model.

It keeps nothing, grades nothing and survives nothing.
"""

from __future__ import annotations

import asyncio
import sys

from benchmarks.bare_loop import ask_all, run_bare
from benchmarks.question import ANSWER, QUESTION

AT_ONCE = 10


async def _instant(_question: str) -> str:
    return ANSWER


async def _ask_model(url: str, trials: int, at_once: int) -> None:
    import aiohttp  # here: a loop of functions does not load it

    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def answer(_question: str) -> str:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                return str((await response.json())["choices"][0]["message"]["content"])

        await ask_all(answer, trials, at_once)


if __name__ == "__main__":
    trials, *model = sys.argv[1:]
    if model:
        asyncio.run(_ask_model(model[0], int(trials), int(model[1])))
    else:
        run_bare(_instant, int(trials), AT_ONCE)
