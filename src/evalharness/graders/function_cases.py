"""The test cases of `function_output`: calls, what they must return, and how the two are compared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field, ValidationInfo, field_validator, model_validator

from evalharness.domain.options import Number, Options
from evalharness.domain.record import Record
from evalharness.errors import UsageError, closest
from evalharness.graders.sandboxed_code import LANGUAGES
from evalharness.references import split_reference
from evalharness.values.json_value import Json
from evalharness.values.pattern import compile_pattern

COMPARATORS = ("equals", "approx", "set", "regex")
RELATIVE = 1e-6
ABSOLUTE = 1e-12
OF_THE_GRADER = ("function_name", "executor", "language", "timeout_per_case", "timeout_seconds", "timeout", "sandbox")
OF_A_CASE = ("args", "kwargs", "input", "expected", "output")
TOLERANCES = ("absolute", "tolerance", "relative")
NAMES = {
    "python": re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)?"),
    "node": re.compile(r"[a-zA-Z_$][\w$]*(\.[a-zA-Z_$][\w$]*)?", re.ASCII),
    "bash": re.compile(r"[a-zA-Z_][\w:.-]*", re.ASCII),
}
"""What a function may be called; in Python and JavaScript also `Class.method`."""
Tolerance = Annotated[Number, Field(ge=0)]


def known_comparator(name: str) -> str:
    """The name, if there is such a comparator or it is a reference to somebody's own; else raises ValueError."""
    if name in COMPARATORS:
        return name
    if ":" not in name:
        meant = closest(name, COMPARATORS)
        guess = f"did you mean '{meant}'? " if meant else ""
        raise ValueError(f"unknown comparator '{name}'; {guess}known: {', '.join(COMPARATORS)}, file.py:function")
    try:
        split_reference(name)
    except UsageError as error:
        raise ValueError(f"{error.message}; {error.plain_hint}") from None
    return name


class FunctionCase(Record):
    """One call and what it must return. `input` and `output` are other spellings of `args` and `expected`."""

    args: tuple[Json, ...] = Field(default=(), validation_alias=AliasChoices("args", "input"))
    kwargs: dict[str, Json] = Field(default_factory=dict)
    expected: Json = Field(validation_alias=AliasChoices("expected", "output"))
    comparator: str = "equals"
    absolute: Tolerance | None = Field(default=None, validation_alias=AliasChoices("absolute", "tolerance"))
    relative: Tolerance | None = None

    @model_validator(mode="before")
    @classmethod
    def _not_of_the_grader(cls, written: Any) -> Any:
        stray = [key for key in OF_THE_GRADER if isinstance(written, Mapping) and key in written]
        if stray:
            key = "timeout_per_case" if stray[0].startswith("timeout") else stray[0]
            raise ValueError(f"put {key} next to test_cases, not inside a test case: it applies to all of them")
        return written

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
        return known_comparator(name)

    @model_validator(mode="after")
    def _comparable(self) -> FunctionCase:
        if self.comparator == "set" and not isinstance(self.expected, list | tuple):
            raise ValueError("the comparator 'set' expects a list")
        if self.comparator != "approx" and (self.absolute is not None or self.relative is not None):
            raise ValueError("tolerance has no effect without the comparator 'approx'")
        if self.comparator == "regex":
            try:
                compile_pattern(self.expected)
            except (TypeError, ValueError) as error:
                raise ValueError(f"the comparator 'regex' expects a regular expression: {error}") from None
        return self

    @property
    def tolerances(self) -> dict[str, float]:
        """Where one is given, the other is none."""
        if self.absolute is None and self.relative is None:
            return {"absolute": ABSOLUTE, "relative": RELATIVE}
        return {"absolute": self.absolute or 0.0, "relative": self.relative or 0.0}


class FunctionOutputOptions(Options):
    """`comparator` and the tolerances are for test cases that say nothing of it themselves."""

    main: ClassVar[str] = "test_cases"

    test_cases: tuple[FunctionCase, ...] = Field(json_schema_extra={"minItems": 1})
    executor: Literal["python", "node", "bash"] = Field(
        default="python", validation_alias=AliasChoices("executor", "language")
    )
    function_name: str
    comparator: str = "equals"
    absolute: Tolerance | None = Field(default=None, validation_alias=AliasChoices("absolute", "tolerance"))
    relative: Tolerance | None = None
    timeout_per_case: Annotated[Number, Field(gt=0)] = 5.0
    sandbox: bool = True

    @property
    def own_functions(self) -> tuple[str, ...]:
        return tuple(sorted({case.comparator for case in self.test_cases} - set(COMPARATORS)))

    @model_validator(mode="before")
    @classmethod
    def _for_all_cases(cls, written: Any) -> Any:
        if not isinstance(written, Mapping):
            return written
        if stray := [key for key in OF_A_CASE if key in written]:
            raise ValueError(f"{stray[0]} belongs to a test case: test_cases: [{{args: […], expected: …}}]")
        cases = written.get("test_cases")
        if not isinstance(cases, list | tuple):
            return written
        return {**written, "test_cases": [_with_defaults(case, written) for case in cases]}

    @field_validator("test_cases")
    @classmethod
    def _some(cls, cases: tuple[FunctionCase, ...]) -> tuple[FunctionCase, ...]:
        if not cases:
            raise ValueError("must not be empty")
        return cases

    @field_validator("executor", mode="before")
    @classmethod
    def _by_its_language(cls, written: Any) -> Any:
        found = (name for name, spellings in LANGUAGES.items() if str(written).lower() in spellings)
        return next(found, written)

    @field_validator("comparator")
    @classmethod
    def _is_known(cls, name: str) -> str:
        return known_comparator(name)

    @field_validator("function_name")
    @classmethod
    def _is_name(cls, name: str, others: ValidationInfo) -> str:
        executor = others.data.get("executor", "python")
        if not NAMES[executor].fullmatch(name):
            method = "" if executor == "bash" else ", or Class.method"
            raise ValueError(f"must be the name of a function{method}")
        return name

    @model_validator(mode="after")
    def _shell_has_no_keywords(self) -> FunctionOutputOptions:
        if self.executor == "bash" and any(case.kwargs for case in self.test_cases):
            raise ValueError("a shell function takes words, not kwargs")
        return self

    @model_validator(mode="after")
    def _tolerances_are_used(self) -> FunctionOutputOptions:
        is_given = self.absolute is not None or self.relative is not None
        if is_given and not any(case.comparator == "approx" for case in self.test_cases):
            raise ValueError("tolerance has no effect unless a test case has the comparator 'approx'")
        return self


def _with_defaults(case: Any, grader: Mapping[str, Any]) -> Any:
    """What is wrong with a default is reported where it stands, and not again for each case."""
    if not isinstance(case, Mapping):
        return case
    found = {**case}
    default = grader.get("comparator")
    if "comparator" not in case and isinstance(default, str) and (default in COMPARATORS or ":" in default):
        found["comparator"] = default
    if found.get("comparator") == "approx" and case.keys().isdisjoint(TOLERANCES):
        found |= {key: grader[key] for key in TOLERANCES if isinstance(grader.get(key), int | float)}
    return found
