"""http: an HTTP endpoint is the target: a templated request, and the place of the answer in the response."""

from __future__ import annotations

import codecs
import json
import os
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote, urlencode, urljoin, urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator

from evalharness.contracts.servers import Server
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.documents.http_messages import AnswerPart, ApiCall
from evalharness.domain.case import as_text, is_typed_input
from evalharness.domain.invalid_values import explain
from evalharness.domain.options import Options, Whole
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import TargetFailed, TargetUnavailable
from evalharness.targets.answers import (
    EventsOption,
    ResultForm,
    fail_after_error,
    look_up,
    read_events,
    read_result,
    recognised_form,
    refuse_both_forms,
    why_not_json,
)
from evalharness.targets.command_words import Command, digests_of_files, not_blank, words_of
from evalharness.targets.started_server import StartedServer
from evalharness.targets.templates import extra_task_fields, fill_template, fill_value, with_gateway
from evalharness.values.digest import digest
from evalharness.values.json_value import Json
from evalharness.values.text import head

PROXY_VARIABLES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
OVERLOADED = frozenset((408, 425, 429, 502, 503, 504, 529))
NOT_THE_TARGETS_FAULT = OVERLOADED | {401, 403, 407}
FIRST_STATUS = 100
REDIRECTS = frozenset((301, 302, 303, 307, 308))
REDIRECTS_THAT_KEEP_THE_BODY = frozenset((307, 308))
MAX_REDIRECTS = 5
NO_CHARSETS = frozenset(
    ("idna", "mbcs", "oem", "palmos", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
)
"""Codecs of Python from bytes to text that no reply can mean."""
CONNECT_TIMEOUT_S = 30.0


class HttpOptions(Options):
    """Without `body`, POST sends {"input": the question}. A case of input type `api_call` brings its own request, and
    `url` is what its path follows. `answer` is a path such as choices.0.message.content. `start` is a command that
    serves `url`: it is started in the suite's folder before the first question, and ended after the last one."""

    main: ClassVar[str] = "url"

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    body: Json = None
    answer: str = ""
    result: ResultForm | None = None
    events: EventsOption = None
    max_output_bytes: Annotated[Whole, Field(ge=1024)] = 16_777_216
    start: Command | None = None
    start_timeout_seconds: Annotated[float, Field(gt=0)] = 60.0

    @field_validator("start")
    @classmethod
    def _not_empty(cls, start: Command | None) -> Command | None:
        return None if start is None else not_blank(start)

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if not url.startswith(("http://", "https://", "{{")):
            raise ValueError("must start with http:// or https://")
        return url

    @model_validator(mode="after")
    def _one_form(self) -> HttpOptions:
        refuse_both_forms(self)
        if self.start is not None and "{" in urlsplit(self.url).netloc.replace("{{", ""):
            raise ValueError("`start` needs a fixed address: write the host and port in `url`")
        return self


class HttpTarget(Target):
    Options: ClassVar[type[Options]] = HttpOptions
    may_use_gateway = True
    options: HttpOptions

    def __init__(self, options: HttpOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._session: Any = None
        self._server: Server | None = None

    def digest(self) -> str:
        """Without a server of its own as it was before there were any; with one, its files count."""
        options, spec = self.options, self.spec
        asked = options.model_dump(mode="json", exclude={"start", "start_timeout_seconds"})
        asking = digest([spec.kind, asked, spec.tools, spec.variant])
        if options.start is None:
            return asking
        return digest([asking, options.start, digests_of_files(words_of(options.start), self.services.root)])

    def unpinned(self) -> tuple[str, ...]:
        place = urlsplit(self.options.url).netloc.rpartition("@")[2]  # without a login
        return () if self.options.start is not None else (f"server {place}",)

    async def open(self) -> None:
        if self.options.start is not None:
            self._server = await self.services.servers.join(self._server_key, self._own_server(self.options.start))
        import aiohttp  # slow to import: only those who send something pay for it

        # The trial has its own time limit, and the harness its own bound on concurrency.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=timeout,
            trust_env=names_proxy(self.services.environment),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        server, self._server = self._server, None
        try:
            if self._session is not None:
                await self._session.close()
        finally:
            if server is not None:
                await self.services.servers.leave(self._server_key)

    @property
    def _server_key(self) -> str:
        return digest([self.options.start, urlsplit(self.options.url).netloc, str(self.services.root)])

    def _own_server(self, start: Command) -> StartedServer:
        services, options = self.services, self.options
        return StartedServer(start, options.url, services.root, services.environment, options.start_timeout_seconds)

    async def answer(self, task: Task) -> Transcript:
        import aiohttp

        request = self._request(task)
        try:
            return await self._ask(request)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise TargetUnavailable(f"'{request.url}' is not a valid URL: {error}") from error
        except aiohttp.ClientError as error:
            ended = await self._server.why_ended() if self._server is not None else ""
            why = ended or _no_connection(error) or f"{request.method} {request.url}: {error or type(error).__name__}"
            raise TargetUnavailable(why) from error

    def _request(self, task: Task) -> HttpRequest:
        options = self.options
        headers, body = with_gateway(options.headers, task), with_gateway(options.body, task)
        asked = templated_request(options.method, options.url, headers, body, task)
        call = api_call_of(task)
        return asked if call is None else case_request(call, asked.url, asked.headers)

    async def _ask(self, asked: HttpRequest) -> Transcript:
        """One request, and those that redirects ask for; none of them leaves the host that the suite named."""
        url = asked.url
        for _ in range(MAX_REDIRECTS + 1):
            sent = self._session.request(asked.method, url, headers=asked.headers, allow_redirects=False, **asked.body)
            async with sent as response:
                location = response.headers.get("Location")
                if asked.wants_response or response.status not in REDIRECTS or not location:
                    return self._transcript(asked, response, await self._read(response))
                url = self._followed(asked.method, url, location, response.status)
        raise TargetFailed(f"more than {MAX_REDIRECTS} redirects, the last to {url}")

    def _followed(self, method: str, url: str, location: str, status: int) -> str:
        """Where a redirect leads: headers and body may hold secrets, which another host or port must not see."""
        try:
            there = urljoin(url, location)
            is_same_server = _is_same_server(url, there)
        except ValueError as error:
            raise TargetFailed(f"HTTP {status}: it redirects to {location}, not a valid URL: {error}") from None
        if method not in ("GET", "HEAD") and status not in REDIRECTS_THAT_KEEP_THE_BODY:
            raise TargetFailed(f"HTTP {status}: it redirects to {there}, and {method} is not repeated there")
        if not is_same_server:
            raise TargetFailed(f"HTTP {status}: it redirects to another host or port: {there}")
        return there

    async def _read(self, response: Any) -> str:
        limit = self.options.max_output_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_chunked(65536):
            size += len(chunk)
            if size > limit:
                raise TargetFailed(f"output limit: the response is larger than {limit} bytes (max_output_bytes)")
            chunks.append(chunk)
        return _decoded(b"".join(chunks), response.charset)

    def _transcript(self, asked: HttpRequest, response: Any, text: str) -> Transcript:
        status, content_type = response.status, response.content_type
        if status < FIRST_STATUS:
            raise TargetUnavailable(f"HTTP {status:03}: this is not an HTTP status")
        evidence = Transcript(output=text, events=({"type": "http", "status": status},))
        if asked.wants_response and status not in OVERLOADED:
            headers = {name.lower(): value for name, value in response.headers.items()}
            output = {"status": status, "headers": headers, "body": _body_value(content_type, text)}
            return evidence.model_copy(update={"output": output})
        if status in NOT_THE_TARGETS_FAULT:
            raise TargetUnavailable(f"HTTP {status}: {head(text, 300)}")
        if status >= 300:
            raise TargetFailed(f"HTTP {status}: {head(text, 300)}", evidence=evidence)
        if self.options.answer:
            return self._at_path(text, evidence)
        if self.options.events:
            return _read_events(text, self.options.events, evidence)
        form = self.options.result or _form_of(content_type, text)
        return read_result(text, form, evidence)

    def _at_path(self, text: str, evidence: Transcript) -> Transcript:
        parsed = read_result(text, "json", evidence)
        try:
            value = look_up(parsed.output, self.options.answer)
        except LookupError as error:
            raise TargetFailed(f"the response has no answer: {error.args[0]}", evidence=evidence) from None
        if self.options.events:
            return _read_events(as_text(value), self.options.events, evidence)
        form = self.options.result or recognised_form(as_text(value))
        if form is None:
            return evidence.model_copy(update={"output": value})
        return read_result(as_text(value), form, evidence)


def _read_events(text: str, parser: str, evidence: Transcript) -> Transcript:
    transcript = read_events(text, parser, evidence)
    fail_after_error(transcript)
    return transcript


def _is_same_server(url: str, there: str) -> bool:
    """Also where it goes on with TLS: at the same port, or from the usual port of http to that of https."""
    before, after = urlsplit(url), urlsplit(there)
    if (before.scheme, before.netloc) == (after.scheme, after.netloc):
        return True
    is_upgrade = (before.scheme, after.scheme) == ("http", "https") and before.hostname == after.hostname
    ports = before.port or 80, after.port or 443
    return is_upgrade and (ports == (80, 443) or ports[0] == ports[1])


def _decoded(body: bytes, charset: str | None) -> str:
    """Raises TargetUnavailable for a codec of Python that is not an HTTP charset: `idna`, `hex`, `unicode_escape`."""
    try:
        name = codecs.lookup(charset or "utf-8").name
    except (LookupError, ValueError):  # a charset that nobody knows, or that is no name at all
        name = "utf-8"
    try:
        if name not in NO_CHARSETS:
            return body.decode(name, errors="replace")
    except (LookupError, UnicodeError):  # from bytes to bytes, from text to text, or without `replace`
        pass
    raise TargetUnavailable(f"the reply cannot be read: '{charset}' is not an HTTP charset")


def _form_of(content_type: str, text: str) -> ResultForm:
    """Where no option says it: an artifact is one, whatever the server calls it. JSON with an `output` is a whole
    answer, other JSON is the output, anything else is text."""
    if form := recognised_form(text):
        return form
    if not content_type.endswith("json"):
        return "text"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "text"
    return "answer" if isinstance(value, dict) and "output" in value else "json"


def _body_value(content_type: str, text: str) -> Json:
    """What a response says: JSON as the value it is, anything else as text, nothing as null."""
    if not text:
        return None
    try:
        value = json.loads(text) if content_type.endswith("json") else text
    except (ValueError, RecursionError):
        return text
    return text if why_not_json(value) else value


def names_proxy(environment: dict[str, str]) -> bool:
    """Looking for a proxy costs two thread hops a request: only those who have one pay for it."""
    return any(environment.get(name) for name in PROXY_VARIABLES)


# One HTTP request: as the target's options describe it, or as a case of input type `api_call` asks for it.


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    url: str
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)
    """As the client takes it: `json` or `data`, or neither."""
    answer: AnswerPart = "body"

    @property
    def wants_response(self) -> bool:
        """Whether status and headers belong to the answer: then an error status is an answer like any other."""
        return self.answer == "response"


def case_request(call: ApiCall, base_url: str, headers: dict[str, str]) -> HttpRequest:
    """The path follows the base URL's own; the case's headers go before the target's."""
    url = f"{base_url.rstrip('/')}/{call.path.lstrip('/')}" if call.path else base_url
    if call.query:
        items = {name: value if isinstance(value, list) else as_text(value) for name, value in call.query.items()}
        url += f"{'&' if '?' in url else '?'}{urlencode(items, doseq=True)}"
    return HttpRequest(call.method, url, {**headers, **call.headers}, _sent(call.body), call.answer)


def api_call_of(task: Task) -> ApiCall | None:
    """The request that a case asks for; None for a case that asks something else."""
    written = task.case.input
    if not isinstance(written, dict) or not is_typed_input(written) or written["type"] != "api_call":
        return None
    try:
        return ApiCall.model_validate(written["content"])
    except ValidationError as error:
        raise TargetFailed(f"the input of case {task.case.id} is not a request: {explain(error, 'content')}") from None


def templated_request(method: str, url: str, headers: dict[str, str], body: Json, task: Task) -> HttpRequest:
    """Without `body`, the question is sent as {"input": …}, with whatever else the case or its variant says."""
    filled = fill_template(url, task, quote=lambda text: quote(text, safe=""))
    named = {name: fill_template(value, task) for name, value in headers.items()}
    if body is not None:
        return HttpRequest(method, filled, named, _sent(fill_value(body, task)))
    if method == "GET":
        return HttpRequest(method, filled, named)
    return HttpRequest(method, filled, named, {"json": {"input": task.case.content, **extra_task_fields(task)}})


def _no_connection(error: Exception) -> str:
    """Why nobody answers at an address; empty for other errors."""
    import aiohttp

    if not isinstance(error, aiohttp.ClientConnectorError) or isinstance(error, aiohttp.ClientSSLError):
        return ""
    cause = error.os_error
    code = cause.errno or 0  # below 0 for names that are not found
    why = os.strerror(code) if code > 0 else cause.strerror or str(cause)
    return f"cannot connect to {error.host}:{error.port}: {why[:1].lower()}{why[1:]}; is the service running?"


def _sent(body: Json) -> dict[str, Any]:
    if body is None:
        return {}
    return {"data": body} if isinstance(body, str) else {"json": body}
