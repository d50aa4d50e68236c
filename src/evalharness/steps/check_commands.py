"""Check commands: whether the programs and scripts that targets start are there, without starting anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.errors import UsageError

STARTING = ("command", "http")
"""Kinds of targets that start a program; a server is started in the suite's folder, everything else in a workspace."""


def check_commands(suite: Suite, target: TargetSpec, root: Path, environment: Mapping[str, str]) -> None:
    """Those of a run: its target, and the targets of single cases."""
    own = {id(case.target): case.target for case in suite.cases if case.target is not None}
    for spec in (target, *map(suite.named_target, own.values())):
        check_command(spec, suite, root, environment)


def check_command(spec: TargetSpec, suite: Suite, root: Path, environment: Mapping[str, str]) -> None:
    """Raises UsageError for a program that does not exist, or a script that no trial of the suite can find."""
    if spec.kind not in STARTING:
        return
    from evalharness.targets.command_words import with_own_interpreter  # slow to load: few targets are commands
    from evalharness.targets.missing_programs import missing_program

    try:
        options: Any = registry.parse_options("target", spec)
    except (UsageError, ValidationError):  # reported elsewhere, or waiting for the value of a variable
        return
    runs_in_workspace = spec.kind == "command"
    command = options.command if runs_in_workspace else options.start
    if command is None:
        return
    path = with_own_interpreter({**environment, **(options.env if runs_in_workspace else {})})["PATH"]
    given = _given_files(suite) if runs_in_workspace else ()
    if wrong := missing_program(command, root / spec.root, path, given):
        raise wrong


def _given_files(suite: Suite) -> set[str] | None:
    """What trials find in their workspaces; None if a setup may put anything there."""
    if any(case.setup for case in suite.cases):
        return None
    return {str(PurePosixPath(path)) for case in suite.cases for path in case.files}
