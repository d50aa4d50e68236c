"""A text file as plain data with line numbers: the ground on which every format stands.

`read_source` chooses the syntax by the file's ending. Data holds dict, list, str, int, float, bool and None only; what
the data means is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalharness.domain import problem
from evalharness.domain.problem import Problem
from evalharness.errors import Hint, InvalidFile
from evalharness.syntax import limits
from evalharness.syntax.json_source import parse_json, parse_jsonl
from evalharness.syntax.limits import Lines, line_at


def parse_yaml(text: str, name: str) -> tuple[Any, Callable[[], Lines]]:
    from evalharness.syntax import yaml_source  # slow to load: JSON does not need it

    return yaml_source.parse_yaml(text, name)


_PARSERS: dict[str, Callable[[str, str], tuple[Any, Callable[[], Lines]]]] = {
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
    ".json": parse_json,
    ".jsonl": parse_jsonl,
    ".ndjson": parse_jsonl,
}
ENDINGS = tuple(_PARSERS)
PYTHON_ENDING = ".py"
DELIMITED = (".csv", ".tsv")
"""Tables, which are no suites: `tables.py` reads them."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a file says; `lines` is computed when a line is first asked for."""

    path: Path
    data: Any
    lines: Callable[[], Lines] = field(repr=False, compare=False)

    def line_of(self, path: problem.FieldPath) -> int:
        """The 1-based line of the key or element at `path`, or of its nearest ancestor that exists."""
        return line_at(self.lines(), path)


def read_source(path: Path) -> Source:
    """Raises `InvalidFile` with every problem of the file."""
    return parse_text(read_text(path), path.suffix, path)


def read_text(path: Path) -> str:
    """A file as text, whatever its syntax; raises `InvalidFile` where it is too large or not UTF-8."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a device would block or never end
            raise InvalidFile([_whole_file(path, "not a regular file")])
        with path.open("rb") as stream:
            content = stream.read(limits.MAX_CHARS + 1)
    except OSError as error:
        raise InvalidFile([_whole_file(path, f"cannot be read: {error.strerror or error}")]) from None
    except ValueError as error:  # a path with a NUL character
        raise InvalidFile([_whole_file(path, f"cannot be read: {error}")]) from None
    if len(content) > limits.MAX_CHARS:
        raise InvalidFile([_too_large(path)])
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 text (byte 0x{content[error.start]:02x})"
        raise InvalidFile([Problem(str(path), line, "", message)]) from None


def parse_text(text: str, ending: str, path: Path) -> Source:
    """`text` as if it stood in the file `path`; `ending` decides the syntax."""
    parse = _PARSERS.get(ending.lower())
    if parse is None and ending.lower() in DELIMITED:
        raise InvalidFile([Problem(str(path), 0, "", "is a table, not a suite", hint=import_hint(path))])
    if ending == PYTHON_ENDING:
        raise InvalidFile(
            [Problem(str(path), 0, "", "is Python code, not a suite", hint=target_hint(f"{path}:FUNCTION"))]
        )
    if parse is None:
        message = f"unknown file ending {problem.quoted(ending)}"
        raise InvalidFile([Problem(str(path), 0, "", message, allowed=", ".join(_PARSERS))])
    if len(text) > limits.MAX_CHARS:
        raise InvalidFile([_too_large(path)])
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise InvalidFile([Problem(str(path), line, "", limits.LONE_SURROGATE)]) from None
    try:
        return Source(path, *parse(text.removeprefix("\ufeff"), str(path)))
    except InvalidFile as error:
        if error.rest is not None:
            error.rest = Source(path, *error.rest)
        raise


def import_hint(path: Path) -> Hint:
    return Hint("hint.import_table", file=str(path))


def target_hint(target: str) -> Hint:
    return Hint("hint.python_target", target=target)


def _whole_file(path: Path, message: str) -> Problem:
    return Problem(str(path), 0, "", message)


def _too_large(path: Path) -> Problem:
    return _whole_file(path, f"larger than {limits.MAX_CHARS // 1_000_000} MB")
