"""Dialogue: a conversation with a language model, and all of it as a transcript at any moment.

Whatever ends a trial, the messages, calls and costs up to then are kept with it. The options of targets that
ask a model are here, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, ClassVar, TypeGuard

from pydantic import Field, field_validator

from evalharness.contracts.model import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    Llm,
    Role,
    Temperature,
    Tool,
    ToolRequest,
    split_name,
)
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.domain.case import as_text
from evalharness.domain.options import Options, Whole
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import ToolCall, Transcript, Usage
from evalharness.domain.trial import TIME_LIMIT
from evalharness.errors import BadReply, CallCutOff, TargetFailed, TargetUnavailable, TrialSkipped, waited_for
from evalharness.structured_replies import ask_for_object
from evalharness.targets.templates import fill_template
from evalharness.values.digest import digest, digest_file
from evalharness.values.json_value import Json
from evalharness.workspaces import model_file


class ModelOptions(Options):
    """`seed: true` hands on the trial's own."""

    main: ClassVar[str] = "model"

    model: Annotated[str, Field(min_length=1)]
    system: str = ""
    temperature: Temperature | None = None
    max_tokens: Annotated[Whole, Field(ge=1)] | None = None
    seed: bool | int = False

    @field_validator("model")
    @classmethod
    def _names_a_model(cls, name: str) -> str:
        if "{{" not in name and split_name(name) is None:
            raise ValueError(f"'{name}' is not the name of a model: write provider/model, as in openai/gpt-4o")
        return name

    def request(self, task: Task, tools: Iterable[Tool] = ()) -> ChatRequest:
        """What stays the same throughout a dialogue."""
        system = self._system(task)
        return ChatRequest(
            messages=(ChatMessage(role="system", content=system),) if system else (),
            tools=tuple(tools),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=task.seed if self.seed is True else None if self.seed is False else self.seed,
        )

    def _system(self, task: Task) -> str:
        """What the case says beside its question is reported, wherever the prompt does not say where."""
        filled = fill_template(self.system, task)
        if task.case.context is None or "{context" in self.system:
            return filled
        return f"{filled}\n\nContext: {as_text(task.case.context)}".strip()


class ModelPart(Target):
    keeps_time_limit = True
    records_calls = True
    is_metered: ClassVar[bool] = True
    options: Any

    def __init__(self, options: Any, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._llm: Llm | None = None

    @property
    def llm(self) -> Llm:
        assert self._llm is not None, "call open() first"
        return self._llm

    def models(self) -> tuple[str, ...]:
        """The names of the models it will ask, known before it is opened."""
        return (self.options.model,)

    def digest(self) -> str:
        """A model that is named by a file answers differently when the file does."""
        models = self.services.models
        file = model_file(self.options.model.partition("/")[2], models.root if models else self.services.root)
        try:
            content = digest_file(file) if file else None
        except OSError:  # opening the model says so
            content = None
        return digest([super().digest(), content])

    async def open(self) -> None:
        """Raises UsageError for a model that nobody knows, or that lacks a key."""
        self._llm = self.services.llm(self.options.model)


ORDINARY_ENDS = ("stop", "tool_calls")


class Dialogue:
    def __init__(self, llm: Llm, request: ChatRequest) -> None:
        self._llm = llm
        self._request = request
        self._messages = list(request.messages)
        self._kept = [kept_message(message) for message in request.messages]
        self._replies: list[ChatReply] = []
        self._calls: list[ToolCall] = []

    @asynccontextmanager
    async def of(self, task: Task) -> AsyncIterator[list[Turn]]:
        """The turns of the case, for as long as its trial may take."""
        limit = asyncio.timeout(task.timeout_s)
        try:
            async with limit:
                written = task.case.input
                yield turns_of(written if is_conversation(written) else task.case.content)
        except (TimeoutError, CallCutOff) as error:
            if not (limit.expired() or isinstance(error, CallCutOff)):
                raise
            if unavailable := waited_for(error):
                raise self._with_evidence(unavailable) from None
            reason = f"{TIME_LIMIT}: no answer within {task.timeout_s:g} s"
            raise self.failed(reason) from None
        except BadReply as error:
            raise self.failed(str(error)) from None
        except TargetUnavailable as error:
            raise self._with_evidence(error) from error.__cause__

    def say(self, *messages: ChatMessage) -> None:
        self._messages += messages
        self._kept += map(kept_message, messages)

    async def reply(self) -> ChatReply:
        reply = await self._llm.chat(self._asked())
        self._replies.append(reply)
        self._say_last_reply()
        if reply.finish_reason == "length" and not reply.text.strip() and not reply.tool_requests:
            raise self.failed("the model reached its token limit before it said anything")
        return reply

    async def reply_with_object(self, schema: dict[str, Json], check: Callable[[Any], Json]) -> Json:
        request = self._asked().model_copy(update={"reply_schema": schema})
        heard_before = len(self._replies)
        try:
            return await ask_for_object(self._llm, request, check, heard=self._replies.append)
        finally:
            if len(self._replies) > heard_before:
                self._say_last_reply()

    def call(self, request_id: str, call: ToolCall) -> None:
        """A tool was called; the model gets its result."""
        self._calls.append(call)
        text = f"error: {call.error}" if call.error else as_text(call.result)
        self.say(ChatMessage(role="tool", content=text, answers_request=request_id))

    def failed(self, reason: str) -> TargetFailed:
        return TargetFailed(reason, evidence=self.transcript())

    def transcript(self, output: Json = None) -> Transcript:
        """Without an output, the last thing that the model said."""
        said = self._replies[-1].text if self._replies else None
        usages = [reply.usage for reply in self._replies if reply.usage is not None]
        costs = [reply.cost_usd for reply in self._replies if reply.cost_usd is not None]
        return Transcript(
            output=said if output is None else output,
            messages=tuple(self._kept),
            tool_calls=tuple(self._calls),
            events=tuple(map(_event, self._replies)),
            usage=_total(usages) if usages else None,
            cost_usd=sum(costs) if costs and len(costs) == len(self._replies) else None,
        )

    def _with_evidence(self, error: TargetUnavailable) -> TargetUnavailable:
        error.evidence = self.transcript()
        return error

    def _asked(self) -> ChatRequest:
        return self._request.model_copy(update={"messages": tuple(self._messages)})

    def _say_last_reply(self) -> None:
        """Of several attempts the last one is what was said; all of them were paid for."""
        last = self._replies[-1]
        self.say(last.message)
        if last.finish_reason not in ORDINARY_ENDS:
            self._kept[-1]["finish_reason"] = last.finish_reason


def _event(reply: ChatReply) -> dict[str, Json]:
    """`model` is the name that the server gave itself, which may be more exact than the one asked for."""
    fields = {"type": "model_reply", "model": reply.model, "finish_reason": reply.finish_reason}
    usage = reply.usage.model_dump() if reply.usage else {}
    return {**fields, **usage, **({} if reply.cost_usd is None else {"cost_usd": reply.cost_usd})}


def _total(usages: list[Usage]) -> Usage:
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
    )


