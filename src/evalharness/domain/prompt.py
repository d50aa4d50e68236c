"""Prompt: what a target is asked, as a template; each case fills in the `{{variables}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, StringConstraints, field_validator, model_validator

from evalharness.domain.record import Record
from evalharness.values.json_value import Json
from evalharness.values.variables import needed

JOINED = " · "
"""Between the names of a prompt and a target in the name of their variant."""
Label = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class PromptMessage(Record):
    role: Literal["system", "developer", "user", "assistant"]
    content: str

    @field_validator("content")
    @classmethod
    def _says_something(cls, text: str) -> str:
        return _checked_text(text)


class Prompt(Record):
    """A text, or the messages of a chat. The suite names one that has no name by its position."""

    name: Label = Field(default="", validation_alias=AliasChoices("name", "label"))
    text: str | None = None
    messages: Annotated[tuple[PromptMessage, ...], Field(min_length=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, written: Any) -> Any:
        if isinstance(written, str):
            return {"text": written}
        return {"messages": written} if isinstance(written, list | tuple) else written

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str | None) -> str | None:
        return None if text is None else _checked_text(text)

    @model_validator(mode="after")
    def _one_of_both(self) -> Prompt:
        if (self.text is None) == (self.messages is None):
            raise ValueError("a prompt must be a text, {text: …}, {file: …} or {messages: […]}")
        return self

    @property
    def content(self) -> Json:
        """As the `input` of a case would be written."""
        if self.messages is None:
            return self.text
        return {"messages": [message.model_dump() for message in self.messages]}

    @property
    def variables(self) -> set[str]:
        """Their names, in lower case."""
        return needed(self.content)


def _checked_text(text: str) -> str:
    """Without trailing line breaks: editors and YAML blocks add one that is not meant."""
    if not text.strip():
        raise ValueError("is empty: write what to ask the target")
    return text.rstrip("\r\n")


def named_prompts(written: Any) -> Any:
    """`{name: prompt}` as a list of prompts that have their names; anything else as it is."""
    if not isinstance(written, Mapping):
        return written
    return [_with_name(name, prompt) for name, prompt in written.items()]


def _with_name(name: str, prompt: Any) -> Any:
    if isinstance(prompt, str):
        return {"name": name, "text": prompt}
    if isinstance(prompt, list | tuple):
        return {"name": name, "messages": prompt}
    if isinstance(prompt, Prompt):
        return prompt.model_copy(update={"name": name})
    return {"name": name, **prompt} if isinstance(prompt, Mapping) else prompt
