"""Which tools an agent has: the harness's own by name, users' functions by reference; and one call of one of them."""

from __future__ import annotations

import asyncio
import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model

from evalharness.contracts.model import Tool, ToolRequest
from evalharness.contracts.services import Services, Threads
from evalharness.domain.case import as_text
from evalharness.domain.invalid_values import explain
from evalharness.domain.plain_numbers import count
from evalharness.domain.transcript import ToolCall
from evalharness.errors import SpendCapReached, TargetUnavailable, TrialFault, UnknownName, UsageError
from evalharness.references import call_function, import_reference, split_reference
from evalharness.targets.workspace_tools import (
    ToolContext,
    edit_file,
    list_files,
    read_file,
    run_shell,
    search,
    write_file,
)
from evalharness.values.json_value import Json, parse_strictly, plain_json

BUILT_IN: Mapping[str, Callable[..., Any]] = {
    function.__name__: function for function in (read_file, write_file, edit_file, list_files, search, run_shell)
}
SHELL = run_shell.__name__


def named_tools(written: Sequence[str]) -> dict[str, str]:
    """Name → what was written: the name itself, or a reference. Raises UsageError for what cannot be a tool."""
    named: dict[str, str] = {}
    for entry in written:
        name = split_reference(entry)[1].rpartition(".")[2] if ":" in entry else entry
        if name == entry and name not in BUILT_IN:
            raise UnknownName("tool", name, BUILT_IN)
        if name in named:
            raise UsageError(f"two tools are called {name}", hint="models know them only by their names")
        if not name.isascii():
            raise UsageError(f"the tool {name} has a name that models cannot use", hint="use ASCII letters")
        named[name] = entry
    return named


class AgentTools:
    """The tools of one agent, ready to be called."""

    def __init__(self, named: Mapping[str, str], services: Services) -> None:
        """`named` as `named_tools` gives it. Imports the references; raises UsageError where one cannot be a tool."""
        self._named = named
        self._functions = {
            name: ToolFunction.of(_function(name, entry, services), name) for name, entry in named.items()
        }

    @property
    def described(self) -> tuple[Tool, ...]:
        return tuple(each.tool for each in self._functions.values())

    def is_of_user(self, name: str) -> bool:
        return self._named.get(name, name) != name

    async def call(self, request: ToolRequest, context: ToolContext) -> ToolCall:
        """The call with its result, or with what the model did wrong; what the harness is to blame for is raised."""
        arguments = _recorded(request.arguments)
        tool = self._functions.get(request.name)
        if tool is None:
            unknown = UnknownName("tool", request.name, self._functions)
            return ToolCall(name=request.name, arguments=arguments, error=f"{unknown.message} {unknown.hint}".strip())
        try:
            given = tool.checked(request.arguments)
        except ValueError as error:
            return ToolCall(name=request.name, arguments=arguments, error=str(error))
        is_built_in = request.name == self._named[request.name]
        returned = await tool.call(context.services.in_thread, given, context if is_built_in else context.task)
        if isinstance(returned, BaseException):
            why = str(returned) if is_built_in else f"{type(returned).__name__}: {returned}"
            return ToolCall(name=request.name, arguments=arguments, error=cut(why, context.longest_result))
        if returned.problem:
            return ToolCall(name=request.name, arguments=arguments, error=f"the tool returned {returned.problem}")
        is_bounded = is_built_in and not isinstance(returned.value, str)
        result = returned.value if is_bounded else bounded_result(returned.value, context.longest_result)
        return ToolCall(name=request.name, arguments=arguments, result=result)


class Returned(NamedTuple):
    """What a tool returned, as a copy that its next call cannot change; or what keeps it from being JSON, in words."""

    value: Json = None
    problem: str = ""

    @classmethod
    def of(cls, returned: Any) -> Returned:
        try:
            return cls(plain_json(returned))
        except ValueError as problem:
            return cls(problem=str(problem))


