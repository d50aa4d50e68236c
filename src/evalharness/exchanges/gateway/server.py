"""The server of the gateway: looks up whose key it is, passes the request on, and hands the reply back as it comes."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic_core import from_json

from evalharness.contracts.exchange import Call, Tape
from evalharness.contracts.gateway import Gateway, GatewaySession
from evalharness.contracts.model import Models, Relayed, split_name
from evalharness.domain.suite import GatewayOptions
from evalharness.domain.transcript import Transcript, Usage
from evalharness.errors import CallCutOff, HarnessError, ModelUnavailable, ReplayMiss, SpendCapReached, UsageError
from evalharness.exchanges.gateway.conversations import Conversations
from evalharness.exchanges.gateway.wires import (
    ANTHROPIC,
    ENDPOINTS,
    Endpoint,
    Form,
    assembled,
    error_body,
    refused,
    usage_in,
    usage_in_stream,
)
from evalharness.values.json_value import Json, plain_json

HOST = "127.0.0.1"
LONGEST_REQUEST = 64 * 1024 * 1024
LAST_CALLS_S = 10.0
"""How long calls may take that are under way when the attempt is over."""
BYTES_OF_KEY = 24
END_OF_STREAM = None


class Passed(NamedTuple):
    """A reply on its way through: JSON, or the pieces of a stream, each with the milliseconds before it."""

    reply: Json
    pieces: tuple[tuple[float, str], ...] = ()
    usage: Usage | None = None
    cost_usd: float | None = None


def written_passed(passed: Passed) -> Json:
    usage = None if passed.usage is None else passed.usage.model_dump()
    pieces: list[Json] = [list(piece) for piece in passed.pieces]
    kept: dict[str, Json] = {"stream": pieces} if pieces else {"json": passed.reply}
    return {**kept, "usage": usage, "cost_usd": passed.cost_usd}


def read_passed(written: Any) -> Passed:
    usage = None if written.get("usage") is None else Usage.model_validate(written["usage"])
    pieces = tuple((float(ms), str(text)) for ms, text in written.get("stream", ()))
    return Passed(None if pieces else written["json"], pieces, usage, written.get("cost_usd"))


@dataclass(slots=True)
class Session(GatewaySession):
    url: str
    key: str
    tape: Tape | None
    forget: Callable[[str], object]
    conversations: Conversations = field(default_factory=Conversations)
    events: list[dict[str, Json]] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)
    capped: SpendCapReached | None = None

    async def close(self) -> None:
        self.forget(self.key)
        if self.under_way:
            await asyncio.wait(self.under_way, timeout=LAST_CALLS_S)
        for task in self.under_way:
            task.cancel()
        if self.under_way:
            await asyncio.wait(self.under_way)
        if self.capped is not None:
            raise self.capped

    def completed(self, answer: Transcript) -> Transcript:
        given = answer.model_fields_set
        heard = self.conversations
        added: dict[str, Any] = {}
        if heard.messages and "messages" not in given:
            added["messages"] = heard.messages
        if heard.tool_calls and "tool_calls" not in given:
            added["tool_calls"] = heard.tool_calls
        if self.usages and answer.usage is None:
            added["usage"] = Usage(
                input_tokens=sum(each.input_tokens for each in self.usages),
                output_tokens=sum(each.output_tokens for each in self.usages),
            )
        known = [cost for cost in self.costs if cost is not None]
        if known and len(known) == len(self.costs) and answer.cost_usd is None:
            added["cost_usd"] = sum(known)
        if self.events:
            added["events"] = (*answer.events, *self.events)
        if not added:
            return answer
        return Transcript.model_validate({**{name: getattr(answer, name) for name in given}, **added})

    def hear(self, form: Form, request: Mapping[str, Any], passed: Passed) -> None:
        text = "".join(piece for _, piece in passed.pieces)
        reply = assembled(form, text) if passed.pieces else passed.reply
        if isinstance(reply, dict):
            self.conversations.hear(form, request, reply)
        if passed.usage is not None:
            self.usages.append(passed.usage)
        self.costs.append(passed.cost_usd)


class LocalGateway(Gateway):
    """In the event loop of the trials, on loopback; it is started by the first attempt that needs it."""

    def __init__(self, options: GatewayOptions, models: Models | None, *, keeps_pace: bool = False) -> None:
        self._options = options
        self._models = models
        self._keeps_pace = keeps_pace
        self._sessions: dict[str, Session] = {}
        self._runner: Any = None
        self._url = ""
        self._starting = asyncio.Lock()

    async def begin(self, tape: Tape | None) -> GatewaySession:
        async with self._starting:
            if self._runner is None:
                await self._start()
        key = f"sk-evalharness-{secrets.token_hex(BYTES_OF_KEY)}"
        session = Session(self._url, key, tape, lambda key: self._sessions.pop(key, None))
        self._sessions[key] = session
        return session

    def unpinned(self) -> tuple[str, ...]:
        return tuple(f"model {name}" for name in self._options.models.values()) or ("models behind the gateway",)

    async def close(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _start(self) -> None:
        from aiohttp import web  # slow to import: only those who have a gateway pay for it

        application = web.Application(client_max_size=LONGEST_REQUEST)
        application.router.add_route("*", "/{path:.*}", self._serve)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, HOST, 0)
        await site.start()
        self._runner = runner
        self._url = f"http://{HOST}:{runner.addresses[0][1]}"

    async def _serve(self, request: Any) -> Any:
        from aiohttp import web

        path = request.path.rstrip("/") or "/"
        is_anthropic = path.startswith("/v1/messages") or "x-api-key" in request.headers

        def fault(status: int, message: str, kind: str) -> Any:
            return web.json_response(error_body(is_anthropic, message, kind), status=status)

        session = self._sessions.get(_key_of(request.headers))
        if session is None:
            return fault(401, "this key is not that of a trial under way", "authentication_error")
        if path == "/v1/models" and request.method == "GET":
            return web.json_response(self._listed())
        endpoint = ENDPOINTS.get(path)
        if endpoint is None or request.method != "POST":
            session.events.append({"type": "gateway_refused", "method": request.method, "path": path})
            return fault(404, f"the gateway does not pass on {request.method} {path}", "not_found_error")
        try:
            body = _storable(await request.read())
        except web.HTTPRequestEntityTooLarge:
            return fault(413, f"the request is larger than {LONGEST_REQUEST >> 20} MB", "request_too_large")
        except web.RequestPayloadError as error:
            return fault(400, f"the request cannot be read: {error}", "invalid_request_error")
        except ValueError as error:
            return fault(400, f"the request is not valid JSON: {error}", "invalid_request_error")
        model = body.get("model") if isinstance(body, dict) else None
        if not isinstance(model, str):
            return fault(400, "the request is not a JSON object with a model", "invalid_request_error")
        if why := refused(endpoint.form, body) or self._why_not(model):
            session.events.append({"type": "gateway_refused", "path": path, "model": model, "reason": why})
            return fault(400, why, "invalid_request_error")
        answering = _Answering(self, session, endpoint, body, model)
        return await answering.answer(request, fault)

    def _listed(self) -> dict[str, Json]:
        """As the SDKs of both vendors read it."""
        names = list(self._options.models)
        made: dict[str, Json] = {"created": 0, "created_at": "1970-01-01T00:00:00Z", "owned_by": "gateway"}
        about: dict[str, Json] = {"object": "model", "type": "model", **made}
        listed: list[Json] = [{"id": name, "display_name": name, **about} for name in names]
        ends: dict[str, Json] = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return {"object": "list", "data": listed, "has_more": False, **ends}

    def _why_not(self, model: str) -> str:
        allowed = self._options.models
        if not allowed or model in allowed:
            return ""
        return f"the model {model} is not allowed here; allowed: {', '.join(allowed)}"

    def upstream(self, model: str, endpoint: Endpoint) -> tuple[str, str]:
        """The name of the model at its provider, and that name with its provider."""
        named = self._options.models.get(model) or model
        found = split_name(named) if "/" in named else None
        if found is None:
            return named, f"{endpoint.provider}/{named}"
        return found.model, f"{found.provider}/{found.model}"

    @property
    def models(self) -> Models:
        if self._models is None:
            raise UsageError("the gateway needs models, but there are none here")
        return self._models

    @property
    def keeps_pace(self) -> bool:
        return self._keeps_pace


class _Answering:
    """One request on its way through."""

    def __init__(
        self, gateway: LocalGateway, session: Session, endpoint: Endpoint, body: dict[str, Any], model: str
    ) -> None:
        self._gateway = gateway
        self._session = session
        self._endpoint = endpoint
        self._body = body
        self._model = model
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self._was_sent = False

    async def answer(self, request: Any, fault: Callable[[int, str, str], Any]) -> Any:
        """The client may hang up; what it asked for is accounted for all the same."""
        passing = asyncio.create_task(self._passed())
        self._session.under_way.add(passing)
        passing.add_done_callback(self._session.under_way.discard)
        passing.add_done_callback(lambda _: self._pieces.put_nowait(END_OF_STREAM))
        if self._body.get("stream"):
            return await self._stream(request, passing, fault)
        return await self._whole(passing, fault)

    async def _whole(self, passing: asyncio.Task[Passed], fault: Callable[[int, str, str], Any]) -> Any:
        from aiohttp import web

        try:
            passed = await asyncio.shield(passing)
        except HarnessError as error:
            return self._failed(error, fault)
        except CallCutOff:
            await asyncio.Event().wait()  # as when it was recorded: there is no reply before the time is up
        return web.json_response(passed.reply)

    async def _stream(self, request: Any, passing: asyncio.Task[Passed], fault: Callable[[int, str, str], Any]) -> Any:
        from aiohttp import web

        response = None
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        while (piece := await self._pieces.get()) is not END_OF_STREAM:
            if response is None:
                response = web.StreamResponse(headers=headers)
                await response.prepare(request)
            try:
                await response.write(piece.encode())
            except ConnectionError:  # the client hung up
                return response
        error = passing.exception() if not passing.cancelled() else HarnessError("the attempt is over")
        if isinstance(error, HarnessError) and response is None:
            return self._failed(error, fault)
        if isinstance(error, CallCutOff):
            await asyncio.Event().wait()
        if response is None:
            return fault(502, str(error or "the model sent nothing"), "api_error")
        return response

    def _failed(self, error: HarnessError, fault: Callable[[int, str, str], Any]) -> Any:
        """Statuses that SDKs do not try again: the gateway has done so already."""
        if isinstance(error, SpendCapReached):
            self._session.capped = error
            return fault(403, error.message, "permission_error")
        if isinstance(error, ReplayMiss):
            return fault(400, error.message, "invalid_request_error")
        status = error.status if isinstance(error, ModelUnavailable) and error.status else 400
        kind = {401: "authentication_error", 403: "permission_error", 404: "not_found_error"}.get(status)
        usual = "api_error" if status >= 500 else "invalid_request_error"
        return fault(
            status if 400 <= status < 500 and status not in (408, 409, 429) else 400, error.message, kind or usual
        )

    async def _passed(self) -> Passed:
        session, endpoint = self._session, self._endpoint
        call = Call("gateway", self._compared, self._send, written_passed, read_passed)
        passed = await (call.send() if session.tape is None else session.tape.pass_on(call))
        if not self._was_sent:
            await self._repeat(passed)
        session.hear(endpoint.form, self._body, passed)
        return passed

    def _compared(self) -> Json:
        return {"endpoint": self._endpoint.path, **self._body}

    async def _send(self) -> Passed:
        self._was_sent = True
        model, name = self._gateway.upstream(self._model, self._endpoint)
        relay = self._gateway.models.relay(name)
        if relay.wire != self._endpoint.wire:
            theirs = "Anthropic's" if self._endpoint.wire == ANTHROPIC else "OpenAI's"
            raise UsageError(f"{name} does not understand {theirs} API, and nothing is translated")
        body = {**self._body, "model": model}
        form = self._endpoint.form
        if not body.get("stream"):
            relayed = await relay.send(self._endpoint.path, body, usage_in)
            return Passed(relayed.reply, (), relayed.usage, relayed.cost_usd)
        return await self._send_stream(relay.send, body, form)

    async def _send_stream(self, send: Any, body: dict[str, Any], form: Form) -> Passed:
        """Event by event, so that what a client gets can be repeated. Usage is asked for, and kept from clients that
        did not ask."""
        given = body.get("stream_options")
        options = given if isinstance(given, dict) else {}
        adds_usage = form in ("chat", "completions") and not options.get("include_usage")
        if adds_usage:
            body = {**body, "stream_options": {**options, "include_usage": True}}
        pieces: list[tuple[float, str]] = []
        rest = bytearray()
        last = time.perf_counter()

        def heard(chunk: bytes) -> None:
            nonlocal last
            rest.extend(chunk.replace(b"\r\n", b"\n"))
            while (end := rest.find(b"\n\n")) >= 0:
                event = rest[: end + 2].decode(errors="replace")
                del rest[: end + 2]
                if adds_usage and _is_only_usage(event):
                    continue
                now = time.perf_counter()
                pieces.append((round((now - last) * 1000, 1), event))
                last = now
                self._pieces.put_nowait(event)

        relayed: Relayed = await send(self._endpoint.path, body, lambda text: usage_in_stream(form, text), heard)
        if rest:
            heard(b"\n\n")
        return Passed(None, tuple(pieces), relayed.usage, relayed.cost_usd)

    async def _repeat(self, passed: Passed) -> None:
        for milliseconds, piece in passed.pieces:
            if self._gateway.keeps_pace:
                await asyncio.sleep(milliseconds / 1000)
            self._pieces.put_nowait(piece)


def _storable(raw: bytes) -> Json:
    """The body of a request. Raises ValueError for what is no JSON, or could not be stored."""
    return plain_json(from_json(raw, allow_inf_nan=False))


def _key_of(headers: Mapping[str, str]) -> str:
    bearer = headers.get("Authorization", "")
    return headers.get("x-api-key", "") or bearer.removeprefix("Bearer ").strip()


def _is_only_usage(event: str) -> bool:
    if '"usage"' not in event:
        return False
    data = event.partition("data:")[2].strip()
    try:
        written = json.loads(data)
    except ValueError:
        return False
    return isinstance(written, dict) and written.get("choices") == []
