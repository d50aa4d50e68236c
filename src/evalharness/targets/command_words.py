"""The words of a command: which of them name files beside the suite, and the environment the command gets."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from evalharness.values.digest import digest_file

Command = tuple[str, ...] | str
"""An argument list, or one line for the shell."""
WORD = re.compile(r"(?<![\w./+${-])[\w./+-]++(?!=)")
"""A word of a shell line that may name a file: neither a variable nor a placeholder."""


def words_of(command: Command) -> list[str]:
    return WORD.findall(command) if isinstance(command, str) else list(command)


def file_named(word: str, root: Path) -> Path | None:
    path = root / word
    try:
        return path if path.is_file() else None
    except OSError:  # a word too long to be a name
        return None


def digests_of_files(words: list[str], root: Path) -> list[str]:
    """Of the files that these words name: editing one makes it another target."""
    files = sorted({str(path) for word in words if (path := file_named(word, root))})
    return [digest_file(Path(path)) for path in files]


def not_blank(command: Command) -> Command:
    if not command or not (command if isinstance(command, str) else command[0]).strip():
        raise ValueError("is empty")
    return command


def with_own_interpreter(environment: Mapping[str, str]) -> dict[str, str]:
    """The interpreter that runs the harness is found last, so that `python` works in an unactivated venv."""
    path = environment.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {**environment, "PATH": f"{path}:{Path(sys.executable).parent}"}
