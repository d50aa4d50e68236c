"""Checking the parts of a suite: options of graders and targets, the functions and files they name.

Nothing is imported or run here: a file is looked for, a module is taken on trust.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.case import CaseFile
from evalharness.domain.problem import FieldPath
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import UnknownName, UsageError
from evalharness.formats.problems import Findings
from evalharness.references import reference_file

Spec = TypeVar("Spec", GraderSpec, TargetSpec)


def read_spec(model: type[Spec], written: Any) -> Spec | None:
    """None where the short form itself is wrong, which the model around it reports."""
    try:
        return None if written is None else model.model_validate(written)
    except ValidationError:
        return None


def check_grader(findings: Findings, place: FieldPath, spec: GraderSpec) -> None:
    _check_part(findings, place, "grader", spec)


def check_target(findings: Findings, place: FieldPath, spec: TargetSpec) -> None:
    _check_part(findings, place, "target", spec)


def check_graders(findings: Findings, place: FieldPath, written: Any) -> None:
    for index, grader in enumerate(written if isinstance(written, list) else []):
        spec = read_spec(GraderSpec, grader)
        if spec is not None:
            check_grader(findings, (*place, index), spec)


def check_files(findings: Findings, place: FieldPath, files: Mapping[str, CaseFile], root: Path) -> None:
    """Paths are relative to the file that names them; what they name lies in `root`, the suite's folder."""
    for name, file in files.items():
        where = (*place, name)
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\0" in name or not name:
            findings.add(where, "must be a relative path inside the workspace")
        if file.path is None:
            continue
        path = (findings.source.path.parent / file.path.replace("\0", "")).resolve()
        if not path.is_relative_to(root):
            findings.add(where, f"{file.path} lies outside the suite's folder")
        elif not is_file(path):
            findings.add(where, f"there is no file {file.path} in the suite's folder")


def is_file(path: Path) -> bool:
    """Also for paths that cannot be: too long, with a NUL character, behind a folder that may not be entered."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def kind_of(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true/false", type(None): "empty"}
    return names.get(type(value), "a number")


def _check_part(findings: Findings, place: FieldPath, noun: registry.Noun, spec: GraderSpec | TargetSpec) -> None:
    try:
        options = registry.load(noun, spec.kind).Options
        options.model_validate(registry.written_options(options, spec))
    except UnknownName as error:
        findings.unknown_name(place, error)
    except ValidationError as error:
        findings.invalid((*place, spec.kind), error, options)
    if spec.kind == "function":
        reference = spec.options.get("function") if isinstance(spec.options, Mapping) else spec.options
        if isinstance(reference, str):
            _check_reference(findings, place, reference, noun)


def _check_reference(findings: Findings, place: FieldPath, reference: str, noun: str) -> None:
    if "{{" in reference:
        return
    try:
        file = reference_file(reference, findings.source.path.parent)
    except UsageError as error:
        findings.add(place, f"{error.message}; {error.hint}")
        return
    if file is not None and not is_file(file):
        # A target can still be replaced by --target; a grader cannot.
        severity = "warning" if noun == "target" else "error"
        findings.add(place, f"the {noun}'s file {reference.rpartition(':')[0]} does not exist", severity=severity)
