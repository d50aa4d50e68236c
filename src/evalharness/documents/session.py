"""Session: a recorded conversation with an agent, under the names it has in JSON.

The files come from a program written in Go and follow its habits (`GoRecord`). What a session says beyond the names
here is kept and written back. How a session becomes a case is decided in `formats/`, how an answer is judged in
`graders/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from evalharness.domain.record import PlainModel
from evalharness.values.json_value import Json

Size = Literal["", "S", "M", "L", "XL"]
AssertionType = Literal[
    "contains", "not_contains", "equals", "starts_with", "ends_with", "regex", "cost_threshold", "tool_called"
]
Cost = Annotated[float, Field(allow_inf_nan=False)]


class GoRecord(PlainModel):
    """Read: null stands for an empty value. Written: optional values (`omitempty`) only where they are not empty."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True, serialize_by_alias=True)
    omitempty: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _null_is_empty(cls, written: Any) -> Any:
        if isinstance(written, Mapping):
            return {key: value for key, value in written.items() if value is not None}
        return written

    @model_serializer(mode="wrap")
    def _without_what_is_empty(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in handler(self).items() if value or key not in self.omitempty}


class FunctionCall(GoRecord):
    """`arguments` is JSON text, as models write it."""

    name: str = ""
    arguments: Json = ""


class SessionToolCall(GoRecord):
    id: str = ""
    type: str = "function"
    function: FunctionCall = FunctionCall()


class ChatMessage(GoRecord):
    omitempty = (
        "multi_content", "reasoning_content", "tool_calls", "tool_definitions", "tool_call_id", "is_error",
        "created_at", "usage", "model", "cost",
    )  # fmt: skip

    role: str = ""
    content: str = ""
    multi_content: tuple[dict[str, Json], ...] = ()
    reasoning_content: str = ""
    tool_calls: tuple[SessionToolCall, ...] = ()
    tool_definitions: tuple[dict[str, Json], ...] = ()
    """One for each of the tool calls."""
    tool_call_id: str = ""
    is_error: bool = False
    created_at: str = ""
    usage: dict[str, Json] = Field(default_factory=dict)
    model: str = ""
    cost: Cost = 0.0

    @property
    def text(self) -> str:
        parts = (part.get("text") for part in self.multi_content)
        return self.content or "".join(text for text in parts if isinstance(text, str))


class SessionMessage(GoRecord):
    """Who said it, and what. `implicit` ones were said by the program, not by the person in front of it."""

    omitempty = ("implicit",)

    agent_name: str = Field(
        default="", validation_alias=AliasChoices("agentName", "agent_name"), serialization_alias="agentName"
    )
    message: ChatMessage
    implicit: bool = False


class SessionItem(GoRecord):
    """One of them: a message, the session of a sub-agent, a summary of what came before, why the run was ended."""

    omitempty = ("message", "sub_session", "summary", "cost", "first_kept_entry", "termination")

    message: SessionMessage | None = None
    sub_session: Session | None = None
    summary: str = ""
    cost: Cost = 0.0
    first_kept_entry: int = 0
    termination: dict[str, Json] = Field(default_factory=dict)


class SessionAssertion(GoRecord):
    """What must hold about the answer's text, the cost, or the tools called. `value` is read when it is checked."""

    model_config = ConfigDict(extra="forbid")
    omitempty = ("name",)

    name: str = ""
    type: AssertionType
    value: Json

    @field_validator("value")
    @classmethod
    def _says_something(cls, value: Json) -> Json:
        """Every text holds the empty one: an assertion that was left unfinished would pass whatever is said."""
        if value is None or value == "":
            raise ValueError("is empty: the assertion would always be true")
        return value


class EvalCriteria(GoRecord):
    """What an answer to the recorded questions is judged by, beside the recorded tool calls."""

    model_config = ConfigDict(extra="forbid")
    omitempty = ("size", "working_dir", "setup", "image", "assertions")

    relevance: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    size: Size = ""
    working_dir: str = ""
    setup: str = ""
    image: str = ""
    assertions: tuple[SessionAssertion, ...] = ()


class Session(GoRecord):
    omitempty = (
        "evals", "eval_result", "input_id", "tools_approved", "hide_tool_results", "starred", "working_dir",
        "SendUserMessage", "max_iterations", "permissions", "agent_model_overrides", "custom_models_used",
    )  # fmt: skip

    id: str = ""
    title: str = ""
    input_id: str = ""
    """The id of the session whose questions this one answers."""
    evals: EvalCriteria | None = None
    eval_result: dict[str, Json] = Field(default_factory=dict)
    messages: tuple[SessionItem, ...] = ()
    created_at: str = ""
    tools_approved: bool = False
    hide_tool_results: bool = False
    starred: bool = False
    working_dir: str = ""
    """Where the recorded agent worked; the folder of an eval is in `evals`."""
    send_user_message: bool = Field(default=False, alias="SendUserMessage")
    max_iterations: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: Cost = 0.0
    permissions: dict[str, Json] = Field(default_factory=dict)
    agent_model_overrides: dict[str, Json] = Field(default_factory=dict)
    custom_models_used: tuple[Json, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _first_form(cls, written: Any) -> Any:
        """The oldest files are a bare list of messages."""
        if isinstance(written, list):
            return {"messages": [row if _is_item(row) else {"message": row} for row in written]}
        return written


class Said(NamedTuple):
    """A message with where it was said: by or to the agent itself, or inside the session of a sub-agent."""

    entry: SessionMessage
    is_inner: bool

    @property
    def message(self) -> ChatMessage:
        return self.entry.message


def said_in(session: Session, *, is_inner: bool = False) -> Iterator[Said]:
    """Every message, those of sub-sessions where they took place."""
    for item in session.messages:
        if item.message is not None:
            yield Said(item.message, is_inner)
        if item.sub_session is not None:
            yield from said_in(item.sub_session, is_inner=True)


def questions_of(session: Session) -> tuple[str, ...]:
    """What the user said. Inside a sub-session an implicit message comes from another agent and is not a question."""
    return tuple(
        said.message.text
        for said in said_in(session)
        if said.message.role == "user" and not (said.is_inner and said.entry.implicit)
    )


def tools_called_in(session: Session) -> tuple[str, ...]:
    calls = (call for said in said_in(session) if said.message.role == "assistant" for call in said.message.tool_calls)
    return tuple(call.function.name for call in calls)


def session_answer(session: Session) -> str | None:
    """Everything the agents said, without separators; None where no agent said or did anything."""
    messages = [said.message for said in said_in(session) if said.message.role == "assistant"]
    return "".join(message.text for message in messages) if messages else None


def recorded_seconds(session: Session) -> float:
    """From the first to the last message, leaving out the system's; 0 where the times do not tell."""
    times = [said.message.created_at for said in said_in(session) if said.message.role != "system"]
    first, last = (moment_of(times[0]), moment_of(times[-1])) if len(times) > 1 else (None, None)
    return max(0.0, (last - first).total_seconds()) if first and last else 0.0


def _is_item(row: Any) -> bool:
    message = row.get("message") if isinstance(row, Mapping) else None
    return isinstance(message, Mapping) and "message" in message


def moment_of(text: str) -> datetime | None:
    """A time as RFC 3339 writes it; None for any other text."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
