"""Files that a suite file names (`$ref`, file inputs, the config folder), read only if they lie in the suite's folder.

Where a path really leads is settled before anything is opened: links are followed on paper, and whatever is not a
regular file inside the folder is refused unopened. What the files hold is not decided here.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalharness.domain.problem import FieldPath, quoted
from evalharness.errors import InvalidFile
from evalharness.formats.parts import kind_of
from evalharness.formats.problems import Findings
from evalharness.formats.syntax.source import ENDINGS, Source, read_source

REF = "$ref"
MAX_DEPTH = 16
MAX_TEXT_BYTES = 10_000_000

_REFUSED = (
    (re.compile(r"[\x00-\x1f\x7f]"), "must not hold control characters"),
    (re.compile(r"\\"), "must be written with / between its parts, not with \\"),
    (re.compile(r"%"), "must be a plain path: %-codes are not understood"),
    (re.compile(r"[a-zA-Z][\w+.-]*:|^//"), "must be a path in the suite's folder, not a URL or a drive"),
    (re.compile(r"[#?]"), "must name a whole file, without # or ?"),
    (re.compile(r"\{\{"), "must not hold {{: files are read before variables are known"),
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
            reason = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
            findings.add(place, f"{written} cannot be read: {reason}")
            return None
        if not is_inside:
            findings.add(place, f"{written} lies outside the suite's folder")
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
