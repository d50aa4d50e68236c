"""The JSON Schema of the native suite file, built from the same models that check it: what editors use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from evalharness import registry
from evalharness.domain.gate import PRESETS
from evalharness.domain.options import Options
from evalharness.domain.suite import Suite
from evalharness.formats.native.expectations import DOCUMENTED_TYPES
from evalharness.formats.native.regression_evals import COMPARISONS

Schema = dict[str, Any]

SCALAR: Schema = {"type": ["string", "number", "boolean"]}
REFERENCE: Schema = {"type": "string", "pattern": ":", "description": "module:attr or path/to/file.py:attr"}
VARIABLE: Schema = {"type": "string", "pattern": r"\{\{"}
VARIABLES: Schema = {"type": "object", "additionalProperties": SCALAR}
NAME: Schema = {"type": "string"}
COMMON: dict[registry.Noun, Schema] = {
    "grader": {"name": NAME, "required": {"type": "boolean"}, "weight": {"type": "number", "minimum": 0}},
    "target": {"name": NAME, "tools": {"type": "array", "items": {"type": "string"}}},
}
NOT_FOR_FILES = "live"
NAMED_GRADER: Schema = {"type": "string", "description": "a name in config/graders.yaml"}
LISTED_GRADERS: Schema = {"type": "array", "items": {"$ref": "#/$defs/ListedGrader"}}


def suite_schema() -> Schema:
    schema = _model_schema(Suite)
    definitions = schema.pop("$defs")
    definitions["GraderSpec"] = _part_schema("grader", [{"enum": _names_alone("grader")}, REFERENCE])
    definitions["TargetSpec"] = _part_schema("target", [{"type": "string", "description": "a name, URL or reference"}])
    definitions["ListedGrader"] = {"anyOf": [{"$ref": "#/$defs/GraderSpec"}, NAMED_GRADER, _documented_grader()]}
    _complete_case(definitions["Case"])
    definitions["Prompt"] = _prompt_schema(definitions["Prompt"])
    definitions["CaseFile"] = {"anyOf": [{"type": "string"}, definitions["CaseFile"]]}
    for name in sorted(_nested_models()):
        definitions.setdefault(name, {})  # what stands inside an option is checked by `validate` alone
    definitions["SuiteConfig"]["properties"]["parallel_execution"] = {
        "type": "boolean",
        "description": "The same as `parallel`.",
    }
    properties = schema["properties"]
    properties.pop("templated")
    properties["graders"] = LISTED_GRADERS
    properties["vars"] = VARIABLES
    properties["prompts"] = _by_name_or_listed("Prompt")
    properties["variants"] = {
        "anyOf": [
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/TargetSpec"}},
            {"type": "array", "items": {"$ref": "#/$defs/Variant"}},
        ]
    }
    _complete_gate(definitions)
    _complete_reporting(definitions)
    _complete_recording(definitions)
    notification: Schema = {"anyOf": [NAME, definitions["Notification"]]}
    definitions["Notification"] = notification
    one: Schema = {"$ref": "#/$defs/Notification"}
    properties["notify"] = {"anyOf": [one, {"type": "array", "items": one}, {"type": "null"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "evalharness suite",
        "required": ["test_cases"],
        "if": {"required": ["prompts"]},
        "else": {"properties": {"test_cases": {"items": {"anyOf": [{"required": ["input"]}, {"required": ["vars"]}]}}}},
        "$defs": definitions,
    }


class _FileSchema(GenerateJsonSchema):
    def callable_schema(self, schema: core_schema.CallableSchema) -> Schema:  # noqa: ARG002
        """Python functions, which a file cannot hold."""
        return {}


def _model_schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema(by_alias=True, schema_generator=_FileSchema)


def _complete_case(case: Schema) -> None:
    """What people may write in a case beyond its fields."""
    properties = case["properties"]
    case.pop("required")
    properties["id"]["type"] = ["string", "number"]
    for key in ("expected", "expected_output"):
        properties[key] = {
            "description": "A bare value means exact; a mapping names a grader.",
            "anyOf": [SCALAR, {"$ref": "#/$defs/GraderSpec"}, _documented_expectation()],
        }
    properties.pop("code_check")
    properties["vars"] = VARIABLES
    properties["graders"] = LISTED_GRADERS
    properties["files"] = {"anyOf": [properties["files"], {"type": "array", "items": {"type": "string"}}]}
    properties["grader"] = {
        "description": "How `expected` is compared.",
        "anyOf": [{"$ref": "#/$defs/ListedGrader"}, {"type": "object"}],
    }
    _complete_regression(properties)


def _by_name_or_listed(definition: str) -> Schema:
    entry = {"$ref": f"#/$defs/{definition}"}
    return {"anyOf": [{"type": "object", "additionalProperties": entry}, {"type": "array", "items": entry}]}


def _prompt_schema(prompt: Schema) -> Schema:
    """A text or the name of a file, a list of messages, or a mapping of one of these."""
    messages = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/PromptMessage"}}
    keys: Schema = {"text": {"type": "string"}, "file": {"type": "string"}, "messages": messages}
    named = {"name": prompt["properties"]["name"], "label": prompt["properties"]["name"]}
    whole = [_mapping({**named, key: value}, [key]) for key, value in keys.items()]
    return {"anyOf": [{"type": "string", "minLength": 1}, messages, *whole]}


def _complete_gate(definitions: Schema) -> None:
    """The short forms: a preset's name, metrics for all cases, `2 of 3`, a baseline's name."""
    share: Schema = {"type": "number", "minimum": 0, "maximum": 1}
    short_forms: dict[str, list[Schema]] = {
        "Gate": [{"enum": list(PRESETS)}],
        "Thresholds": [{"type": "object", "additionalProperties": share}],
        "EachCase": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": r"^\d+ of \d+$"}],
        "RegressionRule": [{"type": "string"}, {"const": True}],
    }
    for name, forms in short_forms.items():
        definitions[name] = {"anyOf": [*forms, definitions[name]]}


def _complete_reporting(definitions: Schema) -> None:
    """The short forms: a format, or several. Formats may be those of plug-ins."""
    formats: Schema = {"anyOf": [NAME, {"type": "array", "items": NAME}]}
    reporting = definitions["Reporting"]
    reporting["properties"]["format"] = formats
    reporting["additionalProperties"] = False
    definitions["Reporting"] = {"anyOf": [*formats["anyOf"], reporting]}


def _complete_recording(definitions: Schema) -> None:
    """The short forms: one thing to ignore, the gateway switched on, and models that stand for themselves."""
    ignored = definitions["ReplayOptions"]["properties"]
    ignored["ignore"] = {"anyOf": [{"type": "string"}, ignored["ignore"]]}
    passed = definitions["GatewayOptions"]
    models = passed["properties"]
    models["models"] = {"anyOf": [NAME, {"type": "array", "items": NAME}, models["models"]]}
    definitions["GatewayOptions"] = {"anyOf": [{"type": "boolean"}, passed]}


def _complete_regression(properties: Schema) -> None:
    """What a case holds that compares today's answer with a known-good one."""
    properties["baseline"] = {"description": "The known-good answer: {output, …} or {$ref: file}."}
    properties["baseline_version"] = {"type": ["string", "number"]}
    properties["current"] = _mapping({"input": {}, "execution": {}}, [])
    properties["comparison"] = {"type": "object", "properties": {"type": {"enum": list(COMPARISONS)}}}


