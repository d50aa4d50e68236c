"""Transcript: what happened in a trial. Answer: what a target written in Python may return instead of a bare value."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from evalharness.domain.case import as_text
from evalharness.domain.invalid_values import explain
from evalharness.domain.record import Record
from evalharness.errors import ImpossibleFigure, TargetFailed
from evalharness.values.json_value import Json


def _only_number(figure: Any) -> Any:
    if isinstance(figure, bool | str | bytes):
        raise ValueError("must be a number")
    return figure


Amount = Annotated[float, BeforeValidator(_only_number)]
Tokens = Annotated[int, BeforeValidator(_only_number)]


class ToolCall(Record):
    name: str
    arguments: Json = None
    result: Json = None
    error: str = ""


class Usage(Record):
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0


class Answer(Record):
    """The output with what led to it. Only `output` is required.

    Figures that cannot be are refused when the answer is recorded: they make its trial an error, not a failure.
    """

    output: Json
    messages: tuple[dict[str, Json], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    cost_usd: Amount | None = None
    duration_s: Amount | None = None
    """How long the target says that it took; without it, what its events say, else the harness's clock."""
    files: dict[str, str] = Field(default_factory=dict)
    events: tuple[dict[str, Json], ...] = ()
    snapshot: dict[str, Json] | None = None
    """The final state of a workflow: what its artifact holds beside the events."""

    def __init__(self, /, *output: Json, **values: Any) -> None:
        """`Answer("Lima")` is `Answer(output="Lima")`."""
        if len(output) == 1 and "output" not in values:
            super().__init__(**{"output": output[0], **values})
        else:
            super().__init__(*output, **values)

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # as in `PlainModel`

    def given(self) -> dict[str, Any]:
        """What the target said, by field; what it left out, or what only the harness can see, is not among it."""
        return {name: getattr(self, name) for name in Answer.model_fields if name in self.model_fields_set}


class Transcript(Answer):
    """An answer plus what only the harness can see. `files` are those the target made or changed in its workspace."""

    output: Json = None
    removed_files: tuple[str, ...] = ()
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    lost_bytes: int = 0
    """How much of the texts was not kept, where they were cut."""

    @classmethod
    def of_text(cls, output: str) -> Transcript:
        """A text and nothing else, which most answers are: there is nothing in it to check."""
        return Transcript.unchecked({**_defaults_of(), "output": output, "files": {}}, _ONLY_OUTPUT)

    @property
    def text(self) -> str:
        """The output as text: what the text graders look at."""
        return "" if self.output is None else as_text(self.output)


_ONLY_OUTPUT = frozenset(("output",))


@cache
def _defaults_of() -> dict[str, Any]:
    """The defaults of a transcript; of those that can be changed each transcript gets its own."""
    return dict(vars(Transcript()))


FIGURES = frozenset(("cost_usd", "usage", "duration_s"))
"""Fields that say what an answer took: a mistake in one of them says nothing about the answer."""


def wrong_shape(error: ValidationError, evidence: Transcript | None = None) -> TargetFailed | ImpossibleFigure:
    """Why an answer, or the usage in it, cannot be read."""
    first = error.errors()[0]
    where = ("usage", *first["loc"]) if error.title == Usage.__name__ else first["loc"]
    place = ".".join(str(part) for part in where) or "it"
    if where and where[0] in FIGURES and isinstance(first["input"], int | float | str):
        return ImpossibleFigure(place, first["input"], evidence=evidence)
    return TargetFailed(f"the answer has the wrong shape: {explain(error)}", evidence=evidence)


# What went wrong according to an agent's own stream of events, and what of the stream was not kept.
#
# Whether an error fails a trial is the target's business.

ERROR = "error"
ENDED_WITH_ERROR = "ended_with_error"
"""The type of an event that repeats the message of an error after which the agent said nothing more in that turn."""
LEFT_OUT = "left_out_events"
"""The type of the last event of a stream that was too long to be kept whole."""


def error_event(message: str, said: dict[str, Json] | None = None) -> dict[str, Json]:
    """`said` is the event of the stream that reported the error, if there was one."""
    return {**(said or {}), "type": ERROR, "message": message}


def errors_of(transcript: Transcript, kind: str = ERROR) -> list[str]:
    """The messages of a transcript's error events, in order."""
    found = [event.get("message") for event in transcript.events if event.get("type") == kind]
    return [message for message in found if isinstance(message, str)]
