"""A server of language models that misbehaves at configurable rates, for tests of everything that must handle it.

It supports chat completions, Anthropic's messages and embeddings. It counts requests, injected faults and how many
requests were under way at once, so a test can check what its clients did. It answers with the last message it
received (see `answer`), so a test can distinguish a reply from another client's reply or from a fault.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import formatdate
from random import Random
from typing import Any

from aiohttp import web
from loop_server import serving

from evalharness.llms.pace import Clock

RATES = {
    "429 seconds": 0.15,
    "429 date": 0.15,
    "503": 0.10,
    "garbage": 0.02,
    "wrong types": 0.02,
    "nan": 0.02,
    "two objects": 0.02,
    "truncated": 0.02,
    "reset": 0.02,
    "slow": 0.05,
}
"""`slow` is no fault: the answer is right, it only takes its time."""
QUIET = dict.fromkeys(RATES, 0.0)
WRONG = "WRONG: nobody may ever see this text"


def hurried(speed: float) -> Clock:
    """A clock that runs `speed` times as fast."""
    began, began_wall = time.monotonic(), time.time()

    def now() -> float:
        return (time.monotonic() - began) * speed

    async def sleep(wait_s: float) -> None:
        await asyncio.sleep(wait_s / speed)

    return Clock(now=now, wall=lambda: began_wall + now(), sleep=sleep)


class MisbehavingServer:
    def __init__(
        self,
        rates: dict[str, float] = RATES,
        *,
        seed: int = 1,
        clock: Clock | None = None,
        answer: Callable[[str, dict[str, Any]], str] = lambda last_message, _body: last_message,
        latency_s: float = 0.0,
        slow_s: float = 5.0,
        retry_after_s: int = 2,
        outage: tuple[float, float] | None = None,
    ) -> None:
        """`outage`: from when to when (on the clock) every request gets a 503."""
        self.requests = 0
        self.faults: Counter[str] = Counter()
        self.most_under_way = 0
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._rates = rates
        self._rng = Random(seed)
        self._clock = clock or Clock()
        self._answer = answer
        self._latency_s = latency_s
        self._slow_s = slow_s
        self._retry_after_s = retry_after_s
        self._outage = outage
        self._under_way = 0

    @property
    def injected_faults(self) -> int:
        return self.faults.total() - self.faults["slow"]

    @asynccontextmanager
    async def here(self) -> AsyncIterator[str]:
        """In the event loop of the test; returns the base URL."""
        async with serving(self.handle) as url:
            yield f"{url}/v1"

    @contextmanager
    def in_thread(self) -> Iterator[str]:
        """In its own thread, for tests that run a whole process; returns the base URL."""
        found: list[str] = []
        is_up, loop = threading.Event(), asyncio.new_event_loop()
        done = asyncio.Event()

        async def serve() -> None:
            async with self.here() as url:
                found.append(url)
                is_up.set()
                await done.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
        thread.start()
        try:
            assert is_up.wait(10)
            yield found[0]
        finally:
            loop.call_soon_threadsafe(done.set)
            thread.join(10)
            loop.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        self._under_way += 1
        self.most_under_way = max(self.most_under_way, self._under_way)
        try:
            body = await request.json()
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
            if self._latency_s:
                await self._clock.sleep(self._latency_s)
            return await self._respond(request, body, self._chosen())
        finally:
            self._under_way -= 1

    def _chosen(self) -> str:
        if self._outage is not None and self._outage[0] <= self._clock.now() < self._outage[1]:
            self.faults["outage"] += 1
            return "outage"
        drawn = self._rng.random()
        for kind, rate in self._rates.items():
            drawn -= rate
            if drawn < 0:
                self.faults[kind] += 1
                return kind
        return "none"

    async def _respond(self, request: web.Request, body: dict[str, Any], kind: str) -> web.StreamResponse:
        good = json.dumps(reply_for(request.path, body, self._answer))
        wrong = json.dumps(reply_for(request.path, body, lambda _message, _body: WRONG))
        if kind == "slow":
            await self._clock.sleep(self._slow_s)
        if kind in ("none", "slow"):
            return _json(good)
        if kind == "429 seconds":
            return self._refusal(429, {"Retry-After": str(self._retry_after_s)})
        if kind == "429 date":
            wall = self._clock.wall()
            now, then = formatdate(wall, usegmt=True), formatdate(wall + self._retry_after_s, usegmt=True)
            return self._refusal(429, {"Date": now, "Retry-After": then})
        if kind in ("503", "outage"):
            return self._refusal(503, {})
        if kind == "reset":
            return _reset(request)
        if kind == "truncated":
            return await _truncated(request, wrong)
        return _json(_spoilt(kind, wrong))

    def _refusal(self, status: int, headers: dict[str, str]) -> web.Response:
        return web.json_response({"error": {"message": "too much at once"}}, status=status, headers=headers)


def reply_for(path: str, body: dict[str, Any], answer: Callable[[str, dict[str, Any]], str]) -> dict[str, Any]:
    """A well-formed reply, in the wire format of the path."""
    if path.endswith("/embeddings"):
        data = [{"index": i, "embedding": [float(len(text)), 1.0]} for i, text in enumerate(body["input"])]
        return {"data": data, "model": body["model"], "usage": {"prompt_tokens": len(data), "total_tokens": len(data)}}
    content = body["messages"][-1]["content"]
    text = answer(content if isinstance(content, str) else content[-1].get("text", ""), body)
    if path.endswith("/messages"):
        return {
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
    return {
        "model": body["model"],
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _spoilt(kind: str, reply: str) -> str:
    whole = json.loads(reply)
    if kind == "garbage":
        return f"<html>{WRONG}</html>"
    if kind == "two objects":
        return f"{reply}\n{reply}"
    if kind == "nan":
        return json.dumps({**whole, "usage": {"prompt_tokens": float("nan")}})
    assert kind == "wrong types"
    return json.dumps({**whole, "choices": "none", "content": 7, "data": {}, "usage": [WRONG]})


def _json(text: str) -> web.Response:
    return web.Response(text=text, content_type="application/json")


def _reset(request: web.Request) -> web.Response:
    transport = request.transport
    assert transport is not None
    connection = transport.get_extra_info("socket")
    # Lingering for no time: closing then resets the connection.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    return web.Response()


async def _truncated(request: web.Request, text: str) -> web.StreamResponse:
    """Promises a whole reply and sends half of it."""
    body = text.encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    assert request.transport is not None
    request.transport.close()
    return response
