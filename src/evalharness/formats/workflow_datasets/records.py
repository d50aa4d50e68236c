"""The records of a workflow dataset: the dataset and its cases, as written."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any

from pydantic import Field, FieldSerializationInfo, StringConstraints, field_serializer, field_validator
from pydantic.alias_generators import to_camel

from evalharness.documents.assertions import Assertion
from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Trials, Variant
from evalharness.values.json_value import Json

DEFAULT_SCORERS = ("latency", "cost", "tokens")


Text = Annotated[str, StringConstraints(min_length=1)]


DatasetId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$", max_length=500)]


CaseId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]+$", max_length=500)]


def scorer_fields(kind: Json, **written: Json) -> dict[str, Json]:
    """A scorer gives a share of the score and decides nothing: only assertions can fail a case."""
    return {"kind": kind, "required": False, **written}


class EvalCase(Record):
    id: CaseId
    name: str | None = None
    input: Json = None
    assertions: tuple[Assertion, ...]
    tags: tuple[str, ...] = ()


class EvalDataset(Record):
    """A dataset as written; that it has cases, and each id once, is checked where it is loaded."""

    id: DatasetId
    workflow_name: Text = Field(alias="workflowName")
    version: Text
    cases: tuple[EvalCase, ...]
    target: TargetSpec | None = None
    targets: dict[str, TargetSpec] = Field(default_factory=dict)
    trials: Trials = 1
    variants: tuple[Variant, ...] = ()
    scorers: tuple[GraderSpec, ...] = tuple(GraderSpec.model_validate(scorer_fields(name)) for name in DEFAULT_SCORERS)

    @field_serializer("variants")
    def _spelled_as_documented(self, variants: tuple[Variant, ...], info: FieldSerializationInfo) -> Any:
        rows = [variant.model_dump(mode=info.mode) for variant in variants]
        return (
            [{"id" if key == "name" else to_camel(key): row[key] for key in row} for row in rows]
            if info.by_alias
            else rows
        )

    @field_validator("variants")
    @classmethod
    def _names_of_runs(cls, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
        for name, times in Counter(variant.name for variant in variants).items():
            if times > 1:
                raise ValueError(f"variant '{name}' is listed {times} times")
            if "{{" in name:
                raise ValueError(f"the id of a variant must not contain {{{{: {name}")
        return variants
