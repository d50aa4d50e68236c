"""`{input}` and its kin in commands, URLs, headers and bodies. Anything else in braces is left as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evalharness.contracts.target import Task
from evalharness.domain.case import as_text
from evalharness.errors import TargetFailed
from evalharness.values.json_value import Json

PLACE = re.compile(r"\{((?:input|context|variant)(?:\.[\w.-]+)?|case_id|index|seed|workspace|max_rounds)\}")
_SHELL_TOKEN = re.compile(rf"""{PLACE.pattern}|\\.|['"]""", re.DOTALL)
_SHELL_FORMS = {"": '"${%d}"', '"': "${%d}", "'": "'\"${%d}\"'"}


def fill_template(text: str, task: Task, quote: Callable[[str], str] = str) -> str:
    return PLACE.sub(lambda found: quote(_text(found[1], task)), text)


def asks_for_input(text: str) -> bool:
    return any(name.startswith("input") for name in PLACE.findall(text))


def fill_shell_line(line: str, task: Task) -> tuple[str, list[str]]:
    """The line with `${1}`, `${2}`, … for its placeholders, and their values: the shell's positional parameters.

    So the shell never reads a value as code, whatever the value holds and however the placeholder was quoted.
    """
    values: list[str] = []
    open_quote = ""

    def replacement(found: re.Match[str]) -> str:
        nonlocal open_quote
        token = found[0]
        if found[1]:
            values.append(_text(found[1], task))
            return _SHELL_FORMS[open_quote] % len(values)
        if token.startswith("\\"):
            # Inside single quotes a backslash means itself, and so it does not protect the quote that ends them.
            open_quote = "" if open_quote == "'" and token[1] == "'" else open_quote
        elif token == open_quote:
            open_quote = ""
        elif not open_quote:
            open_quote = token
        return token

    return _SHELL_TOKEN.sub(replacement, line), values


def fill_value(value: Json, task: Task) -> Json:
    """A JSON template: a text that is one placeholder alone becomes the value itself, not its text."""
    if isinstance(value, str):
        alone = PLACE.fullmatch(value)
        return _value(alone[1], task) if alone else fill_template(value, task)
    if isinstance(value, dict):
        return {key: fill_value(item, task) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill_value(item, task) for item in value]
    return value


_GATEWAY = re.compile(r"\{\{\s*gateway_(url|key)\s*\}\}", re.IGNORECASE)


def with_gateway(value: Any, task: Task) -> Any:
    """`{{gateway_url}}` and `{{gateway_key}}`: where the server that is asked can ask its models for this trial."""
    session = task.gateway
    if session is None:
        return value
    if isinstance(value, str):
        return _GATEWAY.sub(lambda found: session.url if found[1].lower() == "url" else session.key, value)
    if isinstance(value, dict):
        return {key: with_gateway(item, task) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_gateway(item, task) for item in value]
    return value


def _text(name: str, task: Task) -> str:
    """Empty for what the case does not say."""
    value = _value(name, task)
    return "" if value is None and name in ("context", "max_rounds") else as_text(value)


def _value(name: str, task: Task) -> Any:
    if name == "case_id":
        return task.case.id
    if name in ("index", "seed"):
        return getattr(task, name)
    if name == "workspace":
        return str(task.workspace)
    if name == "max_rounds":
        return task.case.max_rounds
    first, *steps = name.split(".")
    value: Any = {"input": task.case.content, "context": task.case.context, "variant": dict(task.variant)}[first]
    for step in steps:
        if not isinstance(value, dict) or step not in value:
            whose = "its variant" if first == "variant" else f"the {first} of case {task.case.id}"
            raise TargetFailed(f"the target uses {{{name}}}, which {whose} does not have")
        value = value[step]
    return value


def extra_task_fields(task: Task) -> dict[str, Json]:
    """What a target gets besides the question, where the case or its variant says something."""
    fields: dict[str, Json] = {
        "context": task.case.context,
        "max_rounds": task.case.max_rounds,
        "variant": dict(task.variant) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
