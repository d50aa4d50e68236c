"""`{input}` and its kin in commands, URLs, headers and bodies. Anything else in braces is left as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from evalharness.contracts import Task
from evalharness.domain.case import as_text
from evalharness.domain.record import Json
from evalharness.errors import TargetFailed

PLACE = re.compile(r"\{(input(?:\.[\w.-]+)?|case_id|index|seed|workspace)\}")


def fill_template(text: str, task: Task, quote: Callable[[str], str] = str) -> str:
    return PLACE.sub(lambda found: quote(as_text(_value(found[1], task))), text)


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


def _value(name: str, task: Task) -> Any:
    if name == "case_id":
        return task.case.id
    if name in ("index", "seed"):
        return getattr(task, name)
    if name == "workspace":
        return str(task.workspace)
    value = task.case.content
    for step in name.split(".")[1:]:
        if not isinstance(value, dict) or step not in value:
            raise TargetFailed(f"the target asks for {{{name}}}, which the input of case {task.case.id} does not have")
        value = value[step]
    return value
