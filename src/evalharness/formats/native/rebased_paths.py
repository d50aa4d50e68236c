"""Paths of a file that another one refers to, made relative to the folder of the suite they both belong to."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import UnknownName, UsageError
from evalharness.references import split_reference
from evalharness.values.json_value import Json

HERE = "."
WITHOUT_PATHS = ("http", "skill")


def rebased_case(case: Case, prefix: str) -> Case:
    """The case with its files found from the suite's folder; its graders and its target were read as such."""
    if prefix == HERE or not case.files:
        return case
    files = {
        name: file if file.path is None else file.model_copy(update={"path": _led_by(prefix, file.path)})
        for name, file in case.files.items()
    }
    return case.model_copy(update={"files": files})


def rebased_target(spec: TargetSpec, prefix: str) -> TargetSpec:
    """A target has a folder of its own, which all its paths and modules are looked for in."""
    if prefix == HERE or spec.function is not None or spec.kind in WITHOUT_PATHS:
        return spec
    return spec.model_copy(update={"root": _led_by(prefix, spec.root or HERE)})


def rebased_grader(spec: GraderSpec, prefix: str) -> GraderSpec:
    """Functions in files are found from the suite's folder, at any depth of graders made of graders."""
    if prefix == HERE:
        return spec
    return spec.model_copy(update={"options": _rebased_options(spec, prefix)})


def _rebased_options(spec: GraderSpec, prefix: str) -> Json:
    if spec.kind == "function":
        if isinstance(spec.options, Mapping) and isinstance(reference := spec.options.get("function"), str):
            return {**spec.options, "function": _rebased_reference(reference, prefix)}
        return _rebased_reference(spec.options, prefix) if isinstance(spec.options, str) else spec.options
    if spec.kind == "function_output":
        return _with_rebased_comparators(spec.options, prefix)
    try:
        options = registry.parse_options("grader", spec)
    except (UnknownName, ValidationError):
        return spec.options
    written: dict[str, Any] = {
        name: getattr(options, name) for name in ("grader", "graders") if name in type(options).model_fields
    }
    if not written:
        return spec.options
    rest = options.model_dump(mode="json", exclude=set(written), exclude_unset=True)
    return {**rest, **{name: _rebased_parts(value, prefix) for name, value in written.items()}}


def _with_rebased_comparators(written: Any, prefix: str) -> Any:
    """Of the grader and of its test cases; those that come with the harness are no references."""
    if isinstance(written, list):
        return [_with_rebased_comparators(case, prefix) for case in written]
    if not isinstance(written, Mapping):
        return written
    found = {**written}
    if isinstance(comparator := written.get("comparator"), str):
        found["comparator"] = _rebased_reference(comparator, prefix)
    if "test_cases" in written:
        found["test_cases"] = _with_rebased_comparators(written["test_cases"], prefix)
    return found


def _rebased_parts(parts: GraderSpec | tuple[GraderSpec, ...], prefix: str) -> Json:
    if isinstance(parts, GraderSpec):
        return rebased_grader(parts, prefix).model_dump(mode="json")
    return [rebased_grader(part, prefix).model_dump(mode="json") for part in parts]


def _rebased_reference(reference: str, prefix: str) -> str:
    try:
        place, attribute = split_reference(reference)
    except UsageError:
        return reference
    is_file = place.endswith(".py") or "/" in place
    return f"{_led_by(prefix, place)}:{attribute}" if is_file else reference


def _led_by(prefix: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(prefix, path))
