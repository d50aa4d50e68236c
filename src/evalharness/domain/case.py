"""Case: one thing to ask, with what is expected of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec, TargetSpec, Weight
from evalharness.values.json_value import Json
from evalharness.values.variables import scalar_values

EVAL_TYPES = ("capability", "regression")
DIFFICULTIES = ("easy", "medium", "hard")
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]


class CaseFile(Record):
    """A file in the trial's workspace: its text, or the path of a file next to the suite."""

    text: str | None = None
    path: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        return {"text": written} if isinstance(written, str) else written

    @model_validator(mode="after")
    def _one_of_both(self) -> CaseFile:
        if (self.text is None) == (self.path is None):
            raise ValueError("give either the file's text or {path: file-next-to-the-suite}")
        return self


def observation(case_id: str, cluster: str) -> str:
    """Cases of one cluster count as one observation; a case without one is its own."""
    return f"cluster {cluster}" if cluster else f"case {case_id}"


class Case(Record):
    id: Name = ""
    """Where it is left out, its suite calls it `case-1`, `case-2`, … by its position."""
    name: str = ""
    description: str = ""
    input: Json
    vars: dict[str, str] = Field(default_factory=dict)
    """Values of variables for this case alone, in its own texts, the suite's graders and the prompts."""
    expected: GraderSpec | None = None
    graders: tuple[GraderSpec, ...] | None = None
    code_check: GraderSpec | None = None
    """How code would compare with what is expected, where a judge or a person does. Files write `expected` and
    `grader` side by side."""
    reference: Json = None
    null_passes: Annotated[bool, Field(strict=True)] = False
    """Whether doing nothing is right: a selftest then lets an empty answer pass."""
    files: dict[str, CaseFile] = Field(default_factory=dict)
    setup: str = ""
    """A shell script that is run in the workspace, isolated, before the target is asked."""
    skip: str = ""
    """Why the case is not to be tried; empty for one that is."""
    target: TargetSpec | None = None
    """Its own target, where it has one; `--target` and variants replace it."""
    required_tools: tuple[str, ...] = ()
    max_rounds: Annotated[int, Field(ge=0, strict=True)] | None = None
    tags: tuple[str, ...] = ()
    category: str = ""
    eval_type: str = ""
    timeout_seconds: Seconds | None = None
    retries: Annotated[int, Field(ge=0, strict=True)] | None = None
    weight: Weight = 1.0
    cluster: str = ""
    criticality: Literal["", "critical", "high", "medium", "low"] = ""
    difficulty: str = ""
    metadata: dict[str, Json] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _input_may_be_variables(cls, written: Any) -> Any:
        """A case with `vars` needs no input: a prompt asks for them, or the target gets them."""
        is_lacking = isinstance(written, Mapping) and "vars" in written and "input" not in written
        return {**written, "input": None} if is_lacking else written

    @field_validator("vars", mode="before")
    @classmethod
    def _scalars_as_text(cls, written: Any) -> Any:
        return scalar_values(written)

    @model_validator(mode="after")
    def _each_variable_once(self) -> Case:
        values = self.own_values if self.vars else {}
        if len(values) < len(self.vars):
            raise ValueError("vars: two names differ only in upper and lower case")
        if "input" in values and self.input is not None:
            raise ValueError("'input' is given twice: by itself and under `vars`")
        return self

    @field_validator("expected", mode="before")
    @classmethod
    def _expected_short_form(cls, written: Any) -> Any:
        if written is None or isinstance(written, GraderSpec | Mapping):
            return written
        if isinstance(written, str | int | float):
            return {"kind": "exact", "options": written if isinstance(written, str) else json.dumps(written)}
        raise ValueError("must be text, a number, true/false or {grader: options}; for a list use {json_equals: […]}")

    @field_validator("files", mode="before")
    @classmethod
    def _files_short_form(cls, written: Any) -> Any:
        if isinstance(written, list | tuple) and all(isinstance(path, str) for path in written):
            return {path: {"path": path} for path in written}
        return written

    @field_validator("tags")
    @classmethod
    def _each_tag_once(cls, tags: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(tags))

    @property
    def title(self) -> str:
        return self.name or self.id

    @property
    def content(self) -> Json:
        """What a function is given: the text, the messages, or the data itself; without an input, the variables."""
        return dict(self.vars) if self.input is None and self.vars else input_content(self.input)

    @property
    def own_values(self) -> dict[str, str]:
        """Its variables by lower-case name."""
        return {name.lower(): value for name, value in self.vars.items()}

    def values_for(self, names: Iterable[str]) -> dict[str, str]:
        """Those variables of a prompt that the case itself fills in: its own, `input`, and `input.key` of data."""
        own = self.own_values
        found = {name: self._of_input(name) for name in names if name not in own}
        return own | {name: value for name, value in found.items() if value is not None}

    def _of_input(self, name: str) -> str | None:
        first, *steps = name.split(".")
        if first != "input" or self.input is None:
            return None
        value = self.content
        for step in steps:
            keys = [key for key in value if str(key).lower() == step] if isinstance(value, Mapping) else []
            if not keys:
                return None
            value = value[keys[0]]
        return as_text(value)

    @property
    def context(self) -> Json:
        """What `input: {type, content, context}` says beside the question."""
        return self.input.get("context") if isinstance(self.input, Mapping) and is_typed_input(self.input) else None

    @property
    def content_text(self) -> str:
        """What a program reads on stdin: the text as it is, anything else as compact JSON."""
        return as_text(self.content)


def input_content(written: Json) -> Json:
    if isinstance(written, Mapping):
        keys = set(written)
        if keys == {"prompt"}:
            return written["prompt"]
        if keys == {"messages"}:
            return written["messages"]
        if is_typed_input(written):
            return written["content"]
    return written


def is_typed_input(written: Mapping[str, Json]) -> bool:
    """`{type, content}`, with or without `context`."""
    return {"type", "content"} <= set(written) <= {"type", "content", "context"}


def as_text(value: Json) -> str:
    """Text stays text, plain whatever Python class it has; every other JSON value becomes compact JSON."""
    if isinstance(value, str):
        return str.__str__(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def session_file(case: Case) -> str:
    """The name of the file a case was made from; empty where it was not made from a recorded session."""
    return str(session_record(case).get("file", ""))


def session_record(case: Case) -> Mapping[str, Json]:
    """What a case keeps of its session: `file`, `id` and `evals`."""
    kept = case.metadata.get("session")
    return kept if isinstance(kept, Mapping) else {}
