"""`scripted/path/to/script.yaml`: a language model with replies from a file, for tests, demos and dry runs.

It keeps no state: the reply depends on the request alone. The first entry of `replies` whose pattern (`when`) matches
the last user message answers. Its first step directly follows that message, the next step follows one more assistant
message, and so on, so that a script can call tools and continue. The last step is repeated. `{match:1}` and
`{match:name}` are replaced by groups of the pattern.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import Field, ValidationError, model_validator

from evalharness.contracts.model import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    FinishReason,
    Llm,
    ToolRequest,
)
from evalharness.domain.invalid_values import as_written, message_of
from evalharness.domain.problem import Problem, field_text
from evalharness.domain.record import Record
from evalharness.domain.transcript import Usage
from evalharness.errors import InvalidFile, ModelUnavailable, UsageError
from evalharness.llms.access import Access
from evalharness.syntax.source import ENDINGS, Source, read_source
from evalharness.values.digest import digest
from evalharness.values.json_value import Json
from evalharness.values.pattern import Pattern, compile_pattern
from evalharness.values.text import head
from evalharness.workspaces import model_file

LONGEST_SEARCH_S = 1.0
SHOWN = 80
STEP_KEYS = ("text", "object", "tool_calls", "finish_reason")
_OURS = {
    "missing": "is missing",
    "extra_forbidden": "is not a known key",
    "string_type": "must be text",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "too_short": "must not be empty",
    "literal_error": f"must be one of {', '.join(get_args(FinishReason))}",
}
"""pydantic's problems, reworded for people who write YAML."""
_GROUP = re.compile(r"\{match:(\w+)\}")


class ScriptedCall(Record):
    name: str
    arguments: dict[str, Json] = Field(default_factory=dict)


class Step(Record):
    """One reply: `text`, a JSON `object`, tool calls, or a text with tool calls."""

    text: str | None = None
    object: dict[str, Json] | None = None
    tool_calls: tuple[ScriptedCall, ...] = ()
    finish_reason: FinishReason | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Step:
        if self.text is None and self.object is None and not self.tool_calls:
            raise ValueError("is empty: give text, object or tool_calls")
        if self.text is not None and self.object is not None:
            raise ValueError("has both text and object: a reply is one of them")
        return self


class Reply(Record):
    """The steps for messages that match `when`; a single step may be written beside `when` instead of in `steps`."""

    when: Pattern = ""
    steps: tuple[Step, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        if not isinstance(written, Mapping) or "steps" in written:
            return written
        step = {key: written[key] for key in STEP_KEYS if key in written}
        return {"steps": [step], **{key: value for key, value in written.items() if key not in step}}

    @model_validator(mode="after")
    def _has_the_groups(self) -> Reply:
        pattern = compile_pattern(self.when)
        known = {*map(str, range(pattern.groups + 1)), *pattern.groupindex}
        for step in self.steps:
            for text in _texts([step.text, step.object, [call.arguments for call in step.tool_calls]]):
                if unknown := next((name for name in _GROUP.findall(text) if name not in known), None):
                    raise ValueError(f"{{match:{unknown}}} is not a group of the pattern '{self.when}'")
        return self


class Script(Record):
    replies: tuple[Reply, ...] = Field(min_length=1)


class Scripted(Llm):
    def __init__(self, model: str, access: Access) -> None:
        self.name = access.name_of(model)
        self._script = read_script(model, access.root)
        self.revision = digest(self._script.model_dump(mode="json"))

    async def chat(self, request: ChatRequest) -> ChatReply:
        position, asked = _last_user_message(request.messages)
        said_since = sum(message.role == "assistant" for message in request.messages[position:])
        for reply in self._script.replies:
            if (found := self._search(reply.when, asked)) is not None:
                step = reply.steps[min(said_since, len(reply.steps) - 1)]
                return self._reply(request, step, found, said_since)
        raise ModelUnavailable(
            f"{self.name} has no reply to: {head(' '.join(asked.split()), SHOWN) or 'an empty message'}"
        )

    def _search(self, pattern: str, text: str) -> Any:
        try:
            return compile_pattern(pattern).search(text, timeout=LONGEST_SEARCH_S)
        except TimeoutError:
            raise ModelUnavailable(f"{self.name}: the search for /{pattern}/ took too long") from None

    def _reply(self, request: ChatRequest, step: Step, found: Any, said_since: int) -> ChatReply:
        text = _filled(step.text or "", found) if step.object is None else _as_json(_filled(step.object, found))
        calls = tuple(
            ToolRequest(
                id=f"call_{said_since + 1}_{number}",
                name=call.name,
                arguments=_as_json(_filled(call.arguments, found)),
            )
            for number, call in enumerate(step.tool_calls, start=1)
        )
        return ChatReply(
            text=text,
            tool_requests=calls,
            finish_reason=step.finish_reason or ("tool_calls" if calls else "stop"),
            model=self.name,
            usage=Usage(
                input_tokens=sum(_words(message.content) for message in request.messages),
                output_tokens=_words(text) + sum(_words(call.arguments) for call in calls),
            ),
        )


def read_script(model: str, root: Path) -> Script:
    """Raises InvalidFile with every problem of the script, each with its line."""
    path = model_file(model, root) or root / model
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(f"{path} is not a script", hint="a script is a YAML file, as in scripted/replies.yaml")
    source = read_source(path)
    try:
        return Script.model_validate(source.data)
    except ValidationError as error:
        # pydantic leaves out a wrong entry, and may then also report that there are too few.
        found = [each for each in error.errors() if each["type"] != "too_short" or not each["input"]]
        raise InvalidFile([_problem(source, each) for each in found]) from None


def _problem(source: Source, found: Mapping[str, Any]) -> Problem:
    place = as_written(found["loc"])
    message = _OURS.get(found["type"]) or message_of({**found, "wanted": ()})
    return Problem(str(source.path), source.line_of(place), field_text(place), message)


def _last_user_message(messages: tuple[ChatMessage, ...]) -> tuple[int, str]:
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "user":
            return position, messages[position].content
    return 0, ""


def _filled(value: Any, found: Any) -> Any:
    """The value with the groups filled in, at any depth; a group that did not match is empty."""
    if isinstance(value, str):
        return _GROUP.sub(lambda group: found[int(group[1]) if group[1].isdigit() else group[1]] or "", value)
    if isinstance(value, Mapping):
        return {key: _filled(item, found) for key, item in value.items()}
    return [_filled(item, found) for item in value] if isinstance(value, list) else value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _words(text: str) -> int:
    return len(text.split())
