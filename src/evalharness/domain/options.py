"""Options of a part (a grader, a target, …), with the short form in which a bare value sets the main option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec


def _is_no_truth(written: Any) -> Any:
    if isinstance(written, bool):
        raise ValueError("must be a valid number")
    return written


# Texts that are numbers are taken, because the values of variables are texts.
Number = Annotated[float, BeforeValidator(_is_no_truth), Field(allow_inf_nan=False)]
Whole = Annotated[int, BeforeValidator(_is_no_truth)]
Share = Annotated[Number, Field(ge=0, le=1)]


class Options(Record):
    """`{contains: Ada}` means `{contains: {value: Ada}}` where `main = "value"`.

    `main_may_be_mapping` is for parts whose main option is itself a mapping (a JSON value, a schema): a mapping is then
    the value, unless it holds the main option's own key, or nothing but names of other options.
    """

    main: ClassVar[str] = "value"
    main_may_be_mapping: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        if isinstance(written, cls):
            return written
        if isinstance(written, Mapping):
            if cls.are_named(written):
                return written
        elif written is None and not cls.main:
            return {}
        return {cls.main: written} if cls.main else written

    @property
    def needs_reference(self) -> bool:
        """Whether the case must have a `reference`, because these options say nothing else to compare with."""
        return False

    @property
    def needs_expected(self) -> bool:
        """Whether the case must have an `expected`, because people must be shown what is asked for."""
        return False

    @property
    def parts(self) -> tuple[GraderSpec, ...]:
        """Of a grader made of graders: those."""
        return ()

    @property
    def named_judges(self) -> tuple[str, ...]:
        """Of a grader that asks models: those that these options name, as `provider/model`."""
        return ()

    @property
    def own_functions(self) -> tuple[str, ...]:
        """Of a grader that calls functions of its user beside its work: their references, such as `file.py:attr`."""
        return ()

    @classmethod
    def are_named(cls, written: Mapping[str, Any]) -> bool:
        """Whether a mapping holds options by their names, and is not itself the main one."""
        if not cls.main_may_be_mapping or cls._main_keys() & written.keys():
            return True
        return bool(written) and written.keys() <= cls.known_keys()

    @classmethod
    def known_keys(cls) -> set[str]:
        """Every key a file may hold, other spellings included."""
        return {key for name in cls.model_fields for key in cls._spellings(name)}

    @classmethod
    def _main_keys(cls) -> set[str]:
        return next((keys for name in cls.model_fields if cls.main in (keys := cls._spellings(name))), set())

    @classmethod
    def _spellings(cls, name: str) -> set[str]:
        alias = cls.model_fields[name].validation_alias
        choices = getattr(alias, "choices", (alias,))
        return {name, *(choice for choice in choices if isinstance(choice, str))}


class NoOptions(Options):
    """For a part that has none."""

    main: ClassVar[str] = ""
