"""What every judge may be told: which models to ask, and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from evalharness.domain.chat import Temperature
from evalharness.domain.options import Options, Whole

ModelName = Annotated[str, Field(min_length=1)]


def not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def not_empty(written: Any) -> Any:
    """Who writes an empty list meant something by it: what is not wanted is left out."""
    if isinstance(written, list | tuple | Mapping) and not written:
        raise ValueError("must not be empty")
    return written


class JudgeOptions(Options):
    """`panel` is several models that vote, in place of the one `model`."""

    model: ModelName | None = None
    panel: tuple[ModelName, ...] = ()
    temperature: Temperature = 0.0
    max_tokens: Annotated[Whole, Field(ge=1)] = 1000
    cache: bool = True

    @field_validator("panel", mode="before")
    @classmethod
    def _one_is_a_panel(cls, written: Any) -> Any:
        return (written,) if isinstance(written, str) else not_empty(written)

    @model_validator(mode="after")
    def _one_or_the_other(self) -> JudgeOptions:
        if self.model and self.panel:
            raise ValueError("give one model or a panel, not both")
        return self

    @property
    def named_judges(self) -> tuple[str, ...]:
        return self.panel or ((self.model,) if self.model else ())
