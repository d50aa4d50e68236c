"""The folder of a suite file: which files it may refer to, where their paths start, and the `config` folder around it.

A referred file (`$ref`, file inputs) is read only if it really lies in the suite's folder: links are followed first.
`config/graders.yaml` (name → grader) and `config/thresholds.yaml` (what to reach) are looked for in the suite's folder
and in up to four folders above it; the nearest counts.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.gate import PRESETS, Presets, Thresholds
from evalharness.domain.problem import FieldPath, quoted
from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import InvalidFile, UnknownName, UsageError
from evalharness.formats.parts import is_file, kind_of
from evalharness.formats.problems import Findings
from evalharness.references import split_reference
from evalharness.syntax.source import ENDINGS, Source, read_source
from evalharness.values.json_value import Json

REF = "$ref"
MAX_DEPTH = 16
MAX_TEXT_BYTES = 10_000_000

_REFUSED = (
    (re.compile(r"[\x00-\x1f\x7f]"), "must not contain control characters"),
    (re.compile(r"\\"), "must be written with / between its parts, not with \\"),
    (re.compile(r"%"), "must be a plain path, without %-codes"),
    (re.compile(r"[a-zA-Z][\w+.-]*:|^//"), "must be a path in the suite's folder, not a URL or a drive"),
    (re.compile(r"[#?]"), "must name a whole file, without # or ?"),
    (re.compile(r"\{\{"), "must not contain {{: files are read before variables are known"),
    (re.compile(r"^[/~]"), "must be a relative path"),
)


class Folder:
    """The folder that a suite and all that belongs to it lie in; paths are relative to the file that names them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.real = path.resolve()
        self._prefixes: dict[Findings, str] = {}

    def prefix_of(self, findings: Findings) -> str:
        """Where a file lies in this folder: what its paths must be led by to be relative to the folder instead."""
        if findings not in self._prefixes:
            folder = findings.source.path.parent.resolve()
            is_inside = folder.is_relative_to(self.real)
            self._prefixes[findings] = folder.relative_to(self.real).as_posix() if is_inside else "."
        return self._prefixes[findings]

    def find(self, findings: Findings, place: FieldPath, written: Any) -> Path | None:
        """The file meant, named as the folder is; None when it is refused, which has then been reported."""
        problem = _problem_of_text(written)
        if problem:
            findings.add(place, problem)
            return None
        try:
            real = (findings.source.path.parent / written).resolve(strict=True)
            is_inside = real.is_relative_to(self.real)
            is_file = is_inside and stat.S_ISREG(real.lstat().st_mode)
        except FileNotFoundError:
            findings.add(place, f"there is no file {written}")
            return None
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, up to Python 3.12
            reason = error.strerror if isinstance(error, OSError) else "its links form a loop"
            findings.add(place, f"{written} cannot be read: {reason}")
            return None
        if not is_inside:
            findings.add(place, f"{written} is outside the suite's folder")
        elif not is_file:
            findings.add(place, f"{written} is not a regular file")
        return self.path / real.relative_to(self.real) if is_file else None

    def read(self, findings: Findings, place: FieldPath, path: Path) -> Source | None:
        """The data of a file that was found, noted as a part of the suite."""
        if path.suffix.lower() not in ENDINGS:
            findings.add(place, f"{path.name} has an unknown ending", allowed=", ".join(ENDINGS))
            return None
        findings.parts.add(path.resolve())
        try:
            return read_source(path)
        except InvalidFile as error:
            for problem in error.problems:
                if problem.line:
                    findings.problems.append(problem)
                else:
                    findings.add(place, f"{path.name}: {problem.message}")
            return error.rest if isinstance(error.rest, Source) else None

    def read_text(self, findings: Findings, place: FieldPath, written: Any) -> str | None:
        path = self.find(findings, place, written)
        if path is None:
            return None
        try:
            with path.open("rb") as stream:
                content = stream.read(MAX_TEXT_BYTES + 1)
            if len(content) <= MAX_TEXT_BYTES:
                return content.decode("utf-8").removeprefix("\ufeff")
            findings.add(place, f"{written} is larger than {MAX_TEXT_BYTES // 1_000_000} MB")
        except OSError as error:
            findings.add(place, f"{written} cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            findings.add(place, f"{written} is not UTF-8 text")
        return None


def is_ref(written: Any) -> bool:
    return isinstance(written, Mapping) and REF in written


def _problem_of_text(written: Any) -> str:
    """Why a text cannot be a path in the folder, whatever the folder holds; empty when it can."""
    if not isinstance(written, str) or not written.strip():
        return f"must be the path of a file, not {'empty' if isinstance(written, str) else kind_of(written)}"
    for pattern, problem in _REFUSED:
        if pattern.search(written):
            return f"{quoted(written)} {problem}"
    return ""


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
    return with_parts(spec, lambda part: rebased_grader(part, prefix)).options


def with_parts(spec: GraderSpec, change: Callable[[GraderSpec], GraderSpec]) -> GraderSpec:
    """A grader made of graders, each of them changed; any other as it is, and so is one whose parts stay the same."""
    try:
        options = registry.parse_options("grader", spec)
    except (UnknownName, ValidationError):
        return spec
    name = next((name for name in ("grader", "graders") if name in type(options).model_fields), "")
    if not name:
        return spec
    written = getattr(options, name)
    parts = [written] if isinstance(written, GraderSpec) else [*written]
    changed = [change(part) for part in parts]
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return spec
    rest = options.model_dump(mode="json", exclude={name}, exclude_unset=True)
    dumped = [part.model_dump(mode="json") for part in changed]
    return spec.model_copy(update={"options": {**rest, name: dumped[0] if name == "grader" else dumped}})


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


def _rebased_reference(reference: str, prefix: str) -> str:
    try:
        place, attribute = split_reference(reference)
    except UsageError:
        return reference
    is_file = place.endswith(".py") or "/" in place
    return f"{_led_by(prefix, place)}:{attribute}" if is_file else reference


def _led_by(prefix: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(prefix, path))


GRADERS = "config/graders.yaml"
THRESHOLDS = "config/thresholds.yaml"
LEVELS_UP = 4


class WrittenThresholds(Record):
    """`config/thresholds.yaml`: rows that are named like a preset say what that preset asks for here."""

    thresholds: Thresholds = Field(default_factory=Thresholds)
    presets: Presets = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, written: Any) -> Any:
        if not isinstance(written, Mapping):
            return {"thresholds": written}
        names = {key: str(key).lower() for key in written}
        rows = {names[key]: row for key, row in written.items() if names[key] in PRESETS}
        return {"thresholds": {k: row for k, row in written.items() if names[k] not in rows}, "presets": rows}


