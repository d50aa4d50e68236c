"""YAML text as PyYAML's events, and PyYAML's complaints as short problems with a line.

The C parser is forty times faster; the Python one serves machines whose PyYAML was built without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.scanner import Scanner, ScannerError

from evalharness.domain.problem import Problem, quoted

_MISPLACED = "this line does not fit the lines above it; check the indentation and the quotes"
_ADVICE = {
    "mapping values are not allowed": "unexpected ':'; check the indentation, or quote text that contains ': '",
    "sequence entries are not allowed": "unexpected '- '; start a list on its own line",
    "found unexpected end of stream": "a quote is not closed",
    "found unknown escape character": "unknown escape after a backslash; use single quotes for literal backslashes",
    "could not find expected ':'": "expected ':' after a key; check the indentation and the quotes",
    "did not find expected key": _MISPLACED,
    "did not find expected '-' indicator": _MISPLACED,
    "expected <block end>": _MISPLACED,
    "expected ',' or": "a bracket is not closed, or a comma is missing",
}
"""What PyYAML's less helpful messages (by a part of them) usually mean."""


def event_reader(text: str, *, pure: bool) -> Callable[[], Any]:
    """Each call gives the next event; raises `yaml.YAMLError` on broken syntax."""
    if pure:
        next_event: Callable[[], Any] = _PureParser(text).get_event
    else:
        from yaml._yaml import CParser  # missing where PyYAML was built without its C parser

        next_event = CParser(text).get_event
    return next_event


def syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    if isinstance(error, ReaderError):
        found = Reader.NON_PRINTABLE.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        character = quoted(found[0]) if found else "used here"
        return Problem(file, line, "", f"not valid YAML: the character {character} must be written as an escape")
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Problem(file, 1, "", f"not valid YAML: {error}")
    mark, start = error.problem_mark, error.context_mark
    # PyYAML puts what is missing at the end of a file on the line after the last one.
    line = min(mark.line, max(len(text.splitlines()), 1) - 1)
    message = _rephrased(str(error.problem), text[mark.index : mark.index + 1])
    opened = f" (begun on line {start.line + 1})" if start is not None and start.line < line else ""
    return Problem(file, line + 1, "", f"not valid YAML: {message}{opened}")


def _rephrased(message: str, character: str) -> str:
    if "cannot start any token" in message:
        if character == "\t":
            return "a tab cannot be used for indentation; use spaces"
        return f"a value cannot start with {quoted(character)}; quote it"
    return next((advice for part, advice in _ADVICE.items() if part in message), message)


class _PureParser(Reader, Scanner, Parser):
    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)

    def get_event(self) -> Any:
        try:
            return super().get_event()  # type: ignore[no-untyped-call]
        except (ValueError, OverflowError):  # PyYAML lets these through for escapes and versions out of range
            raise ScannerError(None, None, "found a number out of range", self.get_mark()) from None
