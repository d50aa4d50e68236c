"""Names → parts. Built-ins are one table of strings, so that nothing is imported before it is used.

Found in this order: built-ins, entry points (groups `evalharness.graders`, `evalharness.targets`). Users' own functions
are found by reference, `module:attr` or `path/to/file.py:attr`. An unknown name raises with a did-you-mean.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from evalharness.contracts import Grader, Services, Target
from evalharness.domain.digest import digest
from evalharness.domain.options import Options
from evalharness.domain.record import Json
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.errors import HarnessError, ImportFailed, UnknownName, UsageError

Noun = Literal["grader", "target", "sandbox"]

BUILT_IN: Mapping[Noun, Mapping[str, str]] = {
    "grader": {
        "exact": "evalharness.graders.text:Exact",
        "contains": "evalharness.graders.text:Contains",
        "not_contains": "evalharness.graders.text:NotContains",
        "starts_with": "evalharness.graders.text:StartsWith",
        "ends_with": "evalharness.graders.text:EndsWith",
        "max_length": "evalharness.graders.text:MaxLength",
        "regex": "evalharness.graders.patterns:Regex",
        "json_equals": "evalharness.graders.json_values:JsonEquals",
        "json_schema": "evalharness.graders.json_values:JsonSchema",
        "numeric": "evalharness.graders.numbers:Numeric",
        "exit_code": "evalharness.graders.numbers:ExitCode",
        "function": "evalharness.graders.function:Function",
        "all_of": "evalharness.graders.composite:AllOf",
        "any_of": "evalharness.graders.composite:AnyOf",
        "not": "evalharness.graders.composite:Not",
        "weighted": "evalharness.graders.composite:Weighted",
    },
    "target": {
        "function": "evalharness.targets.function:FunctionTarget",
        "command": "evalharness.targets.command:CommandTarget",
        "http": "evalharness.targets.http:HttpTarget",
        "oracle": "evalharness.targets.oracle:OracleTarget",
        "null": "evalharness.targets.null:NullTarget",
        "empty": "evalharness.targets.null:NullTarget",
        "echo": "evalharness.targets.null:EchoTarget",
    },
    "sandbox": {"none": "evalharness.sandboxes.none:NoSandbox"},
}


def names(noun: Noun) -> list[str]:
    return sorted({*BUILT_IN[noun], *(point.name for point in _plugged_in(noun))})


def load(noun: Noun, name: str) -> Any:
    """The class behind a name."""
    path = BUILT_IN[noun].get(name)
    if path is not None:
        module, _, attribute = path.partition(":")
        return getattr(importlib.import_module(module), attribute)
    for point in _plugged_in(noun):
        if point.name == name:
            return point.load()
    raise UnknownName(noun, name, names(noun))


def parse_options(noun: Noun, spec: GraderSpec | TargetSpec) -> Options:
    """The part's options, checked; raises pydantic's ValidationError with every problem."""
    options: type[Options] = load(noun, spec.kind).Options
    return options.model_validate(written_options(options, spec))


def written_options(options: type[Options], spec: GraderSpec | TargetSpec) -> Json:
    """`{command: [...], result: json}` was kept with the kind as a key: here it gets the main option's name."""
    written = spec.options
    if not isinstance(written, Mapping) or spec.kind not in written or spec.kind in options.known_keys():
        return written
    if options.main and (len(written) > 1 or not options.main_may_be_mapping):
        return {options.main if key == spec.kind else key: value for key, value in written.items()}
    return written


def build_grader(spec: GraderSpec, services: Services) -> Grader:
    return cast(Grader, _build("grader", spec, services))


def build_target(spec: TargetSpec, services: Services) -> Target:
    return cast(Target, _build("target", spec, replace(services, root=Path(spec.root)) if spec.root else services))


def _build(noun: Noun, spec: GraderSpec | TargetSpec, services: Services) -> Any:
    """Files were checked when they were loaded; this meets what came later: variables, flags, Python callers."""
    try:
        options = parse_options(noun, spec)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join([spec.kind, *(str(part) for part in first["loc"])])
        raise UsageError(f"{noun} {place}: {first['msg']}") from None
    return load(noun, spec.kind)(options, spec, services)


def split_reference(reference: str) -> tuple[str, str]:
    """`module:attr` or `path/to/file.py:attr` → its two halves."""
    place, colon, attribute = reference.rpartition(":")
    if not colon or not place or not attribute.replace(".", "").isidentifier():
        raise UsageError(f"'{reference}' is not a reference to a function", hint="write module:attr or file.py:attr")
    return place, attribute


def reference_file(reference: str, root: Path) -> Path | None:
    """The file a reference names, or None when it names a module."""
    place, _ = split_reference(reference)
    return (root / place) if place.endswith(".py") or "/" in place else None


def import_reference(reference: str, root: Path) -> Any:
    """Import what a reference names; whatever the imported code raises becomes ImportFailed."""
    place, attribute = split_reference(reference)
    file = reference_file(reference, root)
    try:
        found: Any = importlib.import_module(place) if file is None else _import_file(file)
    except HarnessError:
        raise
    except (Exception, SystemExit) as error:
        raise ImportFailed(error) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            public = [other for other in vars(found) if not other.startswith("_")] if hasattr(found, "__dict__") else []
            raise UnknownName(f"name in {place}", name, public)
        found = getattr(found, name)
    return found


def _import_file(file: Path) -> Any:
    """Import a file as running it would: its own folder comes first on the path."""
    path = file.resolve()
    if not path.is_file():
        raise UsageError(f"no file {file}", hint="paths in a suite file are relative to that file")
    name = f"evalharness_user_{path.stem}_{digest(str(path))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    make_importable(path.parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def make_importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _plugged_in(noun: Noun) -> Any:
    return entry_points(group=f"evalharness.{noun}s")
