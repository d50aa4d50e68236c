"""http: an HTTP endpoint is the target: a templated request, and the place of the answer in the response."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from evalharness.contracts import Services, Task
from evalharness.domain.case import as_text
from evalharness.domain.options import Options
from evalharness.domain.record import Json
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import TargetFailed, TargetUnavailable
from evalharness.targets.part import ResultForm, TargetPart, look_up, read_result
from evalharness.targets.templates import fill_template, fill_value

NOT_THE_TARGETS_FAULT = frozenset((401, 403, 407, 408, 425, 429, 502, 503, 504))


class HttpOptions(Options):
    """Without `body`, POST sends {"input": the question}. `answer` is a path such as choices.0.message.content."""

    main: ClassVar[str] = "url"

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    body: Json = None
    answer: str = ""
    result: ResultForm | None = None
    max_output_bytes: Annotated[int, Field(ge=1024)] = 16_777_216

    @field_validator("url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if not url.startswith(("http://", "https://", "{{")):
            raise ValueError("must start with http:// or https://")
        return url


class HttpTarget(TargetPart):
    Options: ClassVar[type[Options]] = HttpOptions
    options: HttpOptions

    def __init__(self, options: HttpOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._session: Any = None

    async def open(self) -> None:
        import aiohttp  # slow to import: only those who send something pay for it

        # The trial has its own time limit, and the harness its own bound on concurrency.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None), trust_env=True
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def answer(self, task: Task) -> Transcript:
        import aiohttp

        options = self.options
        try:
            async with self._session.request(
                options.method,
                fill_template(options.url, task),
                headers={name: fill_template(value, task) for name, value in options.headers.items()},
                allow_redirects=options.method == "GET",
                **self._body(task),
            ) as response:
                body = await self._read(response)
                return self._transcript(response.status, response.content_type, body)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise TargetUnavailable(f"'{options.url}' is not a URL that can be asked: {error}") from error
        except aiohttp.ClientError as error:
            raise TargetUnavailable(f"{options.method} {options.url}: {error or type(error).__name__}") from error

    def _body(self, task: Task) -> dict[str, Any]:
        if self.options.body is None:
            return {} if self.options.method == "GET" else {"json": {"input": task.case.content}}
        body = fill_value(self.options.body, task)
        return {"data": body} if isinstance(body, str) else {"json": body}

    async def _read(self, response: Any) -> bytes:
        limit = self.options.max_output_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_chunked(65536):
            size += len(chunk)
            if size > limit:
                raise TargetFailed(f"output limit: the response is larger than {limit} bytes (max_output_bytes)")
            chunks.append(chunk)
        return b"".join(chunks)

    def _transcript(self, status: int, content_type: str, body: bytes) -> Transcript:
        text = body.decode(errors="replace")
        evidence = Transcript(output=text, events=({"type": "http", "status": status},))
        if status in NOT_THE_TARGETS_FAULT:
            raise TargetUnavailable(f"HTTP {status}: {text[:300]}")
        if status >= 300:
            raise TargetFailed(f"HTTP {status}: {text[:300]}", evidence=evidence)
        if self.options.answer:
            return self._at_path(text, evidence)
        form = self.options.result or _form_of(content_type, text)
        return read_result(text, form, evidence)

    def _at_path(self, text: str, evidence: Transcript) -> Transcript:
        parsed = read_result(text, "json", evidence)
        try:
            value = look_up(parsed.output, self.options.answer)
        except LookupError as error:
            raise TargetFailed(f"the response has no answer: {error}", evidence=evidence) from None
        if self.options.result is None:
            return evidence.model_copy(update={"output": value})
        return read_result(as_text(value), self.options.result, evidence)


def _form_of(content_type: str, text: str) -> ResultForm:
    """Unless told: JSON with an `output` is a whole answer, other JSON is the output, anything else is text."""
    if not content_type.endswith("json"):
        return "text"
    try:
        value = json.loads(text)
    except ValueError:
        return "text"
    return "answer" if isinstance(value, dict) and "output" in value else "json"
