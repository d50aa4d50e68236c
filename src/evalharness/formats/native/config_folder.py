"""The folder layout of evals: `config/graders.yaml` (name → grader), `config/thresholds.yaml` (what to reach).

Both are looked for in the folder of a suite and in up to four folders above it; the nearest `config` folder counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from evalharness.domain.gate import Thresholds
from evalharness.formats.native.referenced_files import Folder
from evalharness.formats.parts import is_file
from evalharness.formats.problems import Findings
from evalharness.formats.syntax.source import Source

GRADERS = "config/graders.yaml"
THRESHOLDS = "config/thresholds.yaml"
LEVELS_UP = 4


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

    def thresholds(self, findings: Findings) -> Thresholds:
        """What `config/thresholds.yaml` asks for; its problems are added to the findings."""
        read = self._read(THRESHOLDS)
        found = read.validated((), Thresholds, read.source.data) if read.source.data is not None else None
        findings.problems += read.problems
        return found or Thresholds()

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
