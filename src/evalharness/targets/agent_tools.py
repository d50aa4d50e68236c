"""Which tools an agent has: the harness's own by name, users' functions by reference; and one call of one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalharness.domain.case import as_text
from evalharness.domain.chat import Tool, ToolRequest
from evalharness.domain.plain_numbers import count
from evalharness.domain.record import Json
from evalharness.domain.transcript import ToolCall
from evalharness.errors import UnknownName, UsageError
from evalharness.references import import_reference, split_reference
from evalharness.targets.answers import why_not_json
from evalharness.targets.shell_tool import run_shell
from evalharness.targets.tool_functions import ToolFunction, parsed_arguments
from evalharness.targets.workspace_tools import ToolContext, edit_file, list_files, read_file, search, write_file

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
            raise UsageError(f"two tools are called {name}", hint="models know them by their names alone")
        if not name.isascii():
            raise UsageError(f"the tool {name} has a name that models cannot call", hint="use letters of ASCII")
        named[name] = entry
    return named


class AgentTools:
    """The tools of one agent, ready to be called."""

    def __init__(self, named: Mapping[str, str], root: Path) -> None:
        """`named` as `named_tools` gives it. Imports the references; raises UsageError where one cannot be a tool."""
        self._named = named
        self._functions = {name: ToolFunction.of(_function(name, entry, root), name) for name, entry in named.items()}

    @property
    def described(self) -> tuple[Tool, ...]:
        return tuple(each.tool for each in self._functions.values())

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
        if problem := why_not_json(returned):
            return ToolCall(name=request.name, arguments=arguments, error=f"the tool returned {problem}")
        is_bounded = is_built_in and not isinstance(returned, str)
        result = returned if is_bounded else bounded(returned, context.longest_result)
        return ToolCall(name=request.name, arguments=arguments, result=result)


def bounded(result: Json, longest: int) -> Json:
    text = as_text(result)
    return result if len(text) <= longest and not isinstance(result, str) else cut(text, longest)


def cut(text: str, longest: int) -> str:
    """What cannot be written down as UTF-8 (names of files may hold it) is replaced."""
    kept = text[:longest].encode(errors="replace").decode()
    return kept if len(text) <= longest else f"{kept}…\n[cut here: {count(len(text) - longest, 'more character')}]"


def _function(name: str, entry: str, root: Path) -> Callable[..., Any]:
    function = BUILT_IN[name] if entry == name else import_reference(entry, root)
    if not callable(function):
        raise UsageError(f"the tool {entry} is not a function")
    found: Callable[..., Any] = function
    return found


def _recorded(arguments: str) -> Json:
    try:
        return parsed_arguments(arguments)
    except ValueError:
        return arguments
