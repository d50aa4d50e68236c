"""A target file: a YAML or JSON file that describes a target in full, alone or under the key `target`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from evalharness.domain.specification import TargetSpec
from evalharness.errors import InvalidFile
from evalharness.formats.checking import check_target
from evalharness.formats.problems import Findings
from evalharness.formats.syntax.source import read_source


def load_target(path: Path, secrets: Collection[str] = ()) -> TargetSpec:
    """Its own paths are relative to the file; `secrets` are the suite's. Raises InvalidFile with every problem."""
    source = read_source(path)
    findings = Findings(source)
    inside = isinstance(source.data, Mapping) and "target" in source.data
    place = ("target",) if inside else ()
    spec = findings.validated(place, TargetSpec, source.data["target"] if inside else source.data)
    if spec is not None:
        check_target(findings, place, spec, secrets=secrets)
    if spec is None or findings.has_errors:
        raise InvalidFile(findings.problems)
    return spec.model_copy(update={"name": spec.name or path.stem, "root": str(path.resolve().parent)})
