"""A grader or a target as data: its kind, its options, and the short forms people write.

Options are kept as written; what they mean is decided by the part itself (its `Options` model), which is found
through the registry. So a specification can be stored, compared and sent to another machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field, model_validator

from evalharness.domain.prompt import Prompt
from evalharness.domain.record import Record
from evalharness.errors import closest
from evalharness.values.json_value import Json

MODEL_TARGETS = ("chat", "agent")
MACHINE_TARGETS = ("container", "docker-agent")
BUILT_IN = ("oracle", "null", "echo")
_FIELD_OF_INPUT = re.compile(r"\{input\.[\w.-]+\}")
Weight = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False, strict=True)]


class GraderSpec(Record):
    """`{contains: Ada}`, `{regex: …, weight: 2}`, `{type: exact, value: 4}`, `file.py:attr` or a Python function."""

    kind: str
    options: Json = None
    required: bool = True
    weight: Weight = 1.0
    name: str = ""
    function: Callable[..., Any] | None = Field(default=None, exclude=True, repr=False)

    @property
    def label(self) -> str:
        return self.name or self.kind

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, written: Any) -> Any:
        return expand_short_form(written, "grader", common=("required", "weight", "name"))


class TargetSpec(Record):
    """`agent.py:answer`, `cmd:./agent --fast`, a URL, `chat:provider/model`, `oracle`, `{command: […]}`, `{http: {…}}`,
    a Python function."""

    kind: str
    options: Json = None
    name: str = ""
    tools: tuple[str, ...] | None = None
    root: str = ""
    """The folder its paths are relative to, where that is not the suite's own."""
    source_file: str = ""
    """The target file that describes it, as the user named that file."""
    variant: dict[str, Json] = Field(default_factory=dict)
    """What a variant tells the target about itself: filled in when a run is planned."""
    prompt: Prompt | None = None
    """How it is asked, if the suite has prompts: set when a run is planned."""
    function: Callable[..., Any] | None = Field(default=None, exclude=True, repr=False)

    @property
    def label(self) -> str:
        return self.name or self.described()

    @property
    def is_built_in(self) -> bool:
        """Whether it proves cases, and says nothing about anybody's agent."""
        return self.kind in BUILT_IN

    @property
    def is_templated(self) -> bool:
        """Whether `{{name}}` in it is a variable whatever the suite says: in a file of its own, or in an address."""
        return bool(self.source_file) or (self.kind == "http" and isinstance(self.options, str))

    @property
    def takes_input_apart(self) -> bool:
        """Whether it asks for single fields of the input, as in `{input.customer}`."""
        return _FIELD_OF_INPUT.search(str(self.options)) is not None

    @property
    def model(self) -> str:
        """The language model that answers, as `provider/model`; empty where the target itself knows."""
        if self.kind not in MODEL_TARGETS:
            return ""
        named = self.options.get("model") if isinstance(self.options, Mapping) else self.options
        return named if isinstance(named, str) else ""

    def described(self) -> str:
        """The target in one short line, as a user would name it."""
        options = self.options
        if self.kind == "function" and isinstance(options, str):
            return options
        if isinstance(options, Mapping) and len(options) >= 1:
            named = (options.get(key) for key in ("url", "model", self.kind))
            options = next(filter(None, named), None) or next(iter(options.values()))
        if self.kind == "command" and isinstance(options, list):
            options = " ".join(str(word) for word in options)
        if isinstance(options, str):
            return options if self.kind in ("function", "http") else f"{self.kind} {options}"
        return self.kind

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, written: Any) -> Any:
        if isinstance(written, str):
            return _target_text(written)
        return expand_short_form(written, "target", common=("name", "tools"))


WrittenTarget: TypeAlias = str | TargetSpec | Mapping[str, Any] | Callable[..., Any]
"""Whatever `--target` takes, and from Python also a function, a mapping or a specification."""


def is_live(spec: GraderSpec | TargetSpec) -> bool:
    """Whether it is a Python function that only the program that made it has, so that no file can name it."""
    named = spec.options if spec.kind == "function" and isinstance(spec.options, Mapping) else {}
    return spec.function is not None or "live" in named


def expand_short_form(written: Any, noun: str, common: tuple[str, ...]) -> Any:
    """Whatever was written → `{kind, options, …common}`; raises ValueError (pydantic adds the place)."""
    if callable(written):
        return {"kind": "function", "options": {"live": function_name(written)}, "function": written}
    if isinstance(written, str):
        return {"kind": "function", "options": written} if ":" in written else {"kind": written}
    if not isinstance(written, Mapping) or "kind" in written:
        return written
    rest = {key: value for key, value in written.items() if key not in common}
    shared = {key: value for key, value in written.items() if key in common}
    if "type" in rest:
        kind = rest.pop("type")
        if not isinstance(kind, str):
            raise ValueError(f"'type' must be the name of a {noun}")
        return {"kind": kind, "options": rest or None, **shared}
    if not rest:
        raise ValueError(f"must name a {noun}: write {{{noun}-name: options}}")
    kind, options = next(iter(rest.items()))
    extra = {key: value for key, value in rest.items() if key != kind}
    if extra:
        options = _with_options_beside(kind, options, extra, noun, common)
    if kind == "function" and callable(options):
        return {**expand_short_form(options, noun, common), **shared}
    return {"kind": kind, "options": options, **shared}


def _with_options_beside(
    kind: str, options: Json, extra: dict[str, Json], noun: str, common: tuple[str, ...]
) -> dict[str, Json]:
    """`{http: URL, result: json}` and `{http: {url: URL}, result: json}` are the same.

    The mapping of a grader may be a value of its own (json_equals), so a stray key is never taken for a part of it.
    """
    if not isinstance(options, Mapping):
        return {kind: options, **extra}
    for key in extra:
        meant = closest(str(key), common)
        if meant or noun != "target":
            advice = f"did you mean '{meant}'?" if meant else f"write all options of {kind} inside its mapping"
            raise ValueError(f"unknown key '{key}' next to the mapping of '{kind}'; {advice}")
        if key in options:
            raise ValueError(f"'{key}' is given twice: next to the mapping of '{kind}' and inside it")
    return {**options, **extra}


def function_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '?')}:{name}"


def _target_text(text: str) -> dict[str, Json]:
    if text.startswith("cmd:"):
        return {"kind": "command", "options": text[4:].strip()}
    if text.startswith(("http://", "https://")):
        return {"kind": "http", "options": text}
    kind, colon, rest = text.partition(":")
    is_function = kind == "agent" and rest.replace(".", "").isidentifier()  # `agent:answer`: many call their module so
    if kind in (*MODEL_TARGETS, *MACHINE_TARGETS) and not is_function and rest:
        return {"kind": kind, "options": rest}
    if colon:
        return {"kind": "function", "options": text}
    return {"kind": text}