class Layout:
    """What lies around the files of one suite. Files are read when something in them is asked for."""

    def __init__(self, path: Path) -> None:
        own = path.parent
        above = [own, *(_named_from(own, folder) for folder in own.resolve().parents[:LEVELS_UP])]
        found = [folder for folder in above if any(is_file(folder / name) for name in (GRADERS, THRESHOLDS))]
        self.folder = Folder(found[0] if found else own)
        config = self.folder.real / "config"
        self.config_prefix = Path(os.path.relpath(config, own.resolve())).as_posix()

    @cached_property
    def graders(self) -> Findings:
        """The file of named graders, with its own problems; empty when there is none."""
        return self._read(GRADERS)

    @property
    def named(self) -> Mapping[str, Any]:
        data = self.graders.source.data
        return data if isinstance(data, Mapping) else {}

    def thresholds(self, findings: Findings) -> WrittenThresholds:
        """What `config/thresholds.yaml` asks for; its problems are added to the findings."""
        read = self._read(THRESHOLDS)
        found = read.validated((), WrittenThresholds, read.source.data) if read.source.data is not None else None
        findings.problems += read.problems
        return found or WrittenThresholds()

    def _read(self, name: str) -> Findings:
        path = self.folder.path / name
        nothing = Findings(Source(path, None, lambda: 1))
        if not is_file(path):
            return nothing
        start = Findings(Source(self.folder.path / "config", None, lambda: 0))
        found = self.folder.find(start, (), name)
        source = self.folder.read(start, (), found) if found else None
        read = Findings(source) if source else nothing
        read.problems += start.problems
        return read


def is_config(path: Path) -> bool:
    """Whether a file is one of a layout's, which no suite is and no suite refers to."""
    return any(path.parts[-2:] == Path(name).parts for name in (GRADERS, THRESHOLDS))


def _named_from(own: Path, folder: Path) -> Path:
    """A folder above `own`, named as the user would: from where `own` is named from."""
    named = Path(os.path.normpath(own / os.path.relpath(folder, own.resolve())))
    return named if named.resolve() == folder else folder
