"""Collector: gathers what a parser finds, and makes one Transcript of it at the end.

Messages are kept in OpenAI's format. The events of a stream are kept up to a limit; the rest is only counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from evalharness.domain.case import as_text
from evalharness.domain.transcript import ENDED_WITH_ERROR, LEFT_OUT, ToolCall, Transcript, Usage, error_event
from evalharness.transcripts.stream import Object, json_or_text
from evalharness.values.json_value import Json
from evalharness.values.text import head

MAX_EVENTS = 2000
MAX_EVENT_BYTES = 1_000_000
MAX_ERRORS = 100
LONGEST_ERROR = 2000
Place = Literal["both", "messages", "calls"]
"""Where a call is recorded: a sub-agent's calls only among the calls, a call described elsewhere only in the messages.
"""


@dataclass(slots=True)
class _Call:
    name: str
    arguments: Json
    into: Place
    result: Json = None
    error: str = ""


@dataclass(slots=True)
class Collector:
    ignored_lines: int = 0
    messages: list[Object] = field(default_factory=list)
    answer: str = ""
    """The last text of the main agent."""
    files: dict[str, str] = field(default_factory=dict)
    ended_with: str = ""
    """The error with which a turn ended, where one did."""
    _calls: list[_Call] = field(default_factory=list)
    _open: dict[str, _Call] = field(default_factory=dict)
    _thoughts: list[str] = field(default_factory=list)
    _events: list[Object] = field(default_factory=list)
    _errors: list[str] = field(default_factory=list)
    _event_bytes: int = 0
    _left_out: int = 0

    def keep(self, event: Object) -> None:
        if len(self._events) < MAX_EVENTS and self._event_bytes < MAX_EVENT_BYTES:
            self._event_bytes += len(json.dumps(event))
            if self._event_bytes <= MAX_EVENT_BYTES:
                self._events.append(event)
                return
        self._left_out += 1

    def error(self, message: str, event: Object | None = None) -> None:
        """Record an error, even beyond the limit for events; the same error twice in a row is recorded once."""
        text = head(message, LONGEST_ERROR)
        if len(self._errors) >= MAX_ERRORS:
            self._left_out += event is not None
        elif event is not None or self._errors[-1:] != [text]:
            self._errors.append(text)
            self._events.append(error_event(text, event))

    def say(self, role: str, content: str, **more: Json) -> None:
        message: Object = {"role": role, "content": content, **{key: value for key, value in more.items() if value}}
        if role == "assistant":
            self.answer = content or self.answer
            if self._thoughts:
                message["reasoning_content"] = "".join(self._thoughts)
                self._thoughts.clear()
        self.messages.append(message)

    def think(self, thought: str) -> None:
        """Record a thought, which is attached to the agent's next message or call."""
        self._thoughts.append(thought)

    def call(self, call_id: str, name: str, arguments: Json, into: Place = "both") -> None:
        call = _Call(name or "unknown", {} if arguments in (None, "") else json_or_text(arguments), into)
        self._open[call_id] = call
        if into != "messages":
            self._calls.append(call)
        if into != "calls":
            if not self.messages or self.messages[-1]["role"] != "assistant":
                self.say("assistant", "")
            written = arguments if isinstance(arguments, str) else as_text(call.arguments)
            entry = {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": written}}
            self.messages[-1].setdefault("tool_calls", []).append(entry)

    def returned(self, call_id: str, result: Json, error: str = "") -> None:
        call = self._open.pop(call_id, None)
        if call is not None:
            call.result, call.error = result, error
        if call is None or call.into != "calls":
            content = "" if result is None else as_text(result)
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": content or error})

    def transcript(self, output: Json = None, usage: Usage | None = None, cost_usd: float | None = None) -> Transcript:
        """The transcript, with only the fields that the stream reported; the default output is the last text."""
        if self._thoughts:
            self.say("assistant", "")
        fields: dict[str, Any] = {
            "output": self.answer if output is None else output,
            "messages": tuple(self.messages),
            "tool_calls": tuple(
                ToolCall(name=call.name, arguments=call.arguments, result=call.result, error=call.error)
                for call in self._calls
            ),
            "events": (*self._events, *self._ending(), *self._counts()),
        }
        for name, value in (("usage", usage), ("cost_usd", cost_usd), ("files", self.files or None)):
            if value is not None:
                fields[name] = value
        return Transcript(**fields)

    def _ending(self) -> list[Object]:
        return [{"type": ENDED_WITH_ERROR, "message": head(self.ended_with, LONGEST_ERROR)}] if self.ended_with else []

    def _counts(self) -> list[Object]:
        counts = {"ignored_lines": self.ignored_lines, LEFT_OUT: self._left_out}
        return [{"type": name, "count": number} for name, number in counts.items() if number]


def inside(folder: str, path: str) -> str:
    """The path relative to the agent's folder, as workspaces name files; a path outside of it is returned unchanged."""
    written = PurePosixPath(path)
    return str(written.relative_to(folder)) if folder and written.is_relative_to(folder) else path
