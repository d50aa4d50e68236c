r"""`{{name}}` in suite files: which variables a value needs, and the value with them filled in.

`\{{` is a literal brace pair. Names starting with `any_` are matchers in expected values, not variables. They are
escaped in the same way once more, because variables are filled in first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evalharness.values.json_value import Json

_VARIABLE = re.compile(r"(\\)?\{\{(\s*([A-Za-z_][\w.-]*)\s*\}\})?")
MATCHER_PREFIX = "any_"
OF_TRIALS = frozenset(("gateway_url", "gateway_key"))
"""What only a trial can fill in."""
MATCHER = re.compile(r"(?<!\\)\{\{\s*(any_\w+)\s*\}\}", re.IGNORECASE)
_LITERAL_MATCHER = re.compile(r"(\\*)(\{\{\s*any_\w+\s*\}\})", re.IGNORECASE)


def has_braces(value: Json) -> bool:
    """A quick check whether there is anything to fill in or to unescape."""
    if isinstance(value, str):
        return "{{" in value
    if isinstance(value, dict):
        return any(has_braces(key) or has_braces(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(has_braces(item) for item in value)


def has_matcher(value: Json) -> bool:
    """Whether a text contains a matcher, and so matches more than one value."""
    return isinstance(value, str) and "{{" in value and MATCHER.search(value) is not None


def needed(value: Json) -> set[str]:
    """The variable names in a value, in lower case: variables are case-insensitive."""
    return set(_names(value))


def fill(value: Json, values: Mapping[str, str]) -> Json:
    """The value with each variable replaced; `values` has lower-case names. Unknown variables stay as written."""
    if isinstance(value, str):
        return _fill_text(value, values) if "{{" in value else value
    if isinstance(value, dict):
        return {fill(key, values): fill(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, values) for item in value]
    return value


def scalar_values(written: Any) -> Any:
    """Values of variables as a file may write them: numbers and true/false become text, anything else stays."""
    if not isinstance(written, Mapping):
        return written
    return {name: _scalar_text(value) for name, value in written.items()}


def _scalar_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def escape(value: Json) -> Json:
    """The value escaped so that `fill` restores it, for texts in which `{{` is not a variable."""
    if isinstance(value, str):
        return re.sub(r"(\\?)\{\{", lambda found: "\\{{" if not found[1] else "\\\\{{", value)
    if isinstance(value, dict):
        return {escape(key): escape(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape(item) for item in value]
    return value


def escape_matchers(value: Json) -> Json:
    """The value escaped so that it contains no matchers. Keys of mappings never are matchers."""
    if isinstance(value, str):
        return _LITERAL_MATCHER.sub(r"\\\1\2", value)
    if isinstance(value, dict):
        return {key: escape_matchers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape_matchers(item) for item in value]
    return value


def literal(text: str) -> str:
    """The meaning of a text without matchers: itself, with one backslash removed before each escaped matcher."""
    return _LITERAL_MATCHER.sub(lambda found: found[1][1:] + found[2], text)


def _names(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        for found in _VARIABLE.finditer(value):
            name = (found[3] or "").lower()
            if name and not found[1] and not name.startswith(MATCHER_PREFIX) and name not in OF_TRIALS:
                yield name
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _names(key)
            yield from _names(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names(item)


def stray_braces(text: str) -> str:
    """The first `{{` in a text that does not start a variable, with what follows it; empty if there is none."""
    for found in _VARIABLE.finditer(text):
        if not found[1] and (not found[3] or found[3].lower().startswith(MATCHER_PREFIX)):
            return text[found.start() :].splitlines()[0].partition("}}")[0] + "}}"
    return ""


def _fill_text(text: str, values: Mapping[str, str]) -> str:
    def replacement(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        name = (found[3] or "").lower()
        is_for_later = name.startswith(MATCHER_PREFIX) or name in OF_TRIALS
        return found[0] if is_for_later else values.get(name, found[0])

    return _VARIABLE.sub(replacement, text)
