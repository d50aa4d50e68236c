"""Records made fit for the store: without secrets, without half characters, and with huge texts cut.

Names that the harness itself gave (fields, states, kinds) and its own numbers are never touched, even where they look
like a secret: a record stays readable whatever the secrets are. Only the exceptional record comes here; that nearly
all are fit as they are is found out by `encoding.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from pydantic_core import to_json

from evalharness.domain.case import as_text
from evalharness.domain.finding import Finding
from evalharness.domain.gate import METRIC
from evalharness.domain.record import Record
from evalharness.domain.transcript import Transcript
from evalharness.redaction import Redactor
from evalharness.values.json_value import DEEPEST, LARGEST_INTEGER_BITS, Json

LONGEST_SECRET = 65_536
"""No encoded form of a secret is taken to be longer: what a cut could leave of one is cut off as well."""

SAID = frozenset(("output", "messages", "tool_calls", "events", "stdout"))
"""Fields of a transcript that repeat the same texts in different forms."""

Cleaned = TypeVar("Cleaned")
AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(slots=True)
class Cleaner:
    redactor: Redactor
    longest_text: float = math.inf
    cuts: int = 0
    lost_bytes: int = 0

    def clean(self, value: Cleaned) -> Cleaned:
        """A text, a record, or a tuple of them."""
        return cast(Cleaned, self._own(value))

    def _record(self, record: AnyRecord) -> AnyRecord:
        if isinstance(record, Finding):
            return record.model_copy(update={"params": self._params(record.params)})
        changes: dict[str, Any] = {}
        cuts_before, lost = self.cuts, dict[str, int]()
        for name, field in type(record).model_fields.items():
            if field.exclude or name == "kind" or _is_one_of_ours(field.annotation):
                continue
            value, lost_before = getattr(record, name), self.lost_bytes
            changes[name] = self._json(value, field.annotation) if _holds_json(field.annotation) else self._own(value)
            lost[name] = self.lost_bytes - lost_before
        if isinstance(record, Transcript) and self.cuts > cuts_before:
            changes["truncated"] = True
            changes["lost_bytes"] = record.lost_bytes + _lost_once(lost)
        return record.model_copy(update=changes)

    def _params(self, value: Any) -> Any:
        """Of a finding: its keys and numbers are the harness's own."""
        if isinstance(value, Mapping):
            return {key: self._params(each) for key, each in value.items()}
        return [self._params(each) for each in value] if isinstance(value, list) else self._own(value)

    def _text(self, text: str) -> str:
        whole = _whole_characters(text)
        return self._cut(whole) if len(whole) > self.longest_text else self.redactor.redact(whole)

    def _own(self, value: Any) -> Any:
        """A field whose shape the harness knows: texts are cleaned, numbers stay."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Record):
            return self._record(value)
        if isinstance(value, tuple):
            return tuple(self._own(item) for item in value)
        if isinstance(value, Mapping):
            return dict(zip(self._keys(value, ours=True), map(self._own, value.values()), strict=True))
        return value

    def _json(self, value: Json, annotation: Any) -> Json:
        """A field that has what somebody else made up. What cannot be kept without its secrets is not kept."""
        if annotation is Any and (text := self._too_long(value)):
            return self._text(text)
        plain = self._plain(value, 0)
        if not isinstance(plain, list | tuple | dict):
            return plain
        written = to_json(plain).decode()
        if self.redactor.redact(written) == written:
            return plain
        return "[redacted]" if annotation is Any else type(plain)()

    def _too_long(self, value: Json) -> str:
        """The text of data of which only head and tail are kept; empty where it can be kept as data."""
        if self.longest_text == math.inf or isinstance(value, str):
            return ""
        try:
            text = as_text(value)
        except (TypeError, ValueError, RecursionError):
            return ""
        return text if len(text) > self.longest_text else ""

    def _plain(self, value: Any, depth: int) -> Json:
        if isinstance(value, str):
            return self._text(value)
        if depth > DEEPEST:
            return "[… nested too deeply to be kept …]"
        if isinstance(value, Mapping):
            items = [self._plain(item, depth + 1) for item in value.values()]
            return dict(zip(self._keys(value), items, strict=True))
        if isinstance(value, list | tuple):
            return type(value)([self._plain(item, depth + 1) for item in value])
        if isinstance(value, int) and value.bit_length() > LARGEST_INTEGER_BITS:
            return self._text(hex(value))
        if value is None or isinstance(value, int | float):
            return self.redactor.redact_value(value)
        return self._text(repr(value))

    def _keys(self, keys: Iterable[Any], *, ours: bool = False) -> list[str]:
        """Two keys that read the same once they are clean are still two."""
        clean: dict[str, None] = {}
        for key in keys:
            text = str(key) if ours and (METRIC.fullmatch(key) or key == "critical") else self._text(str(key))
            while text in clean:
                text += "'"
            clean[text] = None
        return list(clean)

    def _cut(self, text: str) -> str:
        """Head and tail. Secrets are taken out of a little more than is kept, so that no half of one is left."""
        self.cuts += 1
        half = int(self.longest_text) // 2
        self.lost_bytes += len(text[half:-half].encode())
        head = self.redactor.redact(text[: half + LONGEST_SECRET])[:-LONGEST_SECRET]
        tail = self.redactor.redact(text[-half - LONGEST_SECRET :])[LONGEST_SECRET:]
        return f"{head}\n[… {len(text) - 2 * half} characters cut …]\n{tail}"


def _lost_once(lost: Mapping[str, int]) -> int:
    """Bytes missing from a transcript, from those cut in each field: a text in several fields counts once."""
    said = max(lost.get(name, 0) for name in SAID)
    return said + sum(count for name, count in lost.items() if name not in SAID)


def clean_text(text: str, redactor: Redactor) -> str:
    """A name as it is stored, and looked up."""
    return redactor.redact(_whole_characters(text))


def _whole_characters(text: str) -> str:
    return text.encode(errors="replace").decode()


def _is_one_of_ours(annotation: Any) -> bool:
    """One word of a fixed list, several, or none: they stay, even where a secret happens to read the same."""
    if get_origin(annotation) is Literal:
        return True
    parts = [part for part in get_args(annotation) if part not in (NoneType, ...)]
    return bool(parts) and all(map(_is_one_of_ours, parts))


def _holds_json(annotation: Any) -> bool:
    return annotation is Any or any(map(_holds_json, get_args(annotation)))
