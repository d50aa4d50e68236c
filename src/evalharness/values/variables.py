r"""`{{name}}` in suite files: which variables a value needs, and the value with them filled in.

`\{{` stands for literal braces. Names starting with `any_` are matchers of expected values, not variables: what reads
such values has the same escape once more, since variables were filled in before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from evalharness.values.json_value import Json

_VARIABLE = re.compile(r"(\\)?\{\{(\s*([A-Za-z_][\w.-]*)\s*\}\})?")
MATCHER_PREFIX = "any_"
MATCHER = re.compile(r"(?<!\\)\{\{\s*(any_\w+)\s*\}\}", re.IGNORECASE)
_LITERAL_MATCHER = re.compile(r"(\\*)(\{\{\s*any_\w+\s*\}\})", re.IGNORECASE)


def has_braces(value: Json) -> bool:
    """A quick look: whether there is anything to fill in or to unescape."""
    if isinstance(value, str):
        return "{{" in value
    if isinstance(value, dict):
        return any(has_braces(key) or has_braces(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(has_braces(item) for item in value)


def has_matcher(value: Json) -> bool:
    """Whether a text stands for more than one value."""
    return isinstance(value, str) and "{{" in value and MATCHER.search(value) is not None


def needed(value: Json) -> set[str]:
    """The variable names in a value, in lower case: variables are case-insensitive."""
    return set(_names(value))


def fill(value: Json, values: Mapping[str, str]) -> Json:
    """The value with each variable replaced; `values` is keyed by lower-case name. Unknown ones stay as written."""
    if isinstance(value, str):
        return _fill_text(value, values) if "{{" in value else value
    if isinstance(value, dict):
        return {fill(key, values): fill(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, values) for item in value]
    return value


def escape(value: Json) -> Json:
    """The value written so that `fill` gives it back: for texts in which `{{` was never a variable."""
    if isinstance(value, str):
        return re.sub(r"(\\?)\{\{", lambda found: "\\{{" if not found[1] else "\\\\{{", value)
    if isinstance(value, dict):
        return {escape(key): escape(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape(item) for item in value]
    return value


def escape_matchers(value: Json) -> Json:
    """The value written so that nothing in it is a matcher, where one may stand; mapping keys never are one."""
    if isinstance(value, str):
        return _LITERAL_MATCHER.sub(r"\\\1\2", value)
    if isinstance(value, dict):
        return {key: escape_matchers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [escape_matchers(item) for item in value]
    return value


def literal(text: str) -> str:
    """What a text without matchers stands for: itself, less one backslash before each escaped one."""
    return _LITERAL_MATCHER.sub(lambda found: found[1][1:] + found[2], text)


def _names(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        for found in _VARIABLE.finditer(value):
            name = (found[3] or "").lower()
            if name and not found[1] and not name.startswith(MATCHER_PREFIX):
                yield name
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _names(key)
            yield from _names(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names(item)


def _fill_text(text: str, values: Mapping[str, str]) -> str:
    def replacement(found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        name = (found[3] or "").lower()
        return found[0] if name.startswith(MATCHER_PREFIX) else values.get(name, found[0])

    return _VARIABLE.sub(replacement, text)
