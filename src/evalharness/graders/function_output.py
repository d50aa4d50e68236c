"""function_output: the answer is a function's source code, to be judged by what the function returns.

Code that somebody generated is run in a sandbox or not at all. There is none yet, so these grades stay due.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import regex
from pydantic import AliasChoices, Field, field_validator, model_validator

from evalharness.contracts import GradeContext
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.record import Json, Record
from evalharness.graders.part import CodeGrader

NO_SANDBOX = "generated code is graded in a sandbox, which this version does not have"


class FunctionCase(Record):
    """One call and what it must return. `input` and `output` are other spellings of `args` and `expected`."""

    args: tuple[Json, ...] = Field(default=(), validation_alias=AliasChoices("args", "input"))
    kwargs: dict[str, Json] = Field(default_factory=dict)
    expected: Json = Field(validation_alias=AliasChoices("expected", "output"))
    comparator: Literal["equals", "approx", "set", "regex"] = "equals"

    @field_validator("args", mode="before")
    @classmethod
    def _one_argument(cls, written: Any) -> Any:
        return written if isinstance(written, list | tuple) else (written,)

    @field_validator("kwargs", mode="before")
    @classmethod
    def _none_is_empty(cls, written: Any) -> Any:
        return {} if written is None else written

    @model_validator(mode="after")
    def _comparable(self) -> FunctionCase:
        if self.comparator == "set" and not isinstance(self.expected, list | tuple):
            raise ValueError("the comparator 'set' expects a list")
        if self.comparator == "regex":
            try:
                regex.compile(self.expected)
            except (regex.error, TypeError, RecursionError, OverflowError) as error:
                raise ValueError(f"the comparator 'regex' expects a regular expression: {error}") from None
        return self


class FunctionOutputOptions(Options):
    main: ClassVar[str] = "test_cases"

    test_cases: Annotated[tuple[FunctionCase, ...], Field(min_length=1)]
    function_name: str
    executor: Literal["python"] = "python"
    timeout_per_case: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 5.0
    sandbox: bool = True

    @field_validator("function_name")
    @classmethod
    def _is_name(cls, name: str) -> str:
        if not name.isidentifier():
            raise ValueError("must be the name of a function")
        return name


class FunctionOutput(CodeGrader):
    Options: ClassVar[type[Options]] = FunctionOutputOptions
    options: FunctionOutputOptions

    async def grade(self, context: GradeContext) -> Grade:  # noqa: ARG002 - nothing of an answer is touched
        return Grade(state="awaiting", reason=NO_SANDBOX)
