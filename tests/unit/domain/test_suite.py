from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Reporting, Suite


def suite(**fields: Any) -> Suite:
    return Suite.model_validate({"name": "s", **fields})


def case(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "input": "?", **fields}


def kinds(made: Suite) -> list[str]:
    return [spec.kind for spec in made.graders_for(made.cases[0])]


def test_the_suites_graders_replace_a_case_without_its_own() -> None:
    assert kinds(suite(graders=[{"max_length": 9}], test_cases=[case()])) == ["max_length"]


def test_what_is_expected_comes_on_top_of_the_suites_graders() -> None:
    assert kinds(suite(graders=[{"max_length": 9}], test_cases=[case(expected="x")])) == ["exact", "max_length"]


def test_a_cases_own_graders_replace_the_suites() -> None:
    own = case(expected="x", graders=[{"contains": "x"}])
    assert kinds(suite(graders=[{"max_length": 9}], test_cases=[own])) == ["exact", "contains"]
    assert kinds(suite(graders=[{"max_length": 9}], test_cases=[case(graders=[])])) == []


def test_a_case_may_set_its_own_time_limit_and_retries() -> None:
    made = suite(
        config={"timeout_seconds": 7, "retries": 3},
        test_cases=[case(), case(id="b", timeout_seconds=1, retries=0)],
    )
    assert [made.timeout_seconds_for(each) for each in made.cases] == [7, 1]
    assert [made.retries_for(each) for each in made.cases] == [3, 0]


@pytest.mark.parametrize(("retry_count", "retries"), [(5, [5, 2]), (0, [0, 2]), (None, [3, 2])])
def test_retry_count_comes_before_the_suites_retries(retry_count: int | None, retries: list[int]) -> None:
    made = suite(config={"retries": 3, "retry_count": retry_count}, test_cases=[case(), case(id="b", retries=2)])
    assert [made.retries_for(each) for each in made.cases] == retries


def test_both_spellings_of_parallel() -> None:
    assert suite(config={"parallel_execution": False}).config.parallel is False
    assert suite(config={"parallel": False}).config.parallel is False
    assert suite().config.parallel is True


def test_a_target_may_be_called_by_its_name_in_the_suite() -> None:
    made = suite(targets={"fast": {"command": ["./agent", "--fast"]}}, target="fast")
    assert made.target is not None
    found = made.named_target(made.target)
    assert (found.kind, found.label) == ("command", "fast")
    other = TargetSpec.model_validate("oracle")
    assert made.named_target(other) is other


def test_variants_are_a_list_or_a_mapping() -> None:
    by_name = suite(variants={"fast": "cmd:./fast", "slow": "cmd:./slow"})
    listed = suite(
        variants=[{"name": "fast", "target": "cmd:./fast"}, {"name": "slow", "target": "cmd:./slow"}],
    )
    assert by_name.variants == listed.variants


def test_a_variant_is_passed_to_its_target_unless_it_is_only_a_target_with_a_name() -> None:
    """A variant with only an id used to have no effect."""
    [bare, named, both] = suite(
        variants=[{"id": "a"}, {"id": "b", "target": "oracle"}, {"id": "c", "target": "oracle", "tags": ["cheap"]}]
    ).variants
    assert (bare.target_fields(), named.target_fields()) == ({"id": "a"}, {})
    assert both.target_fields() == {"id": "c", "tags": ["cheap"]}


def test_variables_are_texts() -> None:
    assert suite(vars={"a": 1, "b": 1.5, "c": True, "d": "x"}).vars == {"a": "1", "b": "1.5", "c": "true", "d": "x"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"test_cases": [case(), case()]}, "case id 'a' is used 2 times"),
        ({"variants": [{"name": "v", "target": "oracle"}] * 3}, "variant 'v' is used 3 times"),
        ({"vars": {"Key": "1", "KEY": "2"}}, "variable 'key' is used 2 times"),
        ({"vars": {"a": None}}, "vars"),
        ({"vars": {"a": [1]}}, "vars"),
        ({"vars": ["a"]}, "vars"),
        ({"trials": 0}, "trials"),
        ({"trials": 10**9}, "trials"),
        ({"case_threshold": 1.5}, "case_threshold"),
        ({"max_error_rate": float("nan")}, "max_error_rate"),
        ({"config": {"retries": -1}}, "retries"),
        ({"config": {"timeout_seconds": 0}}, "timeout_seconds"),
        ({"trials": True}, "trials"),
        ({"case_threshold": True}, "case_threshold"),
        ({"config": {"retries": True}}, "retries"),
        ({"config": {"timeout_seconds": True}}, "timeout_seconds"),
        ({"config": {"max_tokens": True}}, "max_tokens"),
        ({"config": {"max_cost_usd": "5"}}, "max_cost_usd"),
        ({"gate": {"each_case": {"passed": True}}}, "passed"),
        ({"gate": {"regression": {"margin": True}}}, "margin"),
        ({"config": {"retrys": 1}}, "retrys"),
        ({"name": ""}, "name"),
        ({"schema_version": "2.0"}, "schema_version"),
        ({"trails": 3}, "trails"),
        ({"config": {"judge_model": "openai/{{judge}}"}}, "cannot be a variable"),
    ],
    ids=str,
)
def test_a_suite_that_cannot_be_meant_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        suite(**fields)


def test_a_stored_suite_comes_back_the_same() -> None:
    made = suite(
        target={"command": ["./agent"], "result": "json"},
        graders=[{"regex": "a", "flags": ["dotall"], "weight": 2}],
        variants={"v": "oracle"},
        vars={"a": 1},
        config={"parallel_execution": False},
        test_cases=[case(expected=4, files=["a.txt"], graders=[{"json_equals": {"a": None}}])],
    )
    for by_alias in (True, False):
        assert Suite.model_validate(made.model_dump(mode="json", by_alias=by_alias)) == made
    assert Suite.model_validate_json(made.model_dump_json(by_alias=True)) == made


def test_cases_built_in_python_are_taken_as_they_are() -> None:
    built = Case(id="a", input="{{not a variable}}")
    made = Suite(name="s", cases=(built,))
    assert made.cases[0] is built
    assert not made.templated


@pytest.mark.parametrize("written", ['{"output_dir": "../x"}', "3", '{"format": {"a": 1}}', '{"include_details": "?"}'])
def test_a_stored_suite_is_read_whatever_an_earlier_version_kept_of_its_reporting(written: str) -> None:
    assert Suite.model_validate_json(f'{{"name": "a", "reporting": {written}}}').reporting is None
    with pytest.raises(ValidationError):
        Suite.model_validate({"name": "a", "reporting": json.loads(written)})


def test_reporting_names_formats_or_more() -> None:
    assert Suite.model_validate({"name": "a", "reporting": "json"}).reporting == Reporting(format=("json",))
    both = Suite.model_validate({"name": "a", "reporting": ["json", "markdown", "json"]}).reporting
    assert both == Reporting(format=("json", "markdown"), output_dir="results", include_details=True)
