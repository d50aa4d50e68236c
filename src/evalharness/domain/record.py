"""The shape all nouns share: frozen, no unknown keys, the same in file, memory, store and report."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from types import MappingProxyType, NoneType
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from evalharness.domain.invalid_values import explain
from evalharness.errors import InvalidValue

_new, _set = object.__new__, object.__setattr__
# Half the time of `object.__setattr__`, which a frozen record would need.
_set_values, _set_names, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__
    for name in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


class PlainModel(BaseModel):
    """Python code that makes one from wrong values gets an error in plain words."""

    def __init__(self, /, *unnamed: Any, **values: Any) -> None:
        """Raises InvalidValue; `model_validate`, which parsers use, raises pydantic's own error."""
        if unnamed:
            kind, fields = type(self).__name__, type(self).model_fields
            first = next((name for name, each in fields.items() if each.is_required()), next(iter(fields), ""))
            raise InvalidValue(f"{kind}: name what you give it: {kind}({first}=…)")
        try:
            self.__pydantic_validator__.validate_python(values, self_instance=self)
        except ValidationError as error:
            raise InvalidValue(f"{type(self).__name__}: {explain(error)}") from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # else `model_validate` would call it, too


class Record(PlainModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, arbitrary_types_allowed=True)

    @classmethod
    def unchecked(cls, values: dict[str, Any], said: frozenset[str] | None = None) -> Self:
        """From a value for every field, unchecked; far quicker than `model_construct`, and there may be many.

        The mapping itself becomes the record's, so nobody else may keep it. `said`: the fields that are not left to
        their defaults; without it, all of them.
        """
        made = _new(cls)
        _set_values(made, values)
        _set_names(made, _names(cls) if said is None else _shared(said))
        _set_extra(made, None)
        _set_private(made, None)
        return made

    def compact(self) -> Self:
        """The same record in a third of the memory, for the many that live long.

        All of a type share their names, and the mapping where they have none. Targets and graders get copies.
        """
        made = _new(type(self))
        for name, value in vars(self).items():
            _set(made, name, _NOTHING if type(value) is dict and not value else value)
        _set_names(made, _shared(frozenset(self.__pydantic_fields_set__)))
        _set_extra(made, None)
        _set_private(made, None)
        return made

    def copied(self) -> Self:
        """With values of its own, as far as they can be changed; people's functions are shared, too."""
        values = {
            name: value if type(value) in ATOMS or name == "function" else copied(value)
            for name, value in vars(self).items()
        }
        made = self.unchecked(values)
        _set_names(made, self.__pydantic_fields_set__.copy())
        return made


_NOTHING: dict[str, Any] = {}


@cache
def _shared(names: frozenset[str]) -> set[str]:
    """One set for all records of which the same was said. Copies copy it."""
    return set(names)


@cache
def _names(record: type[Record]) -> set[str]:
    """One set for all records of a type: sets of names would take more memory than the values. Copies copy it."""
    return set(record.model_fields)


ATOMS = frozenset((str, int, float, bool, NoneType))
"""The exact types of values that nobody can change: they are shared, never copied."""


def copied(value: Any) -> Any:
    """A copy that shares nothing with the original that can be changed. Texts and numbers are themselves."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is dict:
        return {key: item if type(item) in ATOMS else copied(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return kind([item if type(item) in ATOMS else copied(item) for item in value]) if value else kind()
    if Record in kind.__mro__:  # `isinstance` takes longer than the copy
        return value.copied()
    if kind is MappingProxyType:
        return MappingProxyType(copied(dict(value)))
    return deepcopy(value)
