"""Finding: something the harness concluded, as a code and parameters. The words for it are in `reports/words.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import (
    BeforeValidator,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from evalharness.domain.finding_codes import Code, HintCode
from evalharness.domain.record import Record
from evalharness.errors import Hint
from evalharness.values.json_value import Json

Severity: TypeAlias = Literal["info", "warning", "error"]
CODES: frozenset[str] = frozenset((*get_args(Code), *get_args(HintCode)))
TEXT_WRITER = "text_of"
"""The key of a serialization context whose value words a finding: what is written then has its text, too."""


class Finding(Record):
    """`params` contains JSON values, and other findings where a sentence quotes them. Its keys are our own."""

    code: Code | HintCode
    params: dict[str, Json] = Field(default_factory=dict)
    severity: Severity = "info"

    def __hash__(self) -> int:
        """Findings that are equal have the same code; there are never many of one."""
        return hash(self.code)

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, written: Any) -> Any:
        """A sentence of an older version, or a finding with the text that was written beside it for readers.

        A code that only a newer version knows is read as its text.
        """
        if isinstance(written, str):
            return {"code": "text", "params": {"text": written}}
        if not isinstance(written, Mapping) or "text" not in written:
            return written
        kept = {key: value for key, value in written.items() if key != "text"}
        if written.get("code") in CODES:
            return kept
        return kept | {"code": "text", "params": {"text": written["text"]}}

    @field_validator("params", mode="before")
    @classmethod
    def _plain(cls, params: Any) -> Any:
        """The same whether it was just made or read back: lists, and findings where there were some."""
        return {key: _plain(value) for key, value in params.items()} if isinstance(params, Mapping) else params

    @model_serializer(mode="wrap")
    def _with_text(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        if isinstance(info.context, Mapping) and TEXT_WRITER in info.context:
            written["text"] = info.context[TEXT_WRITER](self)
        return written


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Finding.model_validate(value) if "code" in value else {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _unless_empty(written: Any) -> Any:
    """Where an older version had nothing to say, it wrote an empty sentence."""
    return None if written == "" else written


MaybeFinding: TypeAlias = Annotated[Finding | None, BeforeValidator(_unless_empty)]


def finding(code: Code, severity: Severity = "info", /, **params: Json) -> Finding:
    return Finding(code=code, params=params, severity=severity)


def as_finding(hint: Hint | str) -> Finding:
    """What an exception suggests, where a finding quotes it."""
    if isinstance(hint, str):
        return finding("text", text=hint)
    return Finding.model_validate({"code": hint.code, "params": hint.params})


def joined(findings: list[Finding], severity: Severity = "info") -> Finding:
    """Several as one."""
    return findings[0] if len(findings) == 1 else finding("joined", severity, findings=findings)
