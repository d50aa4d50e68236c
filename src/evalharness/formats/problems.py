"""From pydantic's errors to problems that name the line, the field, what is allowed and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from evalharness.domain.options import Options
from evalharness.domain.problem import FieldPath, Problem, Severity, field_text, quoted
from evalharness.errors import UnknownName, closest
from evalharness.formats.source import Source


class Findings:
    """The problems of one file, gathered while it is read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.parts: set[Path] = set()
        """Other files that were read because this one refers to them."""

    @property
    def has_errors(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)

    def add(self, path: FieldPath, message: str, **more: Any) -> None:
        line = self.source.line_of(path)
        self.problems.append(Problem(str(self.source.path), line, field_text(path), message, **more))

    def unknown_keys(
        self, path: FieldPath, keys: Iterable[str], allowed: Collection[str], severity: Severity = "error"
    ) -> None:
        unknown = [key for key in keys if key not in allowed]
        if unknown:
            known = sorted(allowed)
            for key in unknown:
                self.add(
                    (*path, key),
                    f"unknown key '{key}'",
                    allowed=", ".join(known),
                    suggestion=closest(str(key), known) or "",
                    severity=severity,
                )

    def unknown_name(self, path: FieldPath, error: UnknownName) -> None:
        self.add(path, error.what, allowed=", ".join(error.choices), suggestion=error.guess)

    def invalid(
        self,
        path: FieldPath,
        error: ValidationError,
        model: type[BaseModel],
        moved: Mapping[str, FieldPath] | None = None,
    ) -> None:
        """Every error of a model, placed where the user wrote it. Values still to be filled in are left for later.

        `moved` tells where fields stand that are not found at `path` under their own names.
        """
        for found in error.errors(include_url=False):
            if isinstance(found["input"], str) and "{{" in found["input"] and issubclass(model, Options):
                continue
            if found["type"] == "extra_forbidden":
                *around, key = found["loc"]
                inside = _as_written(around)
                self.unknown_keys(_placed(path, inside, moved), [str(key)], _keys_at(model, inside))
                continue
            place = _as_written(found["loc"])
            expected = (found.get("ctx") or {}).get("expected", "")
            allowed = _choices(str(expected)) if found["type"] == "literal_error" else ""
            self.add(_placed(path, place, moved), _message(found), allowed=allowed, suggestion=_meant(found, allowed))


BRANCHES = ("str", "bool", "int", "float", "GraderSpec", "TargetSpec")
WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "dict": "a mapping",
    "model": "a mapping",
    "list": "a list",
    "tuple": "a list",
}


def _message(found: Any) -> str:
    """pydantic's words made ours: `must be a whole number, not 'big'`."""
    kind = found["type"]
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        return f"{quoted(str(found['input']))} is not allowed"
    family, _, detail = kind.partition("_")
    if family in WANTED and detail.startswith(("type", "parsing", "from")):
        text = f"must be {WANTED[family]}"
    else:
        text = str(found["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    got = found["input"]
    if text.startswith("must be") and isinstance(got, str | int | float | bool | None):
        text += f", not {quoted(got) if isinstance(got, str) else got}" if got is not None else ", not empty"
    return text


def _choices(expected: str) -> str:
    """pydantic's `'a', 'b' or 'c'` as `a, b, c`; the empty default is nothing that anybody writes."""
    return ", ".join(choice for choice in re.findall(r"'([^']*)'", expected) if choice)


def _meant(found: Any, allowed: str) -> str:
    if not allowed or not isinstance(found["input"], str):
        return ""
    return closest(found["input"], [choice.strip() for choice in allowed.split(",")]) or ""


def _as_written(location: Iterable[str | int]) -> FieldPath:
    """A location without the union branches that pydantic adds: `function-after[…]`, `tuple[str, ...]`, `str`."""
    return tuple(part for part in location if not (isinstance(part, str) and ("[" in part or part in BRANCHES)))


def _placed(path: FieldPath, place: FieldPath, moved: Mapping[str, FieldPath] | None) -> FieldPath:
    if moved and place and (start := moved.get(str(place[0]))) is not None:
        return (*start, *place[1:])
    return (*path, *place)


def _keys_at(model: type[BaseModel], place: FieldPath) -> list[str]:
    """The keys allowed at a place inside a model."""
    current: Any = model
    for part in place:
        if isinstance(current, type) and issubclass(current, BaseModel) and str(part) in current.model_fields:
            current = _model_in(current.model_fields[str(part)].annotation) or current
    if issubclass(current, Options):
        return sorted(current.known_keys())
    return sorted(current.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
