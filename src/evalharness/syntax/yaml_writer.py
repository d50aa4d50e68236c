"""Plain data as YAML that people like to read: block style, literal blocks for texts of several lines, few quotes.

What any reader, YAML 1.1 or 1.2, might take for something other than text is quoted. Not a general emitter: no tags, no
anchors, no folding. `yaml_source.parse_yaml` reads the same data back.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from evalharness.errors import UsageError
from evalharness.syntax import limits
from evalharness.syntax.yaml_source import plain_scalar

INDENT = "  "
LONGEST_INLINE_LIST = 80
LONGEST_KEY = 1000
"""YAML finds the colon of a key within 1024 characters; a longer key needs the form `? key`."""

_NOT_PRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_PLAIN = re.compile(r"(?:[\w/($\\]|\.\.?/|\.(?=[A-Za-z]))(?:[^\s:#]|:(?=\S)|(?<!\s)#| (?=\S))*")
_INDICATORS_IN_A_LIST = re.compile(r"[][{},:?#]")
_NUMBER_OR_DATE = re.compile(r"[0-9][0-9A-Fa-fxobTtZz_:.,+ -]*")
_SWITCH = re.compile(r"y|n|yes|no|on|off", re.IGNORECASE)
_BLANK_LINE_OF_SPACES = re.compile(r"^[ \t]+$", re.MULTILINE)


def yaml_lines(value: dict[str, Any] | list[Any] | tuple[Any, ...]) -> list[str]:
    """The lines of a mapping or a list that is not empty, without indentation."""
    lines: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            name = _key(key)
            if len(name) > LONGEST_KEY:
                lines.append(f"? {name}")
                name = ""
            lines += _placed(f"{name}:", item)
    else:
        for item in value:
            placed = _placed("-", item)
            if placed[0] == "-":  # a container starts beside its dash
                placed[:2] = [f"- {placed[1].removeprefix(INDENT)}"]
            lines += placed
    return lines


def indented(lines: Iterable[str]) -> list[str]:
    return [INDENT + line if line else line for line in lines]


def _placed(head: str, value: Any) -> list[str]:
    """A value behind its key or dash: on the same line if it fits there, else below."""
    if isinstance(value, str):
        if _suits_a_block(value):
            return [f"{head} {'|' if value[-1] == chr(10) else '|-'}", *indented(value.removesuffix("\n").split("\n"))]
        return [f"{head} {_text(value)}"]
    if not isinstance(value, dict | list | tuple):
        return [f"{head} {_scalar(value)}"]
    if not value:
        return [f"{head} {'{}' if isinstance(value, dict) else '[]'}"]
    inline = None if isinstance(value, dict) else _inline_list(value)
    if inline is not None:
        return [f"{head} {inline}"]
    return [head, *indented(yaml_lines(value))]


def _inline_list(items: list[Any] | tuple[Any, ...]) -> str | None:
    """`[a, b]` for a few short scalars."""
    length = 0
    for item in items:
        if isinstance(item, dict | list | tuple):
            return None
        length += len(item) + 2 if isinstance(item, str) else 8
        if length > LONGEST_INLINE_LIST:
            return None
    return f"[{', '.join(_scalar(item, in_list=True) for item in items)}]"


def _scalar(value: Any, *, in_list: bool = False) -> str:
    if isinstance(value, str):
        return _text(value, in_list=in_list)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) <= limits.MAX_INT:
        return str(value)
    if isinstance(value, float) and math.isfinite(value):
        written = repr(value)
        return written if "." in written else written.replace("e", ".0e")  # without a dot YAML 1.1 reads text
    raise UsageError(f"{value!r} cannot be written to a suite file", hint=f"{limits.INT_RANGE}; {limits.FLOAT_RANGE}")


@lru_cache(maxsize=256)
def _key(key: str) -> str:
    """The same few keys stand in every case."""
    return _text(key)


def _text(text: str, *, in_list: bool = False) -> str:
    escaped = _NOT_PRINTABLE.search(text) is not None or "\n" in text or "\t" in text
    if not escaped and _is_plain(text) and not (in_list and _INDICATORS_IN_A_LIST.search(text)):
        return text
    if not escaped and '"' not in text and "\\" not in text:
        return f'"{text}"'
    if not escaped:
        return "'" + text.replace("'", "''") + "'"
    return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _is_plain(text: str) -> bool:
    return (
        _PLAIN.fullmatch(text) is not None
        and _NUMBER_OR_DATE.fullmatch(text) is None
        and _SWITCH.fullmatch(text) is None
        and type(plain_scalar(text)) is str
    )


def _suits_a_block(text: str) -> bool:
    """Whether a literal block keeps the text as it is, also when an editor trims what cannot be seen at its end."""
    return (
        "\n" in text
        and not text[0].isspace()
        and not text.endswith("\n\n")
        and _NOT_PRINTABLE.search(text) is None
        and _BLANK_LINE_OF_SPACES.search(text) is None
    )
