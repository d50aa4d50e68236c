"""The JSON Schemas of JSON reports and comparisons, built from the models that are written: what programs rely on."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding
from evalharness.domain.grade import Grade, GraderType, GradeState, Judging
from evalharness.domain.measurement import Measurement
from evalharness.domain.report import Recommendation, Report, RunMetadata
from evalharness.domain.trial import Cause, TrialState

Schema = dict[str, Any]
_NAMES = {
    "evalharness__domain__comparison__Difference": "MetricDifference",
    "evalharness__domain__report__Difference": "AnswerDifference",
}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": ["number", "null"]}
COUNT: Schema = {"type": ["integer", "null"]}


def report_schema() -> Schema:
    definitions = _definitions(tuple[Report, Judging])
    _complete_report(definitions)
    definitions["Trial"], definitions["Grade"] = _trial(), _grade()
    about = "One run: {eval_report}. Several runs: {eval_reports}."
    return _documents("evalharness report", about, ("eval_report", "eval_reports"), "Report", definitions)


def comparison_schema() -> Schema:
    about = "Two runs: {comparison}. An old run with several new ones: {comparisons}."
    definitions = _definitions(tuple[Comparison, Finding])
    return _documents("evalharness comparison", about, ("comparison", "comparisons"), "Comparison", definitions)


def _definitions(models: Any) -> Schema:
    """Of a tuple of them, with what they refer to."""
    written = json.dumps(TypeAdapter(models).json_schema()["$defs"])
    for name, ours in _NAMES.items():
        written = written.replace(name, ours)
    definitions: Schema = {name: _plain(found) for name, found in json.loads(written).items()}
    _complete_finding(definitions)
    return definitions


def _documents(title: str, about: str, keys: tuple[str, str], model: str, definitions: Schema) -> Schema:
    """Either one of them, under the first key, or a list, under the second."""
    one: Schema = {"$ref": f"#/$defs/{model}"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": about,
        "oneOf": [_object({keys[0]: one}), _object({keys[1]: {"type": "array", "items": one}})],
        "$defs": dict(sorted(definitions.items())),
    }


def _object(properties: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def _plain(found: Any) -> Any:
    """Without what is said to the authors of the code; and every field is written, so it is required."""
    if isinstance(found, list):
        return [_plain(each) for each in found]
    if not isinstance(found, dict):
        return found
    kept = {key: _plain(value) for key, value in found.items() if key not in ("title", "description", "default")}
    if isinstance(found.get("properties"), dict):
        kept["properties"] = {name: _plain(value) for name, value in found["properties"].items()}
        kept["required"] = list(found["properties"])
    return kept


def _complete_finding(definitions: Schema) -> None:
    """It is written with its text. Codes of later versions are findings too."""
    found = definitions["Finding"]
    found["properties"] = found["properties"] | {"code": TEXT, "text": TEXT}
    found["required"] = [*found["required"], "text"]


def _complete_report(definitions: Schema) -> None:
    """What the document has in place of some fields, and beside them."""
    finding, advice, report = (definitions[name] for name in ("Finding", Recommendation.__name__, Report.__name__))
    definitions[RunMetadata.__name__]["required"].remove("taped")  # only where calls were recorded or replayed
    about = {name: advice["properties"][name] for name in ("kind", "cases")}
    definitions["AdviceFinding"] = _object({**finding["properties"], **about})
    del definitions[Recommendation.__name__], definitions["SlowTrial"]
    nothing = _object({name: {"type": "null"} for name in Measurement.model_fields})
    properties: Schema = {name: value for name, value in report["properties"].items() if name != "slowest"}
    properties["recommendations"] = {"type": "array", "items": TEXT}
    properties["findings"] = {"type": "array", "items": {"$ref": "#/$defs/AdviceFinding"}}
    properties["measurements"] = {
        "type": "object",
        "additionalProperties": {"anyOf": [{"$ref": f"#/$defs/{Measurement.__name__}"}, nothing]},
    }
    trials: Schema = {"type": "array", "items": {"$ref": "#/$defs/Trial"}}
    definitions[Report.__name__] = _object(properties, {"trials": trials})


def _choice(kind: Any) -> Schema:
    return TypeAdapter(kind).json_schema()


def _trial() -> Schema:
    """As `json_report.trial_data` writes it."""
    fields: Schema = {
        "case_id": TEXT,
        "index": {"type": "integer", "minimum": 0},
        "state": _choice(TrialState),
        "score": NUMBER,
        "duration_s": {"type": "number"},
        "output": {"type": ["string", "null"]},
        "error": {"type": ["string", "null"]},
        "reason": TEXT,
        "cause": _choice(Cause),
        "cost_usd": NUMBER,
        "input_tokens": COUNT,
        "output_tokens": COUNT,
        "attempts": {"type": "integer", "minimum": 1},
        "first_state": _choice(TrialState),
        "seed": {"type": "integer"},
        "grades": {"type": "array", "items": {"$ref": "#/$defs/Grade"}},
    }
    return _object(fields, {"measured_s": {"type": "number"}})


def _grade() -> Schema:
    fields: Schema = {
        "grader": TEXT,
        "kind": TEXT,
        "state": _choice(GradeState),
        "score": NUMBER,
        "reason": TEXT,
        "type": _choice(GraderType),
        "required": {"type": "boolean"},
        "weight": {"type": "number"},
    }
    judging: Schema = {"type": "array", "items": {"$ref": "#/$defs/Judging"}}
    as_stored = {name: _choice(Grade.model_fields[name].annotation) for name in ("cause", "figures")}
    return _object(fields, {**as_stored, "evidence": {}, "judging": judging})
