"""From the events that an agent printed while it ran back to a session: who said, called and was answered what.

The events are those of docker-agent; unknown ones are passed over. Reading them as a Transcript, which graders look at,
is the business of `transcripts/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalharness.documents.session import (
    ChatMessage,
    FunctionCall,
    Session,
    SessionItem,
    SessionMessage,
    SessionToolCall,
    moment_of,
)
from evalharness.domain.case import as_text
from evalharness.domain.transcript import LEFT_OUT, ToolCall, Transcript
from evalharness.values.json_value import Json

Event = Mapping[str, Json]

TEXT = "agent_choice"
REASONING = "agent_choice_reasoning"
OF_THE_AGENT = (TEXT, REASONING, "tool_call")
ENDS_A_MESSAGE = ("tool_call_response", "error", "stream_stopped", "budget_exceeded")
USAGE_KEYS = ("input_tokens", "output_tokens", "cached_input_tokens", "cached_write_tokens", "reasoning_tokens")
TERMINATION_KEYS = ("reason", "budget", "limit", "used", "max", "config_path", "message")
LONGEST_STOP_MESSAGE = 2000
LARGEST_AMOUNT = 2**53
"""Beyond this a number in a stream counts nothing."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def session_from_events(
    events: Iterable[Event], title: str, questions: Sequence[str], *, session_id: str, now: str
) -> Session:
    """`now` stands for times that the events do not tell."""
    rebuilding = _Rebuilding(list(questions), now)
    for event in events:
        if isinstance(event, Mapping):
            rebuilding.read(event)
    return rebuilding.session(title, session_id)