def bounded_result(result: Json, longest: int) -> Json:
    text = as_text(result)
    return result if len(text) <= longest and not isinstance(result, str) else cut(text, longest)


def cut(text: str, longest: int) -> str:
    """What cannot be written down as UTF-8 (names of files may hold it) is replaced."""
    kept = text[:longest].encode(errors="replace").decode()
    return kept if len(text) <= longest else f"{kept}…\n[cut here: {count(len(text) - longest, 'more character')}]"


def _function(name: str, entry: str, services: Services) -> Callable[..., Any]:
    function = BUILT_IN[name] if entry == name else import_reference(entry, services.root, services.modules)
    if not callable(function):
        raise UsageError(f"the tool {entry} is not a function")
    found: Callable[..., Any] = function
    return found


def _recorded(arguments: str) -> Json:
    try:
        return parsed_arguments(arguments)
    except ValueError:
        return arguments


# Python functions as tools of a model: the schema from the signature, the description from the docstring.
#
# The harness's own tools and those of users are made in the same way. A parameter called `context` is not the model's
# to fill in.

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
            raise UsageError(f"the tool {name} takes {strange}, which cannot be passed by name")
        parts = [each for each in parameters if each.name != CONTEXT]
        try:
            arguments = _model(parts, hints)
            schema = arguments.model_json_schema()
        except PydanticUserError as error:
            raise UsageError(
                f"the tool {name} has parameters that JSON cannot express: {error.message.splitlines()[0]}",
                hint="annotate them with types that JSON has: str, int, float, bool, list, dict, a pydantic model",
            ) from None
        for titled in (schema, *schema.get("properties", {}).values()):
            titled.pop("title", None)  # says the name again, and is paid for in every request
        tool = Tool(name=name, description=inspect.getdoc(function) or "", parameters=schema)
        return cls(tool, function, len(parts) < len(parameters), arguments)

    def checked(self, written: str) -> dict[str, Any]:
        """The arguments as the function takes them; raises ValueError, in words for the model."""
        value = parsed_arguments(written)
        try:
            given = self.arguments.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            raise ValueError(f"the arguments do not match the schema: {explain(error)}") from None
        fields = self.arguments.model_fields
        return {str(fields[place].alias): getattr(given, place) for place in given.model_fields_set}

    async def call(self, in_thread: Threads, arguments: dict[str, Any], context: Any) -> Returned | BaseException:
        """What the function returned, or the exception that it raised: what a tool raises is for the model to read."""
        given = {**arguments, CONTEXT: context} if self.wants_context else arguments
        # gather, because it is what tells a tool's own exceptions from the end of the trial
        results = await asyncio.gather(self._called(in_thread, given), return_exceptions=True)
        returned = results[0]
        if isinstance(returned, TargetUnavailable | SpendCapReached | TrialFault):
            raise returned
        return returned

    async def _called(self, in_thread: Threads, given: dict[str, Any]) -> Returned:
        try:
            return await call_function(in_thread, Returned.of, self.function, **given)
        except SystemExit as error:  # as an exception of a task it would end the whole run
            raise ValueError(f"it called sys.exit({error.code!r})") from None


def parsed_arguments(written: str) -> dict[str, Json]:
    """Raises ValueError where they are no JSON object. Some models write nothing for a tool without parameters."""
    try:
        value = parse_strictly(written) if written.strip() else {}
    except ValueError as error:
        raise ValueError(f"the arguments are not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("the arguments are JSON, but not an object")
    return value


def _model(parameters: Iterable[inspect.Parameter], hints: Mapping[str, Any]) -> type[BaseModel]:
    """By aliases, because a field cannot have every name that a parameter can have. Defaults stay the function's."""
    fields: dict[str, Any] = {}
    for number, each in enumerate(parameters):
        is_required = each.default is inspect.Parameter.empty
        field = Field(alias=each.name) if is_required else Field(alias=each.name, default_factory=lambda: None)
        fields[f"argument_{number}"] = (hints.get(each.name, Any), field)
    return create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
