"""Logs of a gateway: requests with their replies, put together to the conversations that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalharness.domain.exchange import Exchange
from evalharness.domain.transcript import Transcript
from evalharness.exchanges.files import read_case_file
from evalharness.exchanges.gateway.conversations import Conversations
from evalharness.exchanges.gateway.wires import ENDPOINTS, Form, assembled

REPLIES = ("response", "reply")


def is_logged_call(row: Mapping[str, Any]) -> bool:
    """`{request, response}`, the bodies as JSON; `path` says which API it was, where the bodies do not."""
    return isinstance(row.get("request"), dict) and any(isinstance(row.get(key), dict | str) for key in REPLIES)


def conversations_in(rows: Iterable[Mapping[str, Any]]) -> Iterator[Transcript]:
    """In the order in which they began. A reply that is a text is a stream, as it came."""
    heard = Conversations()
    for row in rows:
        request = row["request"]
        written = next(row[key] for key in REPLIES if isinstance(row.get(key), dict | str))
        form = _form(str(row.get("path") or row.get("endpoint") or ""), request, written)
        heard.hear(form, request, assembled(form, written) if isinstance(written, str) else written)
    yield from heard.transcripts()


def recorded_conversations(path: Path, index: int) -> tuple[str, list[Transcript]]:
    """The case of a file that `export --recordings` wrote, and what its trial said through the gateway."""
    case_id, trials = read_case_file(path)
    return case_id, list(conversations_in(_rows(trials.get(index, ()))))


def _rows(exchanges: Sequence[Exchange]) -> Iterator[dict[str, Any]]:
    for exchange in exchanges:
        request, reply = exchange.request, exchange.reply
        if exchange.kind == "gateway" and isinstance(request, dict) and isinstance(reply, dict):
            pieces: Any = reply.get("stream")
            response = reply.get("json") if pieces is None else "".join(text for _, text in pieces)
            yield {"path": request["endpoint"], "request": request, "response": response}


def _form(path: str, request: Mapping[str, Any], reply: Any) -> Form:
    place = path.partition("?")[0].rstrip("/")
    for endpoint in ENDPOINTS.values():
        if place.endswith(endpoint.path.removeprefix("v1/")):
            return endpoint.form
    is_anthropic = reply.get("type") == "message" if isinstance(reply, dict) else "content_block" in reply
    if is_anthropic:
        return "messages"
    return "chat" if "messages" in request else "responses" if "input" in request else "completions"
