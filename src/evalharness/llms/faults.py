"""What can go wrong with one request: a message, whether a retry may help, and when.

Messages quote the server, but never the key that it was sent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from evalharness.redaction import SHORTEST_SECRET, Redactor
from evalharness.values.json_value import Json
from evalharness.values.text import head

TOO_MUCH = frozenset((429, 503, 529))
PASSING = TOO_MUCH | {408, 425, 500, 502, 504}
NO_MONEY_LEFT = "insufficient_quota"
STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    NO_MONEY_LEFT: 429,
    "api_error": 500,
    "server_error": 500,
    "overloaded_error": 529,
}
"""Error names, for errors without a number."""
LONGEST_WAIT_S = 600.0
LONGEST_DATE = 40
SHOWN = 300
WRAPPINGS = ("error", "message", "detail")


@dataclass(frozen=True, slots=True)
class ProviderFault:
    words: str
    status: int | None = None
    """None if no answer came, or one without a status."""
    may_pass: bool = True
    wait_s: float = 0.0
    """How long the server asks all clients to wait; 0 if it does not say."""
    is_garbage: bool = False
    """A reply came, and may have been paid for, but it could not be understood."""
    is_lost: bool = False
    """The request was sent, so it may have been paid for, but no complete reply came."""

    @property
    def is_overload(self) -> bool:
        return self.status in TOO_MUCH

    @property
    def is_silence(self) -> bool:
        return self.status is None and not self.is_garbage


def fault_of_status(
    status: int, headers: Mapping[str, str], text: str, wall_s: float, *, is_sent_with_200: bool = False
) -> ProviderFault:
    body = _parsed(text)
    words = " ".join(_words_of(_error_of(body) or body, text).split())
    may_pass = status in PASSING and NO_MONEY_LEFT not in _codes_of(body)
    if 300 <= status < 400:
        words = "the server redirects to another address, where the key is not sent: set the right base URL"
    which = f"error {status}, sent with HTTP 200" if is_sent_with_200 else f"HTTP {status}"
    wait_s = retry_after_s(headers, wall_s) if may_pass else 0.0
    # Before the message, because its end may be cut off.
    reported = headers["Retry-After"].strip() if wait_s else ""
    reported = (
        reported if len(reported) <= LONGEST_DATE else f"{wait_s:.0f} s"
    )  # a secret that is cut off would not be redacted
    which += f" (Retry-After: {reported})" if reported else ""
    return ProviderFault(f"{which}: {words}" if words else which, status, may_pass, wait_s)


def status_in_body(body: Json) -> int | None:
    """The intended status if the server sends its error with HTTP 200; None if the body has none."""
    error = _error_of(body)
    if not isinstance(error, dict):
        return None
    written = (str(error.get(key)) for key in ("code", "status", "status_code"))
    numbers = [int(each) for each in written if re.fullmatch("[45][0-9][0-9]", each)]
    return next(iter(numbers), None) or next((STATUSES[code] for code in _codes_of(body) if code in STATUSES), None)


def retry_after_s(headers: Mapping[str, str], wall_s: float) -> float:
    """The wait in `Retry-After`, in seconds or as a date, at most ten minutes; 0 if missing, invalid or past."""
    written = headers.get("Retry-After", "").strip()
    try:
        wait_s = float(written)
    except ValueError:
        # Use the server's own clock if it sends one, because ours may be minutes off.
        then, now = _date_s(written), _date_s(headers.get("Date", ""))
        wait_s = then - (wall_s if math.isnan(now) else now)
    return min(wait_s, LONGEST_WAIT_S) if wait_s > 0 and math.isfinite(wait_s) else 0.0


def without(secrets: Iterable[str], text: str) -> str:
    """Remove secrets from a text. Servers that refuse a key often quote it, plain or encoded (base64, escaped)."""
    parts = {part for secret in secrets for part in (secret, secret.rpartition(" ")[2]) if len(part) >= SHORTEST_SECRET}
    for part in parts:
        text = text.replace(part, "[key]")
    redactor = Redactor({f"key {number}": part for number, part in enumerate(sorted(parts), 1)})
    return re.sub(r"\[redacted:key_\d+\]", "[key]", redactor.redact(text))


def head_of_reply(text: str) -> str:
    return head(text, SHOWN)


def _date_s(written: str) -> float:
    try:
        return parsedate_to_datetime(written).timestamp()
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _parsed(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _words_of(body: Json, text: str) -> str:
    """The message inside the usual wrappers, or the text itself."""
    for key in WRAPPINGS:
        body = body[0] if isinstance(body, list) and len(body) == 1 else body
        if isinstance(body, dict) and body.get(key):
            body = body[key]
    if body is None or isinstance(body, str):
        return body or text
    return json.dumps(body, ensure_ascii=False)


def _error_of(body: Json) -> Json:
    """The error of the whole reply, or of its first choice."""
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return body.get("error") or (first.get("error") if isinstance(first, dict) else None)


def _codes_of(body: Json) -> set[str]:
    error = _error_of(body)
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    return {code for code in codes if isinstance(code, str)}
