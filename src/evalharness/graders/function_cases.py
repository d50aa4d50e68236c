"""The test cases of `function_output`: calls, what they must return, and how the two are compared."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import regex
from pydantic import AliasChoices, Field, field_validator, model_validator

from evalharness.domain.options import Options
from evalharness.domain.record import Json, Record
from evalharness.errors import UsageError, closest
from evalharness.references import split_reference

COMPARATORS = ("equals", "approx", "set", "regex")
RELATIVE = 1e-6
ABSOLUTE = 1e-12
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class FunctionCase(Record):
    """One call and what it must return. `input` and `output` are other spellings of `args` and `expected`."""

    args: tuple[Json, ...] = Field(default=(), validation_alias=AliasChoices("args", "input"))
    kwargs: dict[str, Json] = Field(default_factory=dict)
    expected: Json = Field(validation_alias=AliasChoices("expected", "output"))
    comparator: str = "equals"
    absolute: Tolerance | None = Field(default=None, validation_alias=AliasChoices("absolute", "tolerance"))
    relative: Tolerance | None = None

    @field_validator("args", mode="before")
    @classmethod
    def _one_argument(cls, written: Any) -> Any:
        return written if isinstance(written, list | tuple) else (written,)

    @field_validator("kwargs", mode="before")
    @classmethod
    def _none_is_empty(cls, written: Any) -> Any:
        return {} if written is None else written

    @field_validator("comparator")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name in COMPARATORS:
            return name
        if ":" not in name:
            meant = closest(name, COMPARATORS)
            guess = f"did you mean '{meant}'? " if meant else ""
            raise ValueError(f"unknown comparator '{name}'; {guess}known: {', '.join(COMPARATORS)}, file.py:function")
        try:
            split_reference(name)
        except UsageError as error:
            raise ValueError(f"{error.message}; {error.hint}") from None
        return name

    @model_validator(mode="after")
    def _comparable(self) -> FunctionCase:
        if self.comparator == "set" and not isinstance(self.expected, list | tuple):
            raise ValueError("the comparator 'set' expects a list")
        if self.comparator != "approx" and (self.absolute is not None or self.relative is not None):
            raise ValueError("a tolerance is for the comparator 'approx'")
        if self.comparator == "regex":
            try:
                regex.compile(self.expected)
            except (regex.error, TypeError, RecursionError, OverflowError) as error:
                raise ValueError(f"the comparator 'regex' expects a regular expression: {error}") from None
        return self

    @property
    def tolerances(self) -> dict[str, float]:
        """Where one is given, the other is none."""
        if self.absolute is None and self.relative is None:
            return {"absolute": ABSOLUTE, "relative": RELATIVE}
        return {"absolute": self.absolute or 0.0, "relative": self.relative or 0.0}


class FunctionOutputOptions(Options):
    main: ClassVar[str] = "test_cases"

    test_cases: Annotated[tuple[FunctionCase, ...], Field(min_length=1)]
    function_name: str
    executor: Literal["python", "node", "bash"] = "python"
    timeout_per_case: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 5.0
    sandbox: bool = True

    @field_validator("function_name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not name.isidentifier():
            raise ValueError("must be the name of a function")
        return name

    @model_validator(mode="after")
    def _shell_has_no_keywords(self) -> FunctionOutputOptions:
        if self.executor == "bash" and any(case.kwargs for case in self.test_cases):
            raise ValueError("a shell function takes words, no kwargs")
        return self
