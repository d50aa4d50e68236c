"""`sandbox: true` of a command: what the program may see, reach and use, and what it finds in its environment.

How it is held to that is the business of `sandboxes/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from evalharness.contracts.sandbox import Limits
from evalharness.domain.options import Options, Whole
from evalharness.domain.record import Record
from evalharness.errors import TargetUnavailable

KEPT_VARIABLES = re.compile(r"PATH|LANG|LC_\w+|TZ")
_DEFAULT = Limits()


class WrittenLimits(Record):
    """Together for the program and everything it starts; `file_bytes` is for each single file."""

    memory_bytes: Annotated[Whole, Field(ge=16_777_216)] = _DEFAULT.memory_bytes
    processes: Annotated[Whole, Field(ge=1)] = _DEFAULT.processes
    file_bytes: Annotated[Whole, Field(ge=0)] = _DEFAULT.file_bytes
    disk_bytes: Annotated[Whole, Field(ge=0)] = _DEFAULT.disk_bytes

    def as_limits(self) -> Limits:
        return Limits(**self.model_dump())


class SandboxOptions(Options):
    """`readable` are files and folders beside the suite, there at the same place inside the sandbox."""

    sandbox: bool = False
    network: bool = False
    readable: tuple[str, ...] = ()
    limits: WrittenLimits = WrittenLimits()

    def refuse_without_sandbox(self) -> None:
        for name in ("network", "readable", "limits"):
            if name in self.model_fields_set and not self.sandbox:
                raise ValueError(f"'{name}' has no effect without 'sandbox: true'")


def kept_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Without what the user's shell holds for other programs: keys above all."""
    return {name: value for name, value in environment.items() if KEPT_VARIABLES.fullmatch(name)}


def readable_paths(root: Path, written: Iterable[str]) -> list[Path]:
    """Raises where one is missing, or would show the suite itself: it holds the expected answers."""
    paths = [(root / name).absolute() for name in written]
    for path in paths:
        if not path.exists():
            raise TargetUnavailable(f"the readable path '{path}' does not exist", hint="correct or remove it")
        if root.resolve().is_relative_to(path.resolve()):
            raise TargetUnavailable(
                f"the readable path '{path}' contains the whole suite, including the expected answers",
                hint="name the files and folders that the program needs",
            )
    return paths