def _documented_expectation() -> Schema:
    properties: Schema = {"type": {"enum": list(DOCUMENTED_TYPES)}, "value": {}, "alternatives": {"type": "array"}}
    return {"type": "object", "properties": properties, "required": ["value"]}


def _documented_grader() -> Schema:
    properties: Schema = {"type": {"enum": ["code", "model", "human"]}, "config": {"type": "object"}}
    return _mapping({**properties, **COMMON["grader"]}, ["type"])


def _part_schema(noun: registry.Noun, texts: list[Schema]) -> Schema:
    """Every way to write a part: a text, `{name: options}`, `{type: name, …}`, `{kind: name, options: …}`."""
    names = registry.names(noun)
    forms = [*texts, _mapping({"kind": {"enum": names}, "options": {}, **COMMON[noun]}, ["kind"])]
    for name in names:
        options = registry.load(noun, name).Options
        properties, required = _options(options)
        beside = {key: value for key, value in properties.items() if key != name}
        whole = {} if options.main_may_be_mapping else {"anyOf": [_mapping(properties, required), *_main(options)]}
        forms.append(_mapping({**beside, name: whole, **COMMON[noun]}, [name]))
        forms.append(_mapping({**properties, "type": {"enum": [name]}, **COMMON[noun]}, ["type", *required]))
    return {"anyOf": forms}


def _mapping(properties: Schema, required: Iterable[str]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _options(options: type[Options]) -> tuple[Schema, list[str]]:
    """Every key a file may hold, other spellings included, and those it must hold."""
    schema = _model_schema(options)
    properties: Schema = {}
    for key, value in schema.get("properties", {}).items():
        loose = _loose(value) if key == options.main else value
        for spelling in sorted(_spellings(options, key) - {NOT_FOR_FILES}):
            properties[spelling] = {"anyOf": [loose, VARIABLE]}
    return properties, [key for key in schema.get("required", []) if len(_spellings(options, key)) == 1]


def _nested_models() -> set[str]:
    """The models that options of graders and targets are made of."""
    nouns: tuple[registry.Noun, ...] = ("grader", "target")
    found = [registry.load(noun, name).Options for noun in nouns for name in registry.names(noun)]
    return {name for options in found for name in _model_schema(options).get("$defs", {})}


def _spellings(options: type[Options], key: str) -> set[str]:
    for name, field in options.model_fields.items():
        alias = field.validation_alias
        choices = {choice for choice in getattr(alias, "choices", (alias,)) if isinstance(choice, str)} or {name}
        if key in {name, *choices}:
            return choices
    return {key}


def _main(options: type[Options]) -> list[Schema]:
    """The main option written alone, as in `{contains: Ada}`."""
    if not options.main:
        return [{"type": "null"}]
    properties, _ = _options(options)
    return [properties[options.main]] if options.main in properties else []


def _loose(schema: Schema) -> Schema:
    """Texts may be written as numbers or true/false, and a list of one without its brackets."""
    if schema.get("type") == "string":
        return {**schema, **SCALAR}
    items = schema.get("items", {})
    if schema.get("type") == "array" and items.get("type") == "string":
        return {"anyOf": [SCALAR, {**schema, "items": SCALAR}]}
    return schema


def _names_alone(noun: registry.Noun) -> list[str]:
    """Parts that need no option, so that their name says all."""
    return [name for name in registry.names(noun) if _needs_nothing(registry.load(noun, name).Options)]


def _needs_nothing(options: type[Options]) -> bool:
    try:
        options.model_validate(None)
    except ValidationError:
        return False
    return True
