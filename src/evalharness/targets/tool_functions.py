"""Python functions as tools of a model: the schema from the signature, the description from the docstring.

The harness's own tools and those of users are made in the same way. A parameter called `context` is not the model's to
fill in.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model

from evalharness.contracts.services import Threads
from evalharness.domain.chat import Tool
from evalharness.domain.record import Json
from evalharness.domain.strict_json import parse_strictly
from evalharness.errors import SpendCapReached, TargetUnavailable, TrialFault, UsageError
from evalharness.references import call_function

CONTEXT = "context"
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class ToolFunction:
    tool: Tool
    function: Callable[..., Any]
    wants_context: bool
    arguments: type[BaseModel]

    @classmethod
    def of(cls, function: Callable[..., Any], name: str) -> ToolFunction:
        """Raises UsageError for a function that no model could call."""
        try:
            parameters = inspect.signature(function).parameters.values()
            hints = typing.get_type_hints(function, include_extras=True)
        except (TypeError, ValueError, NameError) as error:
            raise UsageError(f"the tool {name} cannot be described: {error}") from None
        strange = next((each for each in parameters if each.kind not in BY_NAME), None)
        if strange is not None:
            raise UsageError(f"the tool {name} takes {strange}, which cannot be given by name")
        told = [each for each in parameters if each.name != CONTEXT]
        try:
            arguments = _model(told, hints)
            schema = arguments.model_json_schema()
        except PydanticUserError as error:
            raise UsageError(
                f"the tool {name} has parameters that JSON cannot give: {error.message.splitlines()[0]}",
                hint="annotate them with types that JSON has: str, int, float, bool, list, dict, a pydantic model",
            ) from None
        for titled in (schema, *schema.get("properties", {}).values()):
            titled.pop("title", None)  # says the name again, and is paid for in every request
        tool = Tool(name=name, description=inspect.getdoc(function) or "", parameters=schema)
        return cls(tool, function, len(told) < len(parameters), arguments)

    def checked(self, written: str) -> dict[str, Any]:
        """The arguments as the function takes them; raises ValueError, in words for the model."""
        value = parsed_arguments(written)
        try:
            given = self.arguments.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, each['loc'])) or 'they'}: {each['msg']}" for each in error.errors()[:5]]
            raise ValueError(f"the arguments are not of the schema: {'; '.join(problems)}") from None
        fields = self.arguments.model_fields
        return {str(fields[place].alias): getattr(given, place) for place in given.model_fields_set}

    async def call(self, in_thread: Threads, arguments: dict[str, Any], context: Any) -> Any:
        """What the function returned, or the exception that it raised: what a tool raises is for the model to read."""
        given = {**arguments, CONTEXT: context} if self.wants_context else arguments
        # gather, because it is what tells a tool's own exceptions from the end of the trial
        results: Sequence[Any] = await asyncio.gather(self._called(in_thread, given), return_exceptions=True)
        returned = results[0]
        if isinstance(returned, TargetUnavailable | SpendCapReached | TrialFault):
            raise returned
        return returned

    async def _called(self, in_thread: Threads, given: dict[str, Any]) -> Any:
        try:
            return await call_function(in_thread, self.function, **given)
        except SystemExit as error:  # as an exception of a task it would end the whole run
            raise ValueError(f"it called sys.exit({error.code!r})") from None


def parsed_arguments(written: str) -> dict[str, Json]:
    """Raises ValueError where they are no JSON object. Some models write nothing for a tool without parameters."""
    try:
        value = parse_strictly(written) if written.strip() else {}
    except ValueError as error:
        raise ValueError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("the arguments are JSON, but no object")
    return value


def _model(parameters: Iterable[inspect.Parameter], hints: Mapping[str, Any]) -> type[BaseModel]:
    """By aliases, because a field cannot have every name that a parameter can have. Defaults stay the function's."""
    fields: dict[str, Any] = {}
    for number, each in enumerate(parameters):
        is_required = each.default is inspect.Parameter.empty
        field = Field(alias=each.name) if is_required else Field(alias=each.name, default_factory=lambda: None)
        fields[f"argument_{number}"] = (hints.get(each.name, Any), field)
    return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
