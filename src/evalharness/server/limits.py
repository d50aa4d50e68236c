"""How much the server takes on at once: one ASGI middleware behind access, so that strangers use none of it.

A body is read whole, within its size and its time, before a request takes one of the places; a slow sender holds none.
A request that takes too long is answered; its work keeps its place until it has ended. Streams of events, and requests
that wait for a run, have places of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evalharness.server.failures import Refusal, answer_with, is_api

LARGEST_BODY = 10_000_000
BODY_S = 30.0
MOST_IN_FLIGHT = 32
MOST_WAITING = 100
QUEUE_S = 5.0
RETRY_AFTER_S = 5
ANSWER_S = 30.0
MOST_WAIT_S = 60.0
"""How long a request may wait for a run."""
LONGEST_WAIT_S = MOST_WAIT_S + 5.0
LINGER_S = 0.5
EVENTS = "/events"


class Limits:
    def __init__(
        self,
        app: ASGIApp,
        *,
        most_in_flight: int = MOST_IN_FLIGHT,
        queue_s: float = QUEUE_S,
        body_s: float = BODY_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._app = app
        self._queue_s, self._body_s, self._answer_s = queue_s, body_s, answer_s
        self._places = asyncio.Semaphore(most_in_flight)
        self._waiting = asyncio.Semaphore(MOST_WAITING)
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await _read_body(scope, receive, self._body_s)
            async with self._place(scope):
                await self._answer(scope, _Replayed(body, receive), send)
        except Refusal as refusal:
            await _refuse(scope, receive, send, refusal)

    @asynccontextmanager
    async def _place(self, scope: Scope) -> AsyncIterator[None]:
        places = self._waiting if _waits(scope) else self._places
        try:
            async with asyncio.timeout(self._queue_s):
                await places.acquire()
        except TimeoutError:
            raise Refusal(
                503,
                "the server is busy",
                hint=f"try again in {RETRY_AFTER_S} seconds",
                headers={"retry-after": str(RETRY_AFTER_S)},
            ) from None
        scope["evalharness.place"] = places
        try:
            yield
        finally:
            if "evalharness.place" in scope:
                places.release()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Within its time. A thread cannot be stopped: what it does goes on, and keeps its place till it is done."""
        if is_stream(scope):
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)

        async def handle() -> None:
            await self._app(scope, receive, answer)

        task = asyncio.create_task(handle())
        done, _ = await asyncio.wait({task}, timeout=LONGEST_WAIT_S if _waits(scope) else self._answer_s)
        if done:
            task.result()
            return
        answer.is_given_up = True
        self._tasks.add(task)
        places = scope.pop("evalharness.place")
        task.add_done_callback(lambda ended: self._left(ended, places))
        if answer.has_begun:
            raise ConnectionError("the answer took too long to be sent")
        raise Refusal(504, "this took too long", hint="ask for less at a time")

    def _left(self, task: asyncio.Task[None], places: asyncio.Semaphore) -> None:
        self._tasks.discard(task)
        places.release()
        if not task.cancelled():
            task.exception()  # seen: nobody waits for it any more


class _Answer:
    """What a handler sends; nothing more once it has been given up."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False
        self.is_given_up = False

    async def __call__(self, message: Message) -> None:
        if not self.is_given_up:
            self.has_begun = True
            await self._send(message)


class _Replayed:
    """The body that was read, then whatever the connection says."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _read_body(scope: Scope, receive: Receive, body_s: float) -> bytes:
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > LARGEST_BODY:
        raise _too_large()
    if not length and b"transfer-encoding" not in headers:
        return b""
    chunks, size = [], 0
    try:
        async with asyncio.timeout(body_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refusal(400, "the request ended too early")
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                if size > LARGEST_BODY:
                    raise _too_large()
                if not message.get("more_body"):
                    return b"".join(chunks)
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {body_s:.0f} seconds") from None


def _too_large() -> Refusal:
    return Refusal(413, f"a request may have at most {LARGEST_BODY // 1_000_000} MB")


async def _refuse(scope: Scope, receive: Receive, send: Send, refusal: Refusal) -> None:
    """What is still being sent is thrown away for a moment: a sender that is cut off at once never reads the answer."""
    response = answer_with(scope, refusal)
    response.headers["connection"] = "close"
    start = {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
    await send(start)
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    if refusal.status_code == 413:
        try:
            async with asyncio.timeout(LINGER_S):
                while (await receive()).get("more_body"):
                    pass
        except TimeoutError:
            pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def is_stream(scope: Scope) -> bool:
    return is_api(scope) and str(scope["path"]).endswith(EVENTS)


def _waits(scope: Scope) -> bool:
    return is_stream(scope) or (is_api(scope) and "wait" in parse_qs(scope["query_string"].decode("latin-1")))
