"""Python functions as tools of a model."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import TargetUnavailable, TrialSkipped, UsageError
from evalharness.targets.agent_tools import Returned, ToolFunction


class Point(BaseModel):
    x: float
    y: float


def measure(start: Point, unit: Literal["m", "km"] = "m", schema: list[int] | None = None, context: Any = None) -> str:
    """Measure the way from a point.

    The unit is that of the answer.
    """
    return f"{start.x + start.y} {unit} {schema} {context}"


def describe(what: Annotated[str, Field(description="whom to describe", max_length=5)], how) -> str:  # type: ignore[no-untyped-def]
    return f"{what} {how}"


def no_words() -> None: ...


def call(function: Any, arguments: str = "{}", context: Any = None) -> Any:
    async def run() -> Any:
        offloader = Offloader(1)
        tool = ToolFunction.of(function, "tool")
        try:
            found = await tool.call(offloader, tool.checked(arguments), context)
            return found.value if isinstance(found, Returned) else found
        finally:
            offloader.close()

    return asyncio.run(run())


def test_the_model_is_told_what_signature_and_docstring_say() -> None:
    tool = ToolFunction.of(measure, "measure").tool
    assert tool.name == "measure"
    assert tool.description.startswith("Measure the way from a point.\n\nThe unit")
    parameters = tool.parameters
    assert parameters["required"] == ["start"]
    assert parameters["properties"]["unit"] == {"enum": ["m", "km"], "type": "string"}
    assert "context" not in parameters["properties"], "the model cannot fill in the context"
    described = ToolFunction.of(describe, "describe").tool.parameters["properties"]
    assert described["what"] == {"description": "whom to describe", "maxLength": 5, "type": "string"}
    assert described["how"] == {}


def test_the_function_gets_what_its_annotations_say_and_its_own_defaults() -> None:
    assert call(measure, '{"start": {"x": 1, "y": 2.5}}', context="here") == "3.5 m None here"
    assert call(measure, '{"start": {"x": 1, "y": 2}, "unit": "km", "schema": [1]}') == "3.0 km [1] None"
    assert call(no_words, "") is None
    assert call(no_words, " \n") is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"start": {"x": 1, "y": NaN}}', "NaN"),
        ('{"start": {"x": 1, "y": 2}, "start": {"x": 3, "y": 4}}', "twice"),
        ('{"start": {"x": "1", "y": 2}}', "start.x"),
        ('{"start": {"x": true, "y": 2}}', "start.x"),
        ("{}", "start: is missing"),
        ('{"start": {"x": 1, "y": 2}, "unit": "miles"}', "unit"),
        ('{"start": {"x": 1, "y": 2}, "speed": 1}', "speed"),
        ('{"start": {"x": 1, "y": 2}, "context": 1}', "context"),
        ("x" * 1_000_001, "longer than"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_wrong_with_arguments_is_said_in_words(arguments: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ToolFunction.of(measure, "measure").checked(arguments)


def test_half_of_a_character_is_not_an_argument() -> None:
    with pytest.raises(ValueError, match="do not match the schema"):
        ToolFunction.of(describe, "describe").checked('{"what": "\\ud800", "how": 1}')


def test_sync_and_async_functions_and_methods_can_be_tools() -> None:
    class Counter:
        async def add(self, number: int) -> int:
            return number + 1

    assert call(Counter().add, '{"number": 1}') == 2


def raises(error: BaseException) -> Any:
    async def tool() -> None:
        raise error

    return tool


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("x"), RecursionError(), asyncio.CancelledError()])
def test_what_a_tool_raises_is_for_the_model_to_read(error: BaseException) -> None:
    assert type(call(raises(error))) is type(error)


def test_a_tool_cannot_end_the_run() -> None:
    async def leaves() -> None:
        sys.exit(3)

    def leaves_thread() -> None:
        sys.exit(3)

    assert "sys.exit(3)" in str(call(leaves))
    assert "SystemExit(3)" in str(call(leaves_thread))


@pytest.mark.parametrize("error", [TargetUnavailable("the database is down"), TrialSkipped("not today")])
def test_what_concerns_the_trial_is_not_hidden_from_the_harness(error: Exception) -> None:
    with pytest.raises(type(error)):
        call(raises(error))


def test_the_end_of_the_trial_is_the_end_of_the_tool() -> None:
    ended = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def run() -> None:
        tool = ToolFunction.of(waits, "waits")
        async with asyncio.timeout(0.05):
            await tool.call(Offloader(1), {}, None)

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    assert ended == [True]


def any_words(*words: str) -> None: ...


def any_names(**names: str) -> None: ...


def by_place(number: int, /) -> None: ...


def no_such_type(number: Nonsense) -> None: ...  # type: ignore[name-defined] # noqa: F821


def not_of_json(where: asyncio.Event) -> None: ...


@pytest.mark.parametrize("function", [any_words, any_names, by_place, no_such_type, not_of_json, dict])
def test_a_function_that_no_model_could_call_is_refused(function: Any) -> None:
    with pytest.raises(UsageError, match="the tool odd"):
        ToolFunction.of(function, "odd")
