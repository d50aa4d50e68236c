"""How many requests are handled at once, and what happens to those that wait, send or work for too long."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from evalharness.server.limits import LARGEST_BODY, Limits

CHUNKED = [(b"transfer-encoding", b"chunked")]


class Handler:
    """Works until it is let go, and notes the bodies it was given."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.under_way = 0
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.bodies.append((await receive())["body"])
        self.under_way += 1
        await self.may_end.wait()
        self.under_way -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


class Asked:
    """One request, and what was answered."""

    def __init__(self, path: str = "/api/x", headers: Any = (), messages: Any = (), query: bytes = b"") -> None:
        self.scope: Scope = {"type": "http", "method": "POST", "path": path, "root_path": "", "headers": list(headers)}
        self.scope["query_string"] = query
        self.sent: list[Message] = []
        self._messages = list(messages)

    async def receive(self) -> Message:
        if self._messages:
            return {"type": "http.request", "body": self._messages.pop(0), "more_body": bool(self._messages)}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def by(self, limits: Limits) -> Asked:
        await limits(self.scope, self.receive, self.send)
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def error(self) -> Any:
        return json.loads(b"".join(message.get("body", b"") for message in self.sent[1:]))

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0)


async def test_those_beyond_the_limit_wait_and_are_then_refused() -> None:
    handler = Handler()
    limits = Limits(handler, most_in_flight=2, queue_s=0.0)
    tasks = [asyncio.create_task(Asked().by(limits)) for _ in range(2)]
    await until(lambda: handler.under_way == 2)
    refused = await Asked().by(limits)
    assert (refused.status, refused.error["code"], refused.headers[b"retry-after"]) == (503, "unavailable", b"5")
    handler.may_end.set()
    assert [(await task).status for task in tasks] == [200, 200]
    assert (await Asked().by(limits)).status == 200


async def test_one_that_waits_is_answered_as_soon_as_there_is_room() -> None:
    handler = Handler()
    limits = Limits(handler, most_in_flight=1)
    tasks = [asyncio.create_task(Asked().by(limits)) for _ in range(5)]
    await until(lambda: handler.under_way == 1)
    handler.may_end.set()
    assert [(await task).status for task in tasks] == [200] * 5


async def test_streams_of_events_and_waiting_requests_have_places_of_their_own() -> None:
    handler = Handler()
    limits = Limits(handler, most_in_flight=1, queue_s=0.0)
    tasks = [asyncio.create_task(Asked().by(limits))]
    tasks += [asyncio.create_task(Asked("/api/eval/runs/x/events").by(limits)) for _ in range(5)]
    tasks += [asyncio.create_task(Asked(query=b"wait=30").by(limits)) for _ in range(5)]
    await until(lambda: handler.under_way == 11)
    handler.may_end.set()
    assert {(await task).status for task in tasks} == {200}


async def test_work_that_takes_too_long_is_answered_and_keeps_its_place() -> None:
    handler = Handler()
    limits = Limits(handler, most_in_flight=1, queue_s=0.0, answer_s=0.01)
    late = await Asked().by(limits)
    assert (late.status, late.error["code"]) == (504, "timeout")
    assert (await Asked().by(limits)).status == 503, "the first one is still at work"
    handler.may_end.set()
    await until(lambda: handler.under_way == 0)
    await asyncio.sleep(0)
    assert (await Asked().by(limits)).status == 200
    assert len([message for message in late.sent if message["type"] == "http.response.start"]) == 1


async def test_a_body_is_handed_on_whole_and_a_slow_one_takes_no_place() -> None:
    handler = Handler()
    handler.may_end.set()
    limits = Limits(handler, most_in_flight=1, body_s=0.01)
    await Asked(headers=CHUNKED, messages=[b"one ", b"two"]).by(limits)
    assert handler.bodies == [b"one two"]
    slow = Asked(headers=[(b"content-length", b"5")])
    assert (await slow.by(limits)).status == 408
    assert (await Asked().by(limits)).status == 200


async def test_a_body_is_as_large_as_allowed_or_refused() -> None:
    handler = Handler()
    handler.may_end.set()
    limits = Limits(handler)
    half = bytes(LARGEST_BODY // 2)
    assert (await Asked(headers=CHUNKED, messages=[half, half]).by(limits)).status == 200
    for headers, messages in (
        (CHUNKED, [half, half, b"x", b""]),
        ([(b"content-length", str(LARGEST_BODY + 1).encode())], [b""]),
    ):
        refused = await Asked(headers=headers, messages=messages).by(limits)
        assert (refused.status, refused.error["code"]) == (413, "too_large")
    assert len(handler.bodies) == 1