# Conversations: a case's question as chat messages, and chat messages as transcripts keep them (as OpenAI does).
#
# What cannot be said in text (images, sound) is not left out in silence: such a trial is skipped.

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
Turn = list[ChatMessage]


def turns_of(content: Json) -> list[Turn]:
    """What is said before each reply. Of two user messages in a row each is replied to before the next is said;
    one that an assistant's message follows has its reply already."""
    messages = [_message(written) for written in _written(content)]
    turns: list[Turn] = [[]]
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        turns[-1].append(message)
        if following is not None and message.role == "user" == following.role:
            turns.append([])
    return turns


def is_conversation(content: Json) -> bool:
    """Whether it says so itself: a list alone may also be data."""
    return isinstance(content, Mapping) and set(content) == {"messages"}


def kept_message(message: ChatMessage) -> dict[str, Json]:
    """A message as a transcript keeps it."""
    fields: dict[str, Json] = {"role": message.role, "content": message.content}
    if message.tool_requests:
        fields["tool_calls"] = [
            {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
            for each in message.tool_requests
        ]
    if message.answers_request:
        fields["tool_call_id"] = message.answers_request
    return fields


def _written(content: Json) -> Sequence[Mapping[str, Json]]:
    """Data that is no conversation is asked as it is: as JSON."""
    is_meant_so = is_conversation(content)
    listed = content["messages"] if is_meant_so else content
    if isinstance(listed, list | tuple) and listed and all(map(_is_message, listed)):
        return [{"role": "user", "content": each} if isinstance(each, str) else each for each in listed]
    if is_meant_so and isinstance(listed, list | tuple):
        lacking = "one of them has no role" if listed else "there are none"
        raise TargetFailed(f"the input's messages cannot be sent: {lacking}")
    if not is_meant_so and isinstance(content, Mapping) and _are_turns(content.get("messages")):
        beside = ", ".join(str(key) for key in content if key != "messages")
        raise TargetFailed(f"the input's messages cannot be sent: the input also has {beside}")
    return [{"role": "user", "content": as_text(content)}]


def _are_turns(value: Json) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(each, Mapping) and "role" in each for each in value)


def _is_message(value: Json) -> TypeGuard[Mapping[str, Json] | str]:
    return isinstance(value, str) or (isinstance(value, Mapping) and "role" in value)


def _message(written: Mapping[str, Json]) -> ChatMessage:
    role = ROLES.get(str(written["role"]))
    if role is None:
        raise TrialSkipped(f"a message of the input has the role {as_text(written['role'])}, which models do not know")
    calls = written.get("tool_calls")
    if written.get("content") is None and not calls:
        raise TargetFailed(f"a message of the input (role {role}) has no content")
    return ChatMessage(
        role=role,
        content=_text(written.get("content")),
        tool_requests=tuple(map(_request, calls)) if isinstance(calls, list | tuple) else (),
        answers_request=str(written.get("tool_call_id") or ""),
    )


def _text(content: Json) -> str:
    if isinstance(content, list | tuple):
        return "".join(map(_part, content))
    return "" if content is None else as_text(content)


def _part(part: Json) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    if not isinstance(text, str):
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        raise TrialSkipped(f"a message of the input contains a part of type {kind}; only text can be sent")
    return text


def _request(call: Any) -> ToolRequest:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise TrialSkipped("a message of the input contains an invalid tool call")
    arguments = function.get("arguments", "{}")
    return ToolRequest(id=str(call.get("id", "")), name=str(function.get("name", "")), arguments=as_text(arguments))
