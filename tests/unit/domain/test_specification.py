from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalharness.domain.specification import GraderSpec, TargetSpec


@pytest.mark.parametrize(
    ("written", "kind", "options"),
    [
        ({"contains": "Ada"}, "contains", "Ada"),
        (
            {"contains": {"value": "Ada", "case_sensitive": False}},
            "contains",
            {"value": "Ada", "case_sensitive": False},
        ),
        ({"regex": "a", "flags": ["dotall"]}, "regex", {"regex": "a", "flags": ["dotall"]}),
        ({"type": "exact", "value": 4}, "exact", {"value": 4}),
        ({"type": "exit_code"}, "exit_code", None),
        ({"kind": "exact", "options": 4}, "exact", 4),
        ({"json_equals": {"a": 1}}, "json_equals", {"a": 1}),
        ({"json_equals": None}, "json_equals", None),
        ("exit_code", "exit_code", None),
        ("judges.py:fair", "function", "judges.py:fair"),
        ({"weight": 2, "contains": "Ada"}, "contains", "Ada"),
    ],
    ids=str,
)
def test_what_people_write_for_a_grader(written: Any, kind: str, options: Any) -> None:
    spec = GraderSpec.model_validate(written)
    assert (spec.kind, spec.options) == (kind, options)


def test_what_all_graders_share_is_kept_apart_from_their_options() -> None:
    for written in (
        {"contains": "Ada", "weight": 2, "required": False, "name": "names her"},
        {"type": "contains", "value": "Ada", "weight": 2, "required": False, "name": "names her"},
    ):
        spec = GraderSpec.model_validate(written)
        assert (spec.weight, spec.required, spec.name, spec.label) == (2.0, False, "names her", "names her")
        assert spec.options in ("Ada", {"value": "Ada"})


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({}, "must name a grader"),
        ({"weight": 2}, "must name a grader"),
        ({"type": 5}, "must be the name of a grader"),
        ({"json_equals": {"a": 1}, "wieght": 2}, "did you mean 'weight'"),
        ({"regex": {"pattern": "a"}, "flags": []}, "inside its mapping"),
        ({"contains": "a", "weight": -1}, "weight"),
        ({"contains": "a", "weight": float("nan")}, "weight"),
        ({"contains": "a", "weight": True}, "weight"),
        ({"contains": "a", "weight": "2"}, "weight"),
        ({"contains": "a", "required": "perhaps"}, "required"),
        (5, "GraderSpec"),
        (None, "GraderSpec"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(written: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        GraderSpec.model_validate(written)


@pytest.mark.parametrize(
    ("written", "kind", "label"),
    [
        ("agent.py:answer", "function", "agent.py:answer"),
        ("cmd: ./agent --fast", "command", "command ./agent --fast"),
        ("https://example.com/ask", "http", "https://example.com/ask"),
        ("oracle", "oracle", "oracle"),
        ({"command": ["./agent", "--fast"]}, "command", "command ./agent --fast"),
        ({"command": "./agent", "result": "json"}, "command", "command ./agent"),
        ({"http": {"method": "POST", "url": "https://example.com"}}, "http", "https://example.com"),
        ({"type": "function", "function": "agent.py:answer"}, "function", "agent.py:answer"),
        ({"function": "agent.py:answer", "name": "mine"}, "function", "mine"),
    ],
    ids=str,
)
def test_what_people_write_for_a_target(written: Any, kind: str, label: str) -> None:
    spec = TargetSpec.model_validate(written)
    assert (spec.kind, spec.label) == (kind, label)


def judge(context: object) -> bool:
    return context is not None


@pytest.mark.parametrize("spec", [GraderSpec, TargetSpec])
def test_a_python_function_is_called_but_never_stored(spec: type[GraderSpec] | type[TargetSpec]) -> None:
    made = spec.model_validate(judge)
    assert made.function is judge
    stored = made.model_dump(mode="json")
    assert "function" not in stored
    assert stored["options"] == {"live": f"{__name__}:judge"}
    assert spec.model_validate(stored).function is None


@pytest.mark.parametrize("written", [{"regex": "a", "flags": ["dotall"]}, {"json_equals": {"kind": "x"}}, "exit_code"])
def test_a_stored_specification_comes_back_the_same(written: Any) -> None:
    spec = GraderSpec.model_validate(written)
    assert GraderSpec.model_validate(spec.model_dump(mode="json")) == spec
