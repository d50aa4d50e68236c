"""Schemas that refer to themselves: which of them check nothing."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.values.json_schema import circular_reference

TREE = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}


@pytest.mark.parametrize(
    ("schema", "reference"),
    [
        ({"$ref": "#"}, "#"),
        ({"$id": "http://a.example/s", "$ref": "http://a.example/s"}, "http://a.example/s"),
        ({"type": "object", "$ref": "#"}, "#"),
        ({"$dynamicRef": "#"}, "#"),
        ({"$recursiveRef": "#"}, "#"),
        ({"allOf": [{"$dynamicRef": "#/$defs/a"}], "$defs": {"a": {"$recursiveRef": "#"}}}, "#"),
        ({"$dynamicRef": "#me", "$dynamicAnchor": "me"}, "#me"),
        ({"$ref": "#me", "$anchor": "me"}, "#me"),
        ({"allOf": [{"type": "string"}, {"$ref": "#"}]}, "#"),
        ({"not": {"$ref": "#"}}, "#"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "#/$defs/a"),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"anyOf": [{"$ref": "#"}]}}}, "#"),
        ({"properties": {"x": {"oneOf": [{"$ref": "#/properties/x"}]}}}, "#/properties/x"),
        ({"dependentSchemas": {"x": {"$ref": "#"}}}, "#"),
    ],
)
def test_a_circle_that_never_looks_inside(schema: Any, reference: str) -> None:
    assert circular_reference(schema) == reference


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        TREE,
        {"$ref": "#/$defs/tree", "$defs": {"tree": {"items": {"$ref": "#/$defs/tree"}}}},
        {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "string"}}},
        {"const": {"$ref": "#"}},
        {"enum": [{"$ref": "#"}]},
        {"$ref": "http://b.example/other"},
        {"$ref": "#named", "$defs": {"x": {"$anchor": "named"}}},
        {"$ref": "#/nowhere"},
        {"items": {"$dynamicRef": "#"}},
        {"properties": {"child": {"$recursiveRef": "#"}}},
        {"items": {"$dynamicRef": "#me"}, "$dynamicAnchor": "me"},
        {"properties": {"$ref": {"$ref": "#"}}},
    ],
)
def test_a_reference_that_says_something(schema: Any) -> None:
    assert circular_reference(schema) is None


def test_a_long_chain_is_not_a_circle() -> None:
    links = {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(5000)}
    assert circular_reference({"$ref": "#/$defs/0", "$defs": {**links, "5000": {"type": "string"}}}) is None
