"""The JSON Schema of the native suite file, built from the same models that check it: what editors use."""

from __future__ import annotations

from typing import Any

from evalharness import registry
from evalharness.domain.suite import Suite
from evalharness.formats.native import NOT_ACTED_ON

SCALAR = {"type": ["string", "number", "boolean"]}
REFERENCE = {"type": "string", "description": "module:attr or path/to/file.py:attr"}


def suite_schema() -> dict[str, Any]:
    schema = Suite.model_json_schema(by_alias=True, mode="validation")
    definitions = schema.pop("$defs")
    definitions["GraderSpec"] = _part_schema("grader", {"required": {"type": "boolean"}, "weight": {"type": "number"}})
    definitions["TargetSpec"] = _part_schema("target", {"tools": {"type": "array", "items": {"type": "string"}}})
    for name, part in _options_definitions().items():
        definitions[name] = part
    case = definitions["Case"]
    case["required"] = ["input"]
    case["properties"]["id"]["type"] = ["string", "number"]
    case["properties"]["expected"] = {
        "description": "A bare value means exact; a mapping names a grader.",
        "anyOf": [SCALAR, {"$ref": "#/$defs/GraderSpec"}],
    }
    case["properties"]["files"] = {
        "anyOf": [case["properties"]["files"], {"type": "array", "items": {"type": "string"}}]
    }
    case["properties"]["grader"] = {
        "type": "object",
        "description": "How `expected` is compared (documented long form).",
    }
    definitions["CaseFile"] = {"anyOf": [{"type": "string"}, definitions["CaseFile"]]}
    properties = schema["properties"]
    properties.pop("templated")
    properties["test_cases"] = properties.pop("test_cases", None) or properties.pop("cases")
    properties["vars"] = {"type": "object", "additionalProperties": SCALAR}
    properties["variants"] = {
        "anyOf": [
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/TargetSpec"}},
            {"type": "array", "items": {"$ref": "#/$defs/Variant"}},
        ]
    }
    for key in NOT_ACTED_ON:
        properties[key] = {"description": "Read but not acted on by this version."}
    _add_second_spelling(definitions["SuiteConfig"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "evalharness suite",
        "required": ["test_cases"],
        "$defs": definitions,
    }


def _part_schema(noun: registry.Noun, common: dict[str, Any]) -> dict[str, Any]:
    """Short forms: a name, a reference, `{name: options}`, `{type: name, …}`."""
    names = registry.names(noun)
    forms: list[dict[str, Any]] = [
        {"enum": names},
        REFERENCE,
        {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}},
    ]
    for name in names:
        options = {"anyOf": [{"$ref": f"#/$defs/{noun}.{name}"}, _main_schema(noun, name)]}
        forms.append(
            {"type": "object", "required": [name], "properties": {name: options, "name": {"type": "string"}, **common}}
        )
    return {"anyOf": forms}


def _main_schema(noun: registry.Noun, name: str) -> dict[str, Any]:
    options = registry.load(noun, name).Options
    if not options.main:
        return {"type": "null"}
    if options.main_may_be_mapping:
        return {}
    properties = options.model_json_schema(by_alias=True)["properties"]
    main = properties.get(options.main) or properties.get("value") or {}
    loose = {"string": ["string", "number", "boolean"], "array": ["array", "string", "number", "boolean"]}
    kind = main.get("type", "")
    if name in ("all_of", "any_of", "weighted"):
        return {"type": "array", "items": {"$ref": "#/$defs/GraderSpec"}}
    return {"type": loose.get(kind, kind)} if kind else {}


def _options_definitions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    nouns: tuple[registry.Noun, ...] = ("grader", "target")
    for noun in nouns:
        for name in registry.names(noun):
            options = registry.load(noun, name).Options
            schema = options.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
            schema.pop("$defs", None)
            schema.pop("additionalProperties", None)
            if options.main_may_be_mapping:
                schema = {}
            elif "properties" in schema and options.main in schema.get("required", []):
                schema["required"] = [key for key in schema["required"] if key != options.main]
            found[f"{noun}.{name}"] = schema
    return found


def _add_second_spelling(config: dict[str, Any]) -> None:
    config["properties"]["parallel_execution"] = {"type": "boolean", "description": "The same as `parallel`."}
