"""A file as it was read: the suite in it, if there is one, and every problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from evalharness.domain.problem import Problem
from evalharness.domain.suite import Suite


@dataclass(frozen=True, slots=True)
class LoadedFile:
    path: Path
    suite: Suite | None
    problems: tuple[Problem, ...] = ()
    format: str = ""
    """Empty where none was recognised."""
    parts: frozenset[Path] = field(default_factory=frozenset)
    """Other files that the suite was put together from."""
    thresholds_from: str = ""
    """The file of the `config` folder that its gate takes thresholds from."""
    is_passed_over: bool = False
    """Whether it was only met in a folder, and is no suite."""

    @property
    def root(self) -> Path:
        """What relative paths in the file are relative to; a folder of recorded sessions is its own."""
        path = self.path.resolve()
        return path if path.is_dir() else path.parent
