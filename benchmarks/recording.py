"""What a replay costs beside a run of instant targets, and what the gateway costs beside asking a model directly."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from benchmarks.http_server import DELAY_S
from benchmarks.instant import CASES, answer_async, suite_of
from benchmarks.options import BenchmarkOptions
from benchmarks.serving import served
from benchmarks.table import Row
from benchmarks.timing import Cost, cost_of, typical
from evalharness import Harness
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.domain.exchange import Mode
from evalharness.domain.run import RunOptions
from evalharness.domain.suite import GatewayOptions, LoadedFile, Suite

REPLAYED = 10_000
REPLAY_BUDGET = 1.5
CALLS = 2_000
AT_ONCE = 200
CALL_BUDGET_MS = 2.0
WALL_BUDGET = 1.3


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    yield _replay(options, trials=1)
    yield _replay(options, trials=100)
    with served("benchmarks.chat_server") as url:
        yield from _gateway(url, options)


def _replay(options: BenchmarkOptions, trials: int) -> Row:
    """10,000 cases of one trial, the usual shape, and 100 cases of 100, where a trial costs least."""
    number = options.scaled(REPLAYED)
    suite = suite_of(answer_async, number // trials, trials)
    with TemporaryDirectory() as folder, Harness.open(f"{folder}/store.db") as harness:
        _run(harness, suite, "record")
        live: list[Cost] = []
        replayed: list[Cost] = []
        for _ in range(options.rounds):
            live.append(cost_of(lambda: _run(harness, suite, "live")))
            replayed.append(cost_of(lambda: _run(harness, suite, "replay")))
    cost, beside = typical(replayed), typical(live)
    ratio = cost.cpu_s / beside.cpu_s
    return Row(
        f"replay of {number // trials:,} cases × {trials}",
        cost.per_trial(number),
        f"{ratio:.2f} × instant targets ({beside.per_trial(number)})",
        f"≤ {REPLAY_BUDGET} ×",
        ratio <= REPLAY_BUDGET,
    )


def _run(harness: Harness, suite: Suite, mode: Mode, env: dict[str, str] | None = None, at_once: int = 10) -> None:
    options = RunOptions(max_concurrency=at_once, mode=mode)
    file = LoadedFile(Path("suite.yaml").resolve(), suite)
    [run] = harness.call(run_suites, RunRequest(suites=(file,), options=options, env=env or {}))
    if not run.passed:
        raise SystemExit("the benchmark's own run did not pass")


class Asking:
    """A target that asks a model by HTTP: directly, or through the gateway where there is one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, question: str, context: Any) -> str:
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        gateway = context.gateway
        base, key = (self._url, "none") if gateway is None else (gateway.url, gateway.key)
        body = {"model": "m", "messages": [{"role": "user", "content": question}]}
        headers = {"Authorization": f"Bearer {key}"}
        async with self._session.post(f"{base}/v1/chat/completions", json=body, headers=headers) as response:
            return str((await response.json())["choices"][0]["message"]["content"])

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def _gateway(url: str, options: BenchmarkOptions) -> Iterator[Row]:
    env = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-none"}
    calls = options.scaled(CALLS)
    direct: list[Cost] = []
    through: list[Cost] = []
    with TemporaryDirectory() as folder, Harness.open(f"{folder}/store.db") as harness:
        for _ in range(options.rounds):
            for costs, gateway in ((direct, None), (through, GatewayOptions())):
                asking = Asking(url)
                suite = suite_of(asking, CASES, calls // CASES).model_copy(update={"gateway": gateway})
                costs.append(cost_of(lambda suite=suite: _run(harness, suite, "live", env, AT_ONCE)))  # type: ignore[misc]
                asyncio.run(asking.close())
    ours, beside = typical(through), typical(direct)
    more_ms = (ours.cpu_s - beside.cpu_s) / calls * 1000
    yield Row(
        f"gateway: {calls:,} calls",
        f"{more_ms:.2f} ms CPU a call more than asking directly",
        "",
        f"≤ {CALL_BUDGET_MS:g} ms",
        more_ms <= CALL_BUDGET_MS,
    )
    yield Row(
        f"gateway: {calls:,} calls of a {DELAY_S * 1000:.0f} ms model, {AT_ONCE} at once",
        f"{ours.wall_s:.2f} s wall",
        f"{ours.wall_s / beside.wall_s:.2f} × asking directly ({beside.wall_s:.2f} s)",
        f"≤ {WALL_BUDGET} ×",
        ours.wall_s <= WALL_BUDGET * beside.wall_s,
    )
