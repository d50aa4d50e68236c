"""The folder layout of evals: `config/graders.yaml` (name → grader), `config/thresholds.yaml` (what to reach).

Both are looked for in the folder of a suite and in up to four folders above it; the nearest `config` folder counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from evalharness.domain.case import Case
from evalharness.domain.problem import FieldPath
from evalharness.domain.record import Json
from evalharness.errors import closest
from evalharness.formats.checking import is_file, kind_of
from evalharness.formats.evals.refs import Folder
from evalharness.formats.problems import Findings
from evalharness.formats.syntax.source import Source

GRADERS = "config/graders.yaml"
THRESHOLDS = "config/thresholds.yaml"
LEVELS_UP = 4
GROUPS = ("default", "categories", "criticality")
CRITICALITIES = tuple(filter(None, get_args(Case.model_fields["criticality"].annotation)))
METRICS = ("pass_rate", "case_pass_rate", "score", "pass@1", "pass^3", "pass_at_1", "pass_hat_3")
_METRIC = re.compile(r"pass_rate|case_pass_rate|score|pass_(at|hat)_[1-9]\d*|pass[@^]k")
_PASS_K = re.compile(r"pass(?:_?(@|\^)_?|_(at|hat)_)(\d{1,9})")


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

    def thresholds(self, findings: Findings) -> dict[str, Json]:
        """`{default, categories, criticality}`, each metric under one name; its problems are added to the findings."""
        read = self._read(THRESHOLDS)
        data = read.source.data
        thresholds: dict[str, Json] = {}
        if data is not None and not isinstance(data, Mapping):
            read.add((), f"must be a mapping, not {kind_of(data)}")
        elif data:
            read.unknown_keys((), data, GROUPS, severity="warning")
            for key in GROUPS:
                if data.get(key) is not None:
                    thresholds[key] = _group(read, (key,), data[key], depth=0 if key == "default" else 1)
        if thresholds:
            read.add((), "thresholds are read but not acted on by this version", severity="warning")
        findings.problems += read.problems
        return thresholds

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


def _group(read: Findings, place: FieldPath, written: Any, depth: int) -> Any:
    """Metrics at the bottom, names of categories or criticalities above them."""
    if not isinstance(written, Mapping):
        read.add(place, f"must be a mapping of metric: minimum, not {kind_of(written)}")
        return {}
    if place == ("criticality",):
        read.unknown_keys(place, written, CRITICALITIES, severity="warning")
    if depth:
        return {name: _group(read, (*place, name), metrics, depth - 1) for name, metrics in written.items()}
    group: dict[str, Json] = {}
    for name, minimum in written.items():
        metric = metric_name(name)
        if not _METRIC.fullmatch(metric):
            meant = closest(name, METRICS) or ""
            allowed = "pass_rate, case_pass_rate, score, pass@K, pass^K"
            unknown = f"unknown metric '{name}'"
            read.add((*place, name), unknown, severity="warning", allowed=allowed, suggestion=meant)
        if metric in group:
            read.add((*place, name), f"is {metric}, which is already given in another spelling")
        if isinstance(minimum, bool) or not isinstance(minimum, int | float) or not 0 <= minimum <= 1:
            read.add((*place, name), "must be a number from 0 to 1")
        group[metric] = minimum
    return group


def metric_name(written: str) -> str:
    """`pass@3` and `pass_at_3` are one metric, and so are `pass^3` and `pass_hat_3`."""
    found = _PASS_K.fullmatch(written)
    if found is None:
        return written
    return f"pass_{'at' if found[1] == '@' or found[2] == 'at' else 'hat'}_{int(found[3])}"
