"""chat: a language model by itself, asked what the case asks; a conversation is held turn by turn."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import jsonschema_rs
from pydantic import field_validator

from evalharness.contracts.model import ChatReply
from evalharness.contracts.target import Task
from evalharness.domain.options import Options
from evalharness.domain.transcript import Transcript
from evalharness.targets.dialogue import Dialogue, ModelOptions, ModelPart
from evalharness.values.json_schema import circular_reference
from evalharness.values.json_value import Json
from evalharness.values.text import head

SHOWN_PROBLEM = 300
SHOWN_TOOLS = 100


class ChatOptions(ModelOptions):
    """`json_schema` asks for replies that are JSON objects of this schema."""

    json_schema: dict[str, Json] | None = None

    @field_validator("json_schema")
    @classmethod
    def _describes_objects(cls, schema: dict[str, Json] | None) -> dict[str, Json] | None:
        if schema is None:
            return None
        if schema.get("type", "object") != "object":
            raise ValueError("must describe an object: type: object")
        try:
            _validator(schema)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise ValueError(f"is not a JSON Schema: {str(error).splitlines()[0]}") from None
        if (reference := circular_reference(schema)) is not None:
            raise ValueError(f"is circular: the reference '{reference}' leads back to itself")
        return schema


class ChatTarget(ModelPart):
    Options: ClassVar[type[Options]] = ChatOptions
    options: ChatOptions

    async def answer(self, task: Task) -> Transcript:
        schema, output = self.options.json_schema, None
        dialogue = Dialogue(self.llm, self.options.request(task))
        async with dialogue.of(task) as turns:
            for turn in turns:
                dialogue.say(*turn)
                if schema is None:
                    reply = await dialogue.reply()
                    if reply.tool_requests and not reply.text.strip():
                        raise dialogue.failed(_only_asked(reply))
                else:
                    output = await dialogue.reply_with_object(schema, self._checked)
        return dialogue.transcript(output)

    @cached_property
    def _schema(self) -> Any:
        return _validator(self.options.json_schema)

    def _checked(self, value: dict[str, Json]) -> dict[str, Json]:
        for problem in self._schema.iter_errors(value):
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem.instance_path)
            raise ValueError(f"it does not match the schema: ${place}: {head(problem.message, SHOWN_PROBLEM)}")
        return value


def _only_asked(reply: ChatReply) -> str:
    tools = head(", ".join(call.name for call in reply.tool_requests), SHOWN_TOOLS)
    return f"the model said nothing and asked for a tool ({tools}); a chat target has none"


def _validator(schema: Any) -> Any:
    return jsonschema_rs.validator_for(schema, retriever=_refuse_remote)


def _refuse_remote(uri: str) -> Any:
    raise ValueError(f"references to other documents are not fetched: {uri}")
