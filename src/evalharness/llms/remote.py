"""A language model behind a server. Fields that the server turns out not to support are left out.

Subclasses define how a request and a reply are written, one wire format each.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Container, Mapping
from functools import partial
from typing import ClassVar

from evalharness.contracts.model import ChatReply, ChatRequest, Llm
from evalharness.domain.finding import Finding, finding
from evalharness.errors import ModelUnavailable
from evalharness.llms.access import Access
from evalharness.values.json_value import Json

LONGEST_COUNT = 15


def object_at(holder: Json, key: str) -> dict[str, Json]:
    value = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(value, dict):
        raise ValueError(f"'{key}' is not an object")
    return value


def objects_at(holder: Json, key: str) -> list[dict[str, Json]]:
    value = holder.get(key) if isinstance(holder, dict) else None
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError(f"'{key}' is not a list of objects")
    return value


def text_at(holder: dict[str, Json], key: str) -> str:
    value = holder.get(key)
    if not isinstance(value, str):
        raise ValueError(f"'{key}' is not text")
    return value


def optional_text_at(holder: dict[str, Json], key: str) -> str:
    """The text; "" if absent or null."""
    return "" if holder.get(key) is None else text_at(holder, key)


def count_at(holder: dict[str, Json], key: str) -> int:
    """The count; 0 if absent or null. A negative number, a fraction or another type is an error."""
    value = holder.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"'{key}' is not a count")
    return value


def readable_count_at(holder: Json, key: str) -> int | None:
    """The count, also from a float or a text; None if it cannot be read."""
    value = holder.get(key) if isinstance(holder, dict) else None
    if isinstance(value, str) and value.isdecimal() and len(value) <= LONGEST_COUNT:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**LONGEST_COUNT:
        return None
    return int(value) if value == value // 1 else None


LEFT_OUT = ("temperature", "seed")
"""If refused, these have no effect on the reply. The other fields are expressed in another way."""


class RemoteLlm(Llm):
    path: ClassVar[str]
    words_for: ClassVar[Mapping[str, str]]
    """Fields that can be left out or expressed differently → the pattern by which a server's message names them."""

    def __init__(self, model: str, access: Access) -> None:
        self.name = access.name_of(model)
        self.revision = access.endpoint.base_url
        self.model = model
        self.access = access
        self.refused: set[str] = set()
        """Fields that this server refused before."""

    @property
    def takes_no_temperature(self) -> bool:
        return "temperature" in self.refused

    @abstractmethod
    def body(self, request: ChatRequest) -> dict[str, Json]:
        """The request, without refused fields."""

    @abstractmethod
    def read(self, sent: Mapping[str, Json], body: Json) -> ChatReply:
        """The reply to what was sent; raises ValueError if `body` is not a reply."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        access = self.access
        while True:
            body = self.body(request)
            try:
                read = partial(self.read, body)
                return await access.posting.post(self.name, access.endpoint, self.path, body, read, lost=access.lost)
            except ModelUnavailable as error:
                refused = refused_field(error, body, self.words_for)
                if refused is None:
                    raise
            self.refused.add(refused)
            if refused in LEFT_OUT:
                access.note(field_left_out(self.name, refused))


# Fields that a server does not support: detected once, and left out from then on.
#
# Servers with the same API support different fields: a reasoning model has no temperature, an old server no schema.
# A refusal counts only if it names the field and says that it is not supported. A value out of range is an error that
# the user must fix.

REFUSALS = (400, 422)
NOT_SUPPORTED = re.compile(
    r"unsupported|(n't|not|no|nor|never)( \w+)? support|unknown|unrecogni[sz]ed|unexpected|\bextra|not permitted"
    r"|forbidden|not allowed|deprecated|not available|unavailable|invalid schema|invalid parameter|only the default",
    re.IGNORECASE,
)
NUMBERS = ("temperature", "max_tokens", "seed")
OUT_OF_RANGE = re.compile(
    r"\btoo (high|large|big|great|low|small|long|many|much)\b|\bat (most|least)\b|\bup to\b|\bbetween\b|\brange\b"
    r"|\b(maximum|minimum|exceed\w*|above|below|(more|less|greater|smaller|larger|higher|lower) than)\b|\bfrom \d"
    r"|[<>≤≥]=? ?\d",
    re.IGNORECASE,
)


def refused_field(error: ModelUnavailable, sent: Container[str], words_for: Mapping[str, str]) -> str | None:
    """The field of the request that the server refuses, or None. `words_for`: field → pattern that names it."""
    said = error.message
    if error.status not in REFUSALS or not NOT_SUPPORTED.search(said):
        return None
    for field, words in words_for.items():
        is_too_much = field in NUMBERS and OUT_OF_RANGE.search(said)
        if field in sent and not is_too_much and re.search(words, said, re.IGNORECASE):
            return field
    return None


def field_left_out(model: str, field: str) -> Finding:
    """A note for the report: the model did not receive a field that was set."""
    return finding("model.field_left_out", "warning", model=model, field=field)


def with_schema(schema: Mapping[str, object], text: str) -> str:
    """For servers that do not enforce a schema: append it to the text, because models follow the end of a text best."""
    asked = "Reply with one JSON object that is valid under this JSON Schema, and nothing else:"
    return f"{text}\n\n{asked}\n{json.dumps(schema, ensure_ascii=False)}"
