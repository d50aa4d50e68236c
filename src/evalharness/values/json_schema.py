"""Finds references in JSON Schemas that lead back to themselves. Recursion into a part of the value is fine.

`jsonschema_rs` checks values against schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_LISTS_IN_PLACE = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")
_MAPPINGS_IN_PLACE = ("dependentSchemas", "dependencies")


def circular_reference(schema: Any) -> str | None:
    """The first reference that leads back to itself, such as `{$ref: '#'}`, without descending into the value."""
    done: set[int] = set()
    for start in _mappings(schema):
        path: list[tuple[int, str, Iterator[tuple[str, Any]]]] = []
        node, reference = start, ""
        while True:
            if any(id(node) == open_one for open_one, _, _ in path):
                return reference or next((led for _, led, _ in reversed(path) if led), "#")
            if id(node) not in done:
                path.append((id(node), reference, _in_place(node, schema)))
            following = None
            while path and (following := next(path[-1][2], None)) is None:
                done.add(path.pop()[0])
            if following is None:
                break
            reference, node = following
    return None


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            yield each
            pending += each.values()
        elif isinstance(each, list | tuple):
            pending += each


def _in_place(node: dict[str, Any], schema: Any) -> Iterator[tuple[str, Any]]:
    """The schemas that apply to the same part of a value as `node`, each with the reference that leads to it."""
    references = [each for name in _REFERENCES if isinstance(each := node.get(name), str)]
    found: list[tuple[str, Any]] = [(each, _resolved(each, schema)) for each in references]
    for name in _LISTS_IN_PLACE:
        listed = node.get(name)
        found += [("", each) for each in listed] if isinstance(listed, list | tuple) else []
    found += [("", node.get(name)) for name in _IN_PLACE]
    for name in _MAPPINGS_IN_PLACE:
        mapped = node.get(name)
        found += [("", each) for each in mapped.values()] if isinstance(mapped, dict) else []
    return ((reference, each) for reference, each in found if isinstance(each, dict))


def _resolved(reference: str, schema: Any) -> Any:
    """The target of a JSON pointer or an anchor in the same document; None for other references."""
    start, _, pointer = reference.partition("#")
    own = (
        schema.get("$id", "").partition("#")[0]
        if isinstance(schema, dict) and isinstance(schema.get("$id"), str)
        else ""
    )
    if start not in ("", own):
        return None
    if pointer and not pointer.startswith("/"):
        anchored = (each for each in _mappings(schema) if pointer in map(each.get, _ANCHORS))
        return next(anchored, None)
    value = schema
    for part in unquote(pointer).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list | tuple) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
