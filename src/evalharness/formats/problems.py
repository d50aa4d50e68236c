"""From pydantic's errors to problems that name the line, the field, what is allowed and what was probably meant."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from evalharness.domain.invalid_values import STRAY, as_written, choices_of, each_place_once, message_of
from evalharness.domain.options import Options
from evalharness.domain.problem import FieldPath, Problem, Severity, field_text
from evalharness.errors import UnknownName, closest
from evalharness.syntax.source import Source

Model = TypeVar("Model", bound=BaseModel)


class Findings:
    """The problems of one file, gathered while it is read."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.parts: set[Path] = set()
        """Other files that were read because this one refers to them."""
        self.cases: dict[str, tuple[Source, FieldPath]] = {}
        """Where each case stands, by its id."""
        self.thresholds_from = ""
        """The file around this one that says what its suite must reach."""

    @property
    def has_errors(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)

    def add(self, path: FieldPath, message: str, **more: Any) -> None:
        line = self.source.line_of(path)
        self.problems.append(Problem(str(self.source.path), line, field_text(path), message, **more))

    def case_at(self, case_id: str, path: FieldPath) -> None:
        self.cases.setdefault(case_id, (self.source, path))

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

    def unknown_label(
        self, path: FieldPath, label: Any, known: Collection[str], severity: Severity = "warning"
    ) -> None:
        """A text that groups and selects cases, and is none of the known ones; anything else is left for its model."""
        if isinstance(label, str) and label and label not in known and "{{" not in label:
            message, allowed = f"unknown {path[-1]} '{label}'", ", ".join(known)
            self.add(path, message, allowed=allowed, suggestion=closest(label, known) or "", severity=severity)

    def validated(
        self,
        path: FieldPath,
        model: type[Model],
        written: Any,
        moved: Mapping[str, FieldPath] | None = None,
    ) -> Model | None:
        """What was written, as a model; None when it is none, which has then been reported."""
        try:
            return model.model_validate(written)
        except ValidationError as error:
            self.invalid(path, error, model, moved)
            return None

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
        for found in list(each_place_once(error.errors(include_url=False))):
            if isinstance(found["input"], str) and "{{" in found["input"] and issubclass(model, Options):
                continue
            if found["type"] in STRAY:
                *around, key = found["loc"]
                inside = as_written(around)
                place = _reached(self.source.data, (*_placed(path, inside, moved), str(key)))
                self._stray_key(place, _keys_at(model, inside))
                continue
            place = _reached(self.source.data, _placed(path, as_written(found["loc"]), moved))
            allowed = choices_of(found)
            self.add(place, message_of(found), allowed=allowed, suggestion=_meant(found, allowed))

    def _stray_key(self, place: FieldPath, allowed: list[str]) -> None:
        """A key that is allowed was not taken because the same is written in another spelling, too."""
        if place[-1] in allowed:
            self.add(place, "is given twice, in two spellings; keep one of them")
        else:
            self.unknown_keys(place[:-1], [str(place[-1])], allowed)


def problems_text(error: ValidationError, model: type[BaseModel]) -> str:
    """Every error of a model that stands in no file."""
    findings = Findings(Source(Path(), None, lambda: 0))
    findings.invalid((), error, model)
    return "; ".join(str(dataclasses.replace(problem, file="")) for problem in findings.problems)


def _meant(found: Any, allowed: str) -> str:
    if not allowed or not isinstance(found["input"], str):
        return ""
    return closest(found["input"], [choice.strip() for choice in allowed.split(",")]) or ""


def _placed(path: FieldPath, place: FieldPath, moved: Mapping[str, FieldPath] | None) -> FieldPath:
    if moved and place and (start := moved.get(str(place[0]))) is not None:
        return (*start, *place[1:])
    return (*path, *place)


def _keys_at(model: type[BaseModel], place: FieldPath) -> list[str]:
    """The keys allowed at a place inside a model."""
    current: Any = model
    for part in place:
        fields = (field for name, field in _fields(current).items() if part in _spellings(name, field))
        current = next((found for field in fields if (found := _model_in(field.annotation))), current)
    if issubclass(current, Options):
        return sorted(current.known_keys())
    return sorted({key for name, field in _fields(current).items() for key in _spellings(name, field)})


def _fields(shape: Any) -> Mapping[str, FieldInfo]:
    """Of a model, or of a dataclass in one, which has neither other spellings nor models in it."""
    if dataclasses.is_dataclass(shape):
        return {field.name: FieldInfo() for field in dataclasses.fields(shape)}
    found: Mapping[str, FieldInfo] = shape.model_fields
    return found


def _spellings(name: str, field: FieldInfo) -> set[str]:
    choices = getattr(field.validation_alias, "choices", (field.validation_alias,))
    return {name, *(choice for choice in choices if isinstance(choice, str))}


def _reached(data: Any, path: FieldPath) -> FieldPath:
    """Where a short form was written: `files[1]` for `files[1].path`, `target.result` for `target.command.result`.

    The kind of a part is no step of the way where it is not a key: `scorers[0].maxMs` for `scorers[0].latency.maxMs`.
    One entry may stand in place of a list of them: `notify.url` for `notify[0].url`.
    """
    around: Any = None
    whole = data
    for depth, step in enumerate(path):
        if (
            isinstance(step, int)
            and isinstance(data, Mapping)
            and path[depth + 1 : depth + 2]
            and path[depth + 1] in data
        ):
            return _reached(whole, (*path[:depth], *path[depth + 1 :]))
        is_inside = isinstance(data, list) if isinstance(step, int) else isinstance(data, Mapping)
        if data is not None and not is_inside:
            beside = isinstance(around, Mapping) and step in around
            return (*path[: depth - 1], *path[depth:]) if beside else path[:depth]
        if isinstance(data, Mapping) and step not in data and len(path) > depth + 1:
            return (*path[:depth], *path[depth + 1 :])
        try:
            around, data = data, data[step]
        except (KeyError, IndexError, TypeError):
            break
    return path


def _model_in(annotation: Any) -> type | None:
    if isinstance(annotation, type) and (issubclass(annotation, BaseModel) or dataclasses.is_dataclass(annotation)):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
