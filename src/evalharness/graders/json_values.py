"""Graders for answers that are JSON: equal to a value, or valid under a JSON Schema."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, ClassVar

import jsonschema_rs
from pydantic import AliasChoices, Field, field_validator

from evalharness.contracts import GradeContext
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.record import Json
from evalharness.graders.part import CodeGrader, shown


def parsed(output: Json) -> Json:
    """The answer as a JSON value; a text is parsed. Raises ValueError when it is not JSON."""
    if not isinstance(output, str):
        return output

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(output, parse_constant=refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


class JsonEqualsOptions(Options):
    main_may_be_mapping: ClassVar[bool] = True

    value: Json


class JsonEquals(CodeGrader):
    """The answer is this JSON value: keys in any order, 1 equals 1.0, true never equals 1."""

    Options: ClassVar[type[Options]] = JsonEqualsOptions
    options: JsonEqualsOptions

    async def grade(self, context: GradeContext) -> Grade:
        try:
            actual = parsed(context.output)
        except ValueError as error:
            return Grade.of(False, reason=f"not JSON ({error}): {shown(context.text)}")
        difference = first_difference(self.options.value, actual, "$")
        if difference is None:
            return Grade.of(True)
        return Grade.of(False, reason=difference, evidence={"expected": self.options.value})

    def example(self) -> Example:
        return Example(whole=self.options.value)


class JsonSchemaOptions(Options):
    main: ClassVar[str] = "schema"
    main_may_be_mapping: ClassVar[bool] = True

    schema_: dict[str, Json] | bool = Field(
        validation_alias=AliasChoices("schema", "value"), serialization_alias="schema"
    )

    @field_validator("schema_")
    @classmethod
    def _is_schema(cls, schema: Any) -> Any:
        try:
            jsonschema_rs.validator_for(schema, retriever=_refuse_remote)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise ValueError(f"is not a JSON Schema: {str(error).splitlines()[0]}") from None
        return schema


class JsonSchema(CodeGrader):
    """The answer is JSON that is valid under this schema."""

    Options: ClassVar[type[Options]] = JsonSchemaOptions
    options: JsonSchemaOptions

    @cached_property
    def _validator(self) -> Any:
        return jsonschema_rs.validator_for(self.options.schema_, retriever=_refuse_remote)

    async def grade(self, context: GradeContext) -> Grade:
        try:
            actual = parsed(context.output)
        except ValueError as error:
            return Grade.of(False, reason=f"not JSON ({error}): {shown(context.text)}")
        problems = [f"{_place(error)}: {error.message}" for error in self._validator.iter_errors(actual)][:5]
        return Grade.of(not problems, reason="; ".join(problems), evidence={"problems": problems} if problems else None)


def first_difference(expected: Json, actual: Json, path: str) -> str | None:
    """Where two JSON values part, in words; None when they are equal."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected:
            if key not in actual:
                return f"{path}.{key} is missing"
        for key in actual:
            if key not in expected:
                return f"{path}.{key} is not expected"
        pairs = [(f"{path}.{key}", expected[key], actual[key]) for key in expected]
    elif isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        if len(expected) != len(actual):
            return f"{path} has {len(actual)} elements, expected {len(expected)}"
        pairs = [(f"{path}[{i}]", one, other) for i, (one, other) in enumerate(zip(expected, actual, strict=True))]
    else:
        same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
        return None if same else f"{path} is {shown(as_text(actual))}, expected {shown(as_text(expected))}"
    return next((found for place, one, other in pairs if (found := first_difference(one, other, place))), None)


def _place(error: Any) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"references to other documents are not fetched: {uri}")
