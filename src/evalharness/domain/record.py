"""The shape all nouns share: frozen, no unknown keys, the same in file, memory, store and report."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

Json = Any
"""Any value JSON can hold. An alias for readers; checked where values enter (`domain.digest.canonical_json`)."""


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, arbitrary_types_allowed=True)
