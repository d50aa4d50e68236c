"""The shape all nouns share: frozen, no unknown keys, the same in file, memory, store and report."""

from __future__ import annotations

from functools import cache
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

_new = object.__new__
# Half the time of `object.__setattr__`, which a frozen record would need.
_set_values, _set_names, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__
    for name in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, arbitrary_types_allowed=True)

    @classmethod
    def unchecked(cls, values: dict[str, Any]) -> Self:
        """From a value for every field, unchecked; far quicker than `model_construct`, and there may be many.

        The mapping itself becomes the record's, so nobody else may keep it.
        """
        made = _new(cls)
        _set_values(made, values)
        _set_names(made, _names(cls))
        _set_extra(made, None)
        _set_private(made, None)
        return made


@cache
def _names(record: type[Record]) -> set[str]:
    """One set for all records of a type: sets of names would take more memory than the values. Copies copy it."""
    return set(record.model_fields)
