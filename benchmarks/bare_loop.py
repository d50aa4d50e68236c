"""The same work without a harness: workers, a semaphore, a time limit and the check. Nothing is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from benchmarks.question import QUESTION, WANTED

TIMEOUT_S = 300.0


def run_bare(answer: Callable[[str], Awaitable[str]], trials: int, max_concurrency: int) -> None:
    asyncio.run(ask_all(answer, trials, max_concurrency))


async def ask_all(answer: Callable[[str], Awaitable[str]], trials: int, max_concurrency: int) -> None:
    semaphore = asyncio.Semaphore(max_concurrency)
    pending = iter(range(trials))
    passed = 0

    async def work() -> None:
        nonlocal passed
        for _ in pending:
            async with semaphore, asyncio.timeout(TIMEOUT_S):
                answered = await answer(QUESTION)
            passed += WANTED in answered

    await asyncio.gather(*(work() for _ in range(max_concurrency)))
    if passed != trials:
        raise SystemExit(f"the bare loop saw {passed} right answers in {trials} trials")
