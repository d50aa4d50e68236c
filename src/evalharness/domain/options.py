"""Options of a grader or a target, with the short form in which a bare value sets the main option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from evalharness.domain.record import Record


class Options(Record):
    """`{contains: Ada}` means `{contains: {value: Ada}}` where `main = "value"`.

    `main_may_be_mapping` is for parts whose main option is itself a mapping (a JSON value, a schema): a mapping that
    does not name options is then the value.
    """

    main: ClassVar[str] = "value"
    main_may_be_mapping: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        if isinstance(written, cls):
            return written
        if isinstance(written, Mapping):
            known = cls.known_keys()
            if not cls.main_may_be_mapping or (cls.main in written and written.keys() <= known):
                return written
        elif written is None and not cls.main:
            return {}
        return {cls.main: written} if cls.main else written

    @classmethod
    def known_keys(cls) -> set[str]:
        """Every key a file may hold, other spellings included."""
        names = set(cls.model_fields)
        for field in cls.model_fields.values():
            choices = getattr(field.validation_alias, "choices", ())
            names.update(choice for choice in choices if isinstance(choice, str))
        return names