@dataclass(slots=True)
class _Rebuilding:
    questions: list[str]
    now: str
    items: list[SessionItem] = field(default_factory=list)
    title: str = ""
    open_streams: int = 0
    """Streams of sub-agents run inside the agent's own; only the end of that one ends the turn."""
    was_asked: bool = False
    totals: dict[str, dict[str, Json]] = field(default_factory=dict)
    last_message: Event = field(default_factory=dict)
    agent: str = ""
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[SessionToolCall] = field(default_factory=list)
    definitions: list[dict[str, Json]] = field(default_factory=list)
    time: str = ""
    was_stopped: bool = False

    def read(self, event: Event) -> None:
        kind = event.get("type")
        if kind in OF_THE_AGENT:
            self._hear(str(kind), event)
            return
        if kind in ENDS_A_MESSAGE:
            self._end_message()
            if not self.items and kind != "stream_stopped":  # whatever went wrong, something had been asked
                self._ask(event)
        match kind:
            case "user_message":
                self._user_message(event)
            case "stream_started":
                self.open_streams += 1
            case "stream_stopped":
                self.open_streams = max(0, self.open_streams - 1)
                self.was_asked = self.was_asked and self.open_streams > 0
            case "tool_call_response":
                self._response(event)
            case "error":
                self._say("system", f"Error: {_error_text(event.get('error'))}", event)
            case "token_usage":
                self._usage(event)
            case "session_title":
                self.title = _text(event.get("title")) or self.title
            case "budget_exceeded":
                self._stop(event)

    def _hear(self, kind: str, event: Event) -> None:
        name = _text(event.get("agent_name"))
        if name and self.agent and name != self.agent:
            self._end_message()
        self._ask(event)
        self.agent = name or self.agent
        self.time = _time(event) or self.time
        if kind == TEXT:
            self.text.append(_text(event.get("content")))
        elif kind == REASONING:
            self.reasoning.append(_text(event.get("content")))
        else:
            self.calls.append(_call(_mapping(event.get("tool_call"))))
            self.definitions.append(dict(_mapping(event.get("tool_definition"))))

    def _user_message(self, event: Event) -> None:
        if self.open_streams == 0:
            self._end_message()
            self.was_asked = False
            self._ask(event, _text(event.get("message")))

    def _ask(self, event: Event, otherwise: str = "") -> None:
        """The next question, once in a turn."""
        if self.was_asked:
            return
        self.was_asked = True
        if self.questions:
            self._say("user", self.questions.pop(0), event)
        elif otherwise:
            self._say("user", otherwise, event)

    def _end_message(self) -> None:
        """What the agent said, thought and called since its last message, if anything."""
        if any(self.text) or any(self.reasoning) or self.calls:
            usage = _either(self.last_message, USAGE_KEYS)
            message = ChatMessage(
                role="assistant",
                content="".join(self.text),
                reasoning_content="".join(self.reasoning),
                tool_calls=tuple(self.calls),
                tool_definitions=tuple(self.definitions) if any(self.definitions) else (),
                created_at=self.time or self.now,
                usage=usage,
                model=_text(_said(self.last_message, "model")),
                cost=_amount(_said(self.last_message, "cost")),
            )
            self._keep(message, self.agent)
            self.last_message = {}
        self.text, self.reasoning, self.calls, self.definitions = [], [], [], []
        self.agent = self.time = ""

    def _response(self, event: Event) -> None:
        call, result = _mapping(event.get("tool_call")), _mapping(event.get("result"))
        definition = _mapping(event.get("tool_definition"))
        message = ChatMessage(
            role="tool",
            content=_text(event.get("response")),
            tool_call_id=_text(event.get("tool_call_id")) or _text(call.get("id")),
            tool_definitions=(dict(definition),) if definition else (),
            is_error=True in (event.get("is_error"), result.get("isError"), result.get("is_error")),
            created_at=_time(event) or self.now,
        )
        self._keep(message, _text(event.get("agent_name")))

    def _usage(self, event: Event) -> None:
        """Running totals of each session; what a later event leaves out keeps its value."""
        usage = _mapping(event.get("usage"))
        totals = self.totals.setdefault(_text(event.get("session_id")), {})
        totals.update({name: value for name, value in usage.items() if value is not None})
        self.last_message = _mapping(usage.get("last_message")) or self.last_message

    def _stop(self, event: Event) -> None:
        """Reported once, however often the stream repeats it; a budget that ran out is no error."""
        if self.was_stopped:
            return
        self.was_stopped = True
        fields = {key: _clean(event[key]) for key in TERMINATION_KEYS if event.get(key) is not None}
        self.items.append(SessionItem(termination={"reason": "budget_exceeded", **fields}))
        if isinstance(fields.get("message"), str) and fields["message"]:
            self._say("assistant", fields["message"], event)

    def _say(self, role: str, content: str, event: Event) -> None:
        message = ChatMessage(role=role, content=content, created_at=_time(event) or self.now)
        self._keep(message, "" if role == "user" else _text(event.get("agent_name")))

    def _keep(self, message: ChatMessage, agent: str) -> None:
        self.items.append(SessionItem(message=SessionMessage(agent_name=agent, message=message)))

    def session(self, title: str, session_id: str) -> Session:
        self._end_message()
        for question in self.questions:
            self._say("user", question, {})
        sums = {
            name: sum(_amount(totals.get(name)) for totals in self.totals.values())
            for name in ("input_tokens", "output_tokens", "cost")
        }
        return Session(
            id=session_id,
            title=self.title or title,
            messages=tuple(self.items),
            created_at=self.now,
            tools_approved=True,
            input_tokens=int(sums["input_tokens"]),
            output_tokens=int(sums["output_tokens"]),
            cost=sums["cost"],
        )


def _call(call: Event) -> SessionToolCall:
    function = _mapping(call.get("function"))
    arguments = function.get("arguments")
    return SessionToolCall(
        id=_text(call.get("id")),
        type=_text(call.get("type")) or "function",
        function=FunctionCall(name=_text(function.get("name")), arguments="" if arguments is None else arguments),
    )


def _said(mapping: Event, name: str) -> Json:
    """Under its own name, or under the one Go gives it: `cost`, else `Cost`; `input_tokens`, else `InputTokens`."""
    found = mapping.get(name)
    return mapping.get("".join(word.capitalize() for word in name.split("_"))) if found is None else found


def _either(mapping: Event, names: Iterable[str]) -> dict[str, Json]:
    fields = {name: _said(mapping, name) for name in names}
    return {name: value for name, value in fields.items() if value is not None}


