"""The shape all nouns share: frozen, no unknown keys, the same in file, memory, store and report."""

from __future__ import annotations

from functools import cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

Json = Any
"""Any value JSON can hold. An alias for readers; checked where values enter (`domain.digest.canonical_json`)."""


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, arbitrary_types_allowed=True)

    @classmethod
    def holding(cls, values: dict[str, Any]) -> Self:
        """From a value for every field, unchecked; far quicker than `model_construct`, and there may be many.

        The mapping itself becomes the record's, so nobody else may keep it.
        """
        made = cls.__new__(cls)
        object.__setattr__(made, "__dict__", values)
        object.__setattr__(made, "__pydantic_fields_set__", _names(cls))
        object.__setattr__(made, "__pydantic_extra__", None)
        object.__setattr__(made, "__pydantic_private__", None)
        return made


@cache
def _names(record: type[Record]) -> set[str]:
    """One set for all records of a type: sets of names would take more memory than the values. Copies copy it."""
    return set(record.model_fields)
