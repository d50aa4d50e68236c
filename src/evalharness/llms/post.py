"""Sends requests to a model's server: retries after temporary faults, at the pace the server allows, up to a deadline.

The caller decides what a valid reply is: `read` converts the JSON to a value, or raises ValueError. In that case the
reply counts as garbage and the request is sent again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic_core import to_json

from evalharness.contracts.exchange import TRIES
from evalharness.errors import ModelUnavailable
from evalharness.llms.endpoints import NOTHING, Endpoint, is_loopback
from evalharness.llms.faults import ProviderFault, fault_of_status, head_of_reply, status_in_body, without
from evalharness.llms.pace import Clock, Pace
from evalharness.values.json_value import Json, parse_strictly

DEADLINE_S = 900.0
"""Longer than the longest wait a server can ask for, and than most outages."""
CEILING = 200
FIRST_BACKOFF_S = 0.5
LONGEST_BACKOFF_S = 30.0
LONGEST_BACKOFF_WHEN_FULL_S = 4.0
FIRST_CONTACT_S = 10.0
"""If a server has never answered, its address is more likely wrong than the server down."""
MOST_GARBAGE = 8
"""Unreadable replies may still cost money."""
NO_TURN = ProviderFault("the request was still queued: the server handles no more requests at once")
Value = TypeVar("Value")


def always_allowed() -> None:
    """For models that are free."""


def ignore_lost(_sent_bytes: int) -> None:
    """For models that are free."""


@dataclass(slots=True, eq=False)
class _Call:
    who: str
    endpoint: Endpoint
    path: str
    body: bytes
    most_garbage: int
    lost: Callable[[int], None]
    listener: Callable[[bytes], None] | None
    began_at: float
    gives_up_at: float
    waits_since: float = 0.0
    """When it started to wait for its turn."""
    attempts: int = 0
    sent_at: float = 0.0
    garbage: int = 0
    has_begun: bool = False
    """Whether the beginning of a stream has been handed on."""
    backoffs: int = 0
    """The waits that the server did not ask for."""
    fault: ProviderFault | None = None
    """Why the last attempt failed."""

    @property
    def heard(self) -> Callable[[bytes], None] | None:
        return None if self.listener is None else self._hand_on

    def _hand_on(self, piece: bytes) -> None:
        assert self.listener is not None
        self.has_begun = True
        self.listener(piece)

    def described(self, fault: ProviderFault) -> str:
        return f"{self.who}: {head_of_reply(without(self.endpoint.secrets, fault.words))}"

    def unavailable(self, fault: ProviderFault, now: float) -> ModelUnavailable:
        tried = f" ({self.attempts} attempts in {now - self.began_at:.0f} s)" if self.attempts > 1 else ""
        return ModelUnavailable(f"{self.described(fault)}{tried}", status=fault.status)


def _written(body: Json) -> bytes:
    try:
        return to_json(body)  # several times as fast
    except ValueError:  # a lone surrogate, which must be escaped
        return json.dumps(body).encode()


class Posting:
    """One for all models of a run: endpoints with the same server and key share a pace."""

    def __init__(
        self,
        *,
        deadline_s: float = DEADLINE_S,
        ceiling: int = CEILING,
        environment: Mapping[str, str] = NOTHING,
        may_ask_again: Callable[[], None] = always_allowed,
        clock: Clock | None = None,
        rng: Random | None = None,
    ) -> None:
        """`may_ask_again` is called before every attempt except the first, which is already paid for; it may raise."""
        self._deadline_s = deadline_s
        self._ceiling = ceiling
        self._may_ask_again = may_ask_again
        self._clock = clock or Clock()
        self._rng = rng or Random()
        self._sender = Sender(environment)
        self.trouble = ""
        """Why a request is being retried; empty after a successful reply."""
        self._paces: dict[tuple[str, ...], Pace] = {}

    async def post(
        self,
        who: str,
        endpoint: Endpoint,
        path: str,
        body: Json,
        read: Callable[[Json], Value],
        *,
        lost: Callable[[int], None] = ignore_lost,
        most_garbage: int = MOST_GARBAGE,
        heard: Callable[[bytes], None] | None = None,
    ) -> Value:
        """Send a request until a reply can be read. Raises ModelUnavailable with the server's message, if there is one.

        With `heard` the reply is a stream: its pieces are handed on as they come, nothing is sent again once the first
        one has come, and `read` gets the text of all of them.

        `lost` is called with the number of bytes sent whenever no readable reply came back.

        A caller's time limit may cancel the call. The cause of the cancellation then says what the call was waiting
        for, because time lost to the server's limits and faults is not the model's.
        """
        pace = self.pace_of(endpoint)
        now = self._clock.now()
        call = _Call(who, endpoint, path, _written(body), most_garbage, lost, heard, now, now + self._deadline_s)
        try:
            return await self._until_replied(call, pace, read)
        except asyncio.CancelledError as cancelled:
            if call.attempts and call.fault is None:
                raise
            raise cancelled from call.unavailable(call.fault or pace.shut_by or NO_TURN, self._clock.now())
        finally:
            if (tries := TRIES.get()) is not None:
                tries.count += call.attempts

    async def _until_replied(self, call: _Call, pace: Pace, read: Callable[[Json], Value]) -> Value:
        def gives_up_at() -> float:
            """Waiting behind requests that get replies is not the server's fault and extends the deadline."""
            return call.gives_up_at + max(0.0, pace.succeeded_at - call.waits_since)

        while True:
            call.waits_since = self._clock.now()
            async with pace.turn(gives_up_at, again=call.attempts > 0) as sent_at:
                call.gives_up_at = gives_up_at()
                outcome = await self._attempt(call, pace, sent_at, read)
            if not isinstance(outcome, ProviderFault):
                return outcome
            await self._wait_after(outcome, call, pace)

    def pace_of(self, endpoint: Endpoint) -> Pace:
        pace = self._paces.get(endpoint.identity)
        if pace is None:
            pace = self._paces[endpoint.identity] = Pace(1 if endpoint.is_own else self._ceiling, self._clock)
        return pace

    async def close(self) -> None:
        for pace in self._paces.values():
            pace.close()
        await self._sender.close()

    async def _attempt(
        self, call: _Call, pace: Pace, sent_at: float, read: Callable[[Json], Value]
    ) -> Value | ProviderFault:
        left_s = call.gives_up_at - sent_at
        if pace.shut_by is not None:
            return pace.shut_by
        if left_s <= 0 and call.fault is not None:
            return replace(call.fault, may_pass=False)
        if left_s <= 0:
            return ProviderFault(f"no reply to any request for {self._deadline_s:.0f} s", may_pass=False)
        if call.attempts:
            self._may_ask_again()
        call.attempts += 1
        call.sent_at = sent_at
        # No attempt may use up the whole deadline, so that a connection that hangs is retried.
        limit_s = left_s if call.endpoint.is_own else min(left_s, max(self._deadline_s / 2, 1.0))
        pace.line.join(call, sent_at)
        try:
            response = await self._heard(call, pace, limit_s)
            if not isinstance(response, ProviderFault):
                return self._understood(response, call, pace, read)
        finally:
            pace.line.leave(call, pace.succeeded_at)
        if response.is_lost or response.is_garbage:
            call.lost(len(call.body))
        if call.has_begun:
            return replace(response, may_pass=False)
        # If the deadline cut the attempt short, the previous fault says more.
        is_cut_short = response.is_lost and limit_s == left_s
        return replace(call.fault, may_pass=False) if is_cut_short and call.fault else response

    def _understood(
        self, response: Response, call: _Call, pace: Pace, read: Callable[[Json], Value]
    ) -> Value | ProviderFault:
        pace.was_answered = True
        if response.status != 200:
            return self._refused(response, response.status, pace, call.sent_at)
        body: Json = response.text
        try:
            if call.heard is None:
                body = parse_strictly(response.text, longest=LARGEST_BYTES)
        except ValueError as error:
            call.lost(len(call.body))
            return ProviderFault(f"the reply is not valid: {error}", is_garbage=True)
        try:
            if (status := status_in_body(body)) is not None:
                return self._refused(response, status, pace, call.sent_at)
            value = read(body)
        except ValueError as error:
            return ProviderFault(f"the reply is not valid: {error}", is_garbage=True, may_pass=call.heard is None)
        pace.succeeded()
        self.trouble = ""
        return value

    async def _heard(self, call: _Call, pace: Pace, limit_s: float) -> Response | ProviderFault:
        """Send the request and wait for the response; time in the server's queue does not count towards the limits."""
        endpoint = call.endpoint

        def in_line_s() -> float:
            return max(0.0, pace.line.silent_since(call, pace.succeeded_at) - call.sent_at)

        loop, limit = asyncio.get_running_loop(), asyncio.timeout(None)
        timer: asyncio.TimerHandle | None = None

        def look() -> None:
            """The limit moves while the request waits in line, so the timer is set again as long as some is left."""
            nonlocal timer
            left_s = call.sent_at + in_line_s() + limit_s - self._clock.now()
            if left_s > 0:
                timer = loop.call_later(left_s, look)
            else:
                limit.reschedule(loop.time())

        try:
            async with limit:
                look()
                return await self._sender.send(
                    endpoint.url(call.path), endpoint.headers, call.body, min(limit_s, CONNECT_TIMEOUT_S), call.heard
                )
        except TimeoutError:
            return ProviderFault(f"no answer within {round(in_line_s() + limit_s, 1):g} s", is_lost=True)
        finally:
            call.gives_up_at += in_line_s()
            if timer is not None:
                timer.cancel()

    def _backoff_s(self, fault: ProviderFault, call: _Call, pace: Pace) -> float:
        """A random wait (full jitter), so that requests that failed together are not retried together."""
        # If others get replies, the server is not down but full, and the pace already handles that.
        is_only_full = fault.is_overload and pace.succeeded_at >= call.sent_at
        longest_s = LONGEST_BACKOFF_WHEN_FULL_S if is_only_full else LONGEST_BACKOFF_S
        return self._rng.uniform(0, min(longest_s, FIRST_BACKOFF_S * 2 ** min(call.backoffs, 10)))

    def _refused(self, response: Response, status: int, pace: Pace, sent_at: float) -> ProviderFault:
        fault = fault_of_status(
            status, response.headers, response.text, self._clock.wall(), is_sent_with_200=response.status == 200
        )
        if fault.is_overload:
            pace.overloaded(sent_at)
        if fault.wait_s:
            pace.shut_for(fault.wait_s + self._rng.uniform(0, fault.wait_s / 10), fault)
        return fault

    async def _wait_after(self, fault: ProviderFault, call: _Call, pace: Pace) -> None:
        """Wait until the next attempt; raise if there is none."""
        call.fault = fault
        self.trouble = call.described(fault)
        now = self._clock.now()
        gives_up_at = call.gives_up_at
        if fault.is_silence and not pace.was_answered:
            gives_up_at = min(gives_up_at, call.began_at + FIRST_CONTACT_S)
        call.garbage += fault.is_garbage
        backoff_s = self._backoff_s(fault, call, pace)
        due_at = pace.opens_at if fault.wait_s else now + backoff_s
        if not fault.may_pass or call.garbage >= call.most_garbage or due_at >= gives_up_at:
            raise call.unavailable(fault, now)
        self._may_ask_again()
        if not fault.wait_s:  # otherwise the pace makes all calls wait
            call.backoffs += 1
            await self._clock.sleep(backoff_s)