def _error_text(error: Json) -> str:
    return _text(error) or _text(_mapping(error).get("message")) or "unknown error"


def _clean(value: Json) -> Json:
    """Text without control characters but for line breaks and tabs, and not too long; numbers as they are."""
    if isinstance(value, str):
        return _CONTROL.sub("", value).strip()[:LONGEST_STOP_MESSAGE]
    return value if isinstance(value, int | float) else None


def _time(event: Event) -> str:
    """Empty where the event has none that can be read."""
    written = _text(event.get("timestamp"))
    return written if moment_of(written) else ""


def _mapping(value: Any) -> Event:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _amount(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= LARGEST_AMOUNT else 0.0


def last_message_output_tokens(events: Iterable[Mapping[str, Json]]) -> int:
    """0 where the stream does not say, or where its end was not kept."""
    tokens: Json = 0
    for event in events:
        if event.get("type") == LEFT_OUT:
            return 0
        if event.get("type") == "token_usage":
            found = _said(_mapping(_mapping(event.get("usage")).get("last_message")), "output_tokens")
            tokens = tokens if found is None else found
    return int(_amount(tokens))


# From the transcript of any target to a session: where there are no events of docker-agent, or not all of them.


def is_whole_event_stream(events: Iterable[Mapping[str, Json]]) -> bool:
    """Of a long stream not all events are kept; its messages are, and its totals."""
    kinds = [event.get("type") for event in events]
    return any(kind in OF_THE_AGENT for kind in kinds) and LEFT_OUT not in kinds


def session_from_transcript(transcript: Transcript, questions: Sequence[str], *, session_id: str, now: str) -> Session:
    """The questions stand first unless the messages hold them; without messages the answer itself is one."""
    parts = [message for message in transcript.messages if message.get("role") != "system"]
    asked = [] if any(message.get("role") == "user" for message in parts) else questions
    said = [_entry(_message(message, now), message) for message in parts]
    if not any(message.get("role") == "assistant" for message in parts):
        said.append(_entry(_answer(transcript, now)))
    items = [_entry(ChatMessage(role="user", content=question, created_at=now)) for question in asked] + said
    usage = transcript.usage
    return Session(
        id=session_id,
        messages=tuple(items),
        created_at=now,
        tools_approved=True,
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
        cost=transcript.cost_usd or 0.0,
    )


def _answer(transcript: Transcript, now: str) -> ChatMessage:
    calls = tuple(_call_of(call, number) for number, call in enumerate(transcript.tool_calls, start=1))
    return ChatMessage(role="assistant", content=transcript.text, tool_calls=calls, created_at=now)


def _call_of(call: ToolCall, number: int) -> SessionToolCall:
    arguments = "" if call.arguments is None else as_text(call.arguments)
    return SessionToolCall(id=f"call_{number}", function=FunctionCall(name=call.name, arguments=arguments))


def _message(message: Mapping[str, Any], now: str) -> ChatMessage:
    calls = message.get("tool_calls")
    return ChatMessage(
        role=str(message.get("role", "")),
        content=_content(message.get("content")),
        reasoning_content=_text(message.get("reasoning_content")),
        tool_calls=tuple(_written_call(call) for call in calls) if isinstance(calls, list | tuple) else (),
        tool_call_id=_text(message.get("tool_call_id")),
        created_at=now,
    )


def _written_call(call: Any) -> SessionToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    reported = function if isinstance(function, Mapping) else {}
    return SessionToolCall(
        id=_text(call.get("id")) if isinstance(call, Mapping) else "",
        function=FunctionCall(name=_text(reported.get("name")), arguments=as_text(reported.get("arguments", ""))),
    )


def _content(content: Json) -> str:
    if isinstance(content, list | tuple):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else as_text(content)


def _entry(message: ChatMessage, reported: Mapping[str, Any] | None = None) -> SessionItem:
    name = _text((reported or {}).get("name"))
    return SessionItem(message=SessionMessage(agent_name=name, message=message))
