"""Throughput: many concurrent trials with an HTTP model that takes 200 ms, compared with a bare aiohttp loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import aiohttp

from benchmarks.bare_loop import ask_all
from benchmarks.http_server import DELAY_S
from benchmarks.instant import CASES, run_persisted, suite_of
from benchmarks.options import BenchmarkOptions
from benchmarks.serving import served
from benchmarks.table import Row
from benchmarks.timing import cost_of, typical

TRIALS = 2_000
AT_ONCE = (200, 1_000)
BUDGET = 1.3


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    suite_trials = TRIALS // CASES
    with served("benchmarks.http_server") as url:
        suite = suite_of(url, CASES, suite_trials)
        for at_once in AT_ONCE:
            ours, bare = [], []
            for _ in range(options.rounds):
                bare.append(cost_of(lambda n=at_once: asyncio.run(_bare(url, n))))  # type: ignore[misc]
                ours.append(cost_of(lambda n=at_once: run_persisted(suite, n)))  # type: ignore[misc]
            cost = typical(ours)
            wall_s, bare_s = cost.wall_s, typical(bare).wall_s
            ideal_s = TRIALS / at_once * DELAY_S
            yield Row(
                f"{TRIALS:,} trials of a {DELAY_S * 1000:.0f} ms HTTP model, {at_once:,} at once",
                f"{wall_s:.2f} s wall, {cost.cpu_s:.2f} s CPU (the waiting alone: {ideal_s:.1f} s)",
                f"{wall_s / bare_s:.2f} × bare aiohttp ({bare_s:.2f} s; CPU {cost.cpu_s / typical(bare).cpu_s:.2f} ×)",
                f"≤ {BUDGET} ×",
                wall_s / bare_s <= BUDGET,
            )


async def _bare(url: str, at_once: int) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def answer(question: str) -> str:
            async with session.post(url, json={"input": question}) as response:
                return str((await response.json())["output"])

        await ask_all(answer, TRIALS, at_once)