# A single HTTP POST, and its response or fault.

CONNECT_TIMEOUT_S = 30.0
LARGEST_BYTES = 64 * 1024 * 1024
JSON_TYPE: Mapping[str, str] = {"Content-Type": "application/json", "Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    text: str


class Sender:
    """One session for all requests, so that connections are kept open."""

    def __init__(self, environment: Mapping[str, str] = NOTHING) -> None:
        self._proxies = {
            name.lower().removesuffix("_proxy"): value
            for name, value in environment.items()
            if name.lower().endswith("_proxy") and value
        }
        self._session: Any = None

    async def send(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        connect_s: float,
        heard: Callable[[bytes], None] | None = None,
    ) -> Response | ProviderFault:
        """Send one request. `connect_s` limits only the connection, not the reply. `heard`: see `Posting.post`."""
        import aiohttp  # lazy: slow to import

        if self._session is None:
            # `pace.py` limits the open connections. No cookies: no request may depend on an earlier one.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
            )
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_s)
        try:
            # Redirects are not followed, because they would send the key to another address.
            async with self._session.post(
                url,
                data=body,
                headers={**JSON_TYPE, **headers},
                timeout=timeout,
                allow_redirects=False,
                proxy=self._proxy_for(url),
            ) as response:
                return await _read(response, heard)
        except aiohttp.InvalidURL as error:
            return ProviderFault(f"not a valid URL: {error}", may_pass=False)
        except aiohttp.ClientConnectorCertificateError as error:
            return ProviderFault(f"the certificate of {error.host} cannot be trusted", may_pass=False)
        except aiohttp.ClientConnectorError as error:
            return ProviderFault(
                f"no connection to {error.host}:{error.port} ({error.os_error.strerror or error.os_error})"
            )
        except aiohttp.ConnectionTimeoutError:
            return ProviderFault(f"no connection within {round(connect_s, 1):g} s")
        except (aiohttp.ClientError, OSError) as error:
            return ProviderFault(f"the connection broke: {error or type(error).__name__}", is_lost=True)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _proxy_for(self, url: str) -> str | None:
        if not self._proxies:
            return None
        parts = urlsplit(url)
        proxy = self._proxies.get(parts.scheme) or self._proxies.get("all")
        if proxy is None or is_loopback(url) or _is_among(parts.hostname or "", self._proxies.get("no", "")):
            return None
        return proxy


def _is_among(host: str, listed: str) -> bool:
    """Whether `NO_PROXY` covers a host: by name, by its domain, or by `*`."""
    names = {name.strip().lower().lstrip(".") for name in listed.split(",")} - {""}
    return "*" in names or any(host == name or host.endswith(f".{name}") for name in names)


async def _read(response: Any, heard: Callable[[bytes], None] | None) -> Response | ProviderFault:
    body = bytearray()
    is_stream = heard is not None and response.status == 200
    chunks = response.content.iter_any() if is_stream else response.content.iter_chunked(65536)
    async for chunk in chunks:
        body += chunk
        if heard is not None and is_stream:
            heard(chunk)
        if len(body) > LARGEST_BYTES:
            return ProviderFault(f"the reply is larger than {LARGEST_BYTES // 1024**2} MB", is_garbage=True)
    try:
        return Response(response.status, response.headers, body.decode())
    except UnicodeDecodeError:
        if response.status == 200:
            return ProviderFault("the reply is not UTF-8 text", is_garbage=True)
        return Response(response.status, response.headers, body.decode(errors="replace"))
