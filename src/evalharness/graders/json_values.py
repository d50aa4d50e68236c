"""Graders for answers that are JSON: equal to a value, or valid under a JSON Schema."""

from __future__ import annotations

import json
import math
import re
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar

import jsonschema_rs
from pydantic import AliasChoices, Field, field_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.errors import Unscored
from evalharness.values.json_schema import circular_reference
from evalharness.values.json_value import Json
from evalharness.values.text import head, shown, tail

SHOWN_PROBLEMS = 5
LONGEST_COMPARED = 10_000
_FENCED = re.compile(r"\s*```[ \t]*(?:json)?[ \t]*\r?\n(.*)```\s*", re.DOTALL | re.IGNORECASE)


def parsed(output: Json) -> Json:
    """The answer as a JSON value; a text is parsed, a fence around all of it left out.

    Raises ValueError, saying why, when it is not JSON.
    """
    try:
        if isinstance(output, str):
            text = fenced[1] if (fenced := _FENCED.fullmatch(output)) else output
            return json.loads(text, parse_constant=_not_json, parse_float=_finite, object_pairs_hook=_with_unique_keys)
        json.dumps(output, allow_nan=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except TypeError as error:
        raise ValueError(str(error)) from None
    return output


def _not_json(number: str) -> Any:
    raise ValueError(f"{number} is not JSON")


def _finite(text: str) -> float:
    return number if math.isfinite(number := float(text)) else _not_json(text)


def _with_unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Readers differ in which of two equal keys they believe, so such an answer says nothing for certain."""
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {shown(key)} appears twice")
        found[key] = value
    return found


def not_json(output: Json, problem: ValueError) -> Grade:
    answer = f": {shown(output)}" if isinstance(output, str) else ""
    return Grade.of(False, reason=f"not JSON ({problem}){answer}")


class JsonEqualsOptions(Options):
    main_may_be_mapping: ClassVar[bool] = True

    value: Json


class JsonEquals(Grader):
    """The answer is this JSON value: keys in any order, 1 equals 1.0, true never equals 1."""

    Options: ClassVar[type[Options]] = JsonEqualsOptions
    only_reads: ClassVar[bool] = True
    options: JsonEqualsOptions

    async def grade(self, context: GradeContext) -> Grade:
        try:
            actual = parsed(context.output)
        except ValueError as problem:
            return not_json(context.output, problem)
        difference = first_difference(self.options.value, actual, "$")
        if difference is None:
            return Grade.of(True)
        return Grade.of(False, reason=difference, evidence=compared_values(self.options.value, actual) or None)

    def example(self) -> Example:
        """A text is taken for JSON text, so a JSON string must be written as one; None would ask for nothing."""
        value = self.options.value
        return Example(whole=json.dumps(value) if value is None or isinstance(value, str) else value)


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
        if (reference := circular_reference(schema)) is not None:
            raise ValueError(f"is circular: the reference '{reference}' leads back to itself")
        return schema


class JsonSchema(Grader):
    """The answer is JSON that is valid under this schema."""

    Options: ClassVar[type[Options]] = JsonSchemaOptions
    only_reads: ClassVar[bool] = True
    options: JsonSchemaOptions

    @cached_property
    def _validator(self) -> Any:
        return jsonschema_rs.validator_for(self.options.schema_, retriever=_refuse_remote)

    async def grade(self, context: GradeContext) -> Grade:
        try:
            actual = parsed(context.output)
        except ValueError as problem:
            return not_json(context.output, problem)
        try:
            errors = list(islice(self._validator.iter_errors(actual), SHOWN_PROBLEMS))
        except ValueError as error:
            raise Unscored(f"the schema cannot be applied to this answer: {error}") from None
        problems = [f"{_place(error)}: {_brief(error.message)}" for error in errors]
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
        return None if same else f"{path} is {named(actual)}, expected {named(expected)}"
    return next((found for place, one, other in pairs if (found := first_difference(one, other, place))), None)


def compared_values(expected: Json, actual: Json) -> dict[str, Json]:
    """The evidence of a comparison that failed; of a large value the answer has it, and the reason the difference."""
    sizes = [len(as_text(value)) for value in (expected, actual)]
    return {"expected": expected, "actual": actual} if max(sizes) <= LONGEST_COMPARED else {}


def named(value: Json) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    return shown(value) if isinstance(value, str) else head(as_text(value), 80)


def _brief(message: str) -> str:
    """The validator quotes the answer, however long it is."""
    return message if len(message) <= 300 else f"{head(message, 150)} {tail(message, 150).removeprefix('…')}"


def _place(error: Any) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path)


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"references to other documents are not fetched: {uri}")
