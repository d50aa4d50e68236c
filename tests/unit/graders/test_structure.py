from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.errors import Unscored

Grading = Callable[..., Grade]

UUID = "123e4567-e89b-12d3-a456-426614174000"
USER = {"id": "{{any_uuid}}", "name": "{{any_string}}", "email": "{{any_email}}", "created_at": "{{any_iso_datetime}}"}
ADA = {"id": UUID, "name": "Ada", "email": "ada@example.org", "created_at": "2024-01-15T10:30:00Z"}
USERS = {
    "status": 200,
    "body": {"users": [USER], "pagination": {"page": 1, "per_page": 20, "total": "{{any_number}}"}},
}
PAGE = {"page": 1, "per_page": 20, "total": 2}
LISTING = {
    "status": 200,
    "headers": {"content-type": "application/json"},
    "body": {"data": [], "meta": {"page": 1, "per_page": 20}},
}


def written(value: Any, **options: Any) -> dict[str, Any]:
    return {"type": "structural_match", "value": value, **options}


@pytest.mark.parametrize(
    ("value", "options", "answer", "passes"),
    [
        ({"a": 1}, {}, {"a": 1.0}, True),
        ({"a": 1}, {}, {"a": True}, False),
        ({"a": 1}, {}, {"a": "1"}, False),
        ({"a": 1}, {}, '{"a": 1}', True),
        ('{"a": "{{any_number}}"}', {}, {"a": 5}, True),
        ({"a": 1}, {}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"allow_additional_fields": False}, {"a": 1, "b": 2}, False),
        ({"a": 1}, {"allow_additional_fields": False, "ignore_fields": ["b"]}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"allow_additional_fields": False, "ignore_values": ["b"]}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {}, {"b": 2, "a": 1}, True),
        ({"a": 1, "b": 2}, {"allow_field_reordering": False}, {"b": 2, "a": 1}, False),
        ({"a": 1, "b": 2}, {"allow_field_reordering": False}, {"a": 1, "c": 3, "b": 2}, True),
        ({"a": 1, "b": 2}, {"allow_field_reordering": False, "ignore_fields": ["a"]}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"strict": True}, {"a": 1}, True),
        ({"a": 1}, {"strict": True}, {"a": 1.0}, False),
        ({"a": 1}, {"strict": True}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"strict": True}, {"b": 2, "a": 1}, False),
        ({"a": 1, "b": 2}, {"ignore_fields": ["b"]}, {"a": 1}, True),
        ({"a": 1, "b_at": 2, "c_at": 3}, {"ignore_fields": ["*_at"]}, {"a": 1, "c_at": 4}, True),
        ({"a": 1, "b_at": 2}, {"ignore_fields": ["*_at"]}, {"a": 2}, False),
        ({"a": 1}, {}, '```json\n{"a": 1}\n```', True),
        ({"a": 1, "b": 2}, {"ignore_fields": ["b"]}, {"a": 1, "b": "x"}, True),
        ({"a": 1, "b": 2}, {"ignore_values": ["b"]}, {"a": 1, "b": "x"}, True),
        ({"a": 1, "b": 2}, {"ignore_values": ["b"]}, {"a": 1}, False),
        ({"a": {"x": {"id": 1}, "y": [{"id": 2}]}}, {"ignore_fields": ["**.id"]}, {"a": {"x": {}, "y": [{}]}}, True),
        ({"m": {"x": 1, "y": 2}}, {"ignore_values": ["m.*"]}, {"m": {"x": 5, "y": 6}}, True),
        ({"m": {"x": 1, "y": 2}}, {"ignore_values": ["m.*"]}, {"m": {"x": 5}}, False),
        ({"data": []}, {"ignore_values": ["data.*"]}, {"data": [1, 2]}, True),
        ({"data": [1, 2]}, {"ignore_values": ["data.*"]}, {"data": []}, True),
        ({"data": [1, 2]}, {"ignore_values": ["data.*"]}, {"data": {}}, False),
        ({"data": []}, {}, {"data": [1, 2]}, False),
        ({"data": [1, 2]}, {}, {"data": [2, 1]}, False),
        ([{"id": "{{any_number}}"}], {}, [{"id": 1}, {"id": 2}], True),
        ([{"id": "{{any_number}}"}], {}, [], True),
        ([{"id": "{{any_number}}"}], {}, [{"id": 1}, {"id": "2"}], False),
        ([{"id": 1}], {}, [{"id": 1}, {"id": 1}], False),
        ([{"id": "{{any_number}}"}, {"id": 2}], {}, [{"id": 1}], False),
        ({}, {"require_keys": ["a.*.b"]}, {"a": [{"b": 1}, {"b": 2}]}, True),
        ({}, {"require_keys": ["a.*.b"]}, {"a": [{"b": 1}, {}]}, False),
        ({"a": None}, {}, {"a": None}, True),
        ({"1": "x"}, {"strict": True}, {1: "x"}, True),
        ({"1": "x"}, {"strict": True}, {1: "x", 2: "y"}, False),
        ({"a": None}, {}, {}, False),
        ("Order {{any_number}} is ready", {}, "Order 42 is ready", True),
        ("Order {{any_number}} is ready", {}, "Order is ready", False),
        ("text", {}, '"text"', True),
        ("5", {}, "5", True),
        ("{{any_number}}", {}, "5", True),
        ("{{any_number}}", {}, "five", False),
        (None, {}, "null", True),
    ],
)
def test_what_matches(value: Any, options: dict[str, Any], answer: Any, passes: bool, grade: Grading) -> None:
    verdict = grade(written(value, **options), answer)
    assert verdict.passed is passes, verdict.reason
    assert (verdict.score == 1.0) is passes


class TestResponses:
    @pytest.mark.parametrize(
        ("body", "passes"),
        [
            ({"users": [ADA, ADA], "pagination": PAGE}, True),
            ({"users": [], "pagination": PAGE}, True),
            ({"users": [{**ADA, "id": 7}], "pagination": {"page": 1, "per_page": 20}}, True),
            ({"users": [{**ADA, "email": "nobody"}], "pagination": PAGE}, False),
            ({"users": [ADA], "pagination": {**PAGE, "page": 2}}, False),
            ({"users": [ADA], "pagination": PAGE, "more": 1}, True),
            ({"pagination": PAGE}, False),
        ],
    )
    @pytest.mark.parametrize("wrap", [lambda body: {"status": 200, "body": body}, lambda body: body, json.dumps])
    @pytest.mark.parametrize("prefix", ["", "body."])
    def test_paths_start_at_the_body(self, body: Any, passes: bool, wrap: Any, prefix: str, grade: Grading) -> None:
        """A target may return the whole response or only its body."""
        ignored = [prefix + path for path in ("users.*.id", "users.*.created_at", "pagination.total")]
        verdict = grade(written(USERS, ignore_fields=ignored, allow_additional_fields=True), wrap(body))
        assert verdict.passed is passes, verdict.reason

    @pytest.mark.parametrize(
        ("body", "passes"),
        [
            ({"data": [], "meta": {"page": 1, "per_page": 20}}, True),
            ({"data": [{"id": 1}], "meta": {"page": 1, "per_page": 20, "total": 1}}, True),
            ({"data": [], "meta": {"page": 1}}, False),
            ({"meta": {"page": 1, "per_page": 20}}, False),
        ],
    )
    def test_free_values_and_required_keys(self, body: Any, passes: bool, grade: Grading) -> None:
        options = {
            "ignore_values": ["data.*", "meta.total"],
            "require_keys": ["data", "meta.page", "meta.per_page"],
            "strict": False,
        }
        answer = {"status": 200, "headers": {"Content-Type": "application/json; charset=utf-8"}, "body": body}
        assert grade(written(LISTING, **options), answer).passed is passes

    def test_a_key_that_is_missing_twice_over_is_reported_once(self, grade: Grading) -> None:
        answer = {**LISTING, "body": {"meta": {"page": 1, "per_page": 20}}}
        assert grade(written(LISTING, require_keys=["data"]), answer).reason == "body.data is missing"

    @pytest.mark.parametrize(
        ("headers", "strict", "passes"),
        [
            ({"Content-Type": "application/json"}, False, True),
            ({"content-type": "Application/JSON; charset=utf-8", "date": "today"}, False, True),
            ({"content-type": "application/json; charset=utf-8"}, True, False),
            ({"content-type": "application/json", "date": "today"}, True, True),
            ({"content-type": "text/html"}, False, False),
            ({}, False, False),
            (None, False, False),
        ],
    )
    def test_headers(self, headers: Any, strict: bool, passes: bool, grade: Grading) -> None:
        verdict = grade(written(LISTING, strict=strict), {**LISTING, "headers": headers})
        assert verdict.passed is passes, verdict.reason
        assert passes or verdict.reason.startswith("headers.content-type is ")

    def test_headers_are_texts_and_can_be_free(self, grade: Grading) -> None:
        value = {"status": 200, "headers": {"Content-Length": "{{any_number}}", "X-Count": 3, "ETag": "a"}, "body": {}}
        answer = {"status": 200, "headers": {"content-length": "12", "x-count": "3"}, "body": {}}
        assert grade(written(value), answer).reason == "headers.etag is missing"
        assert grade(written(value, ignore_fields=["headers.etag"]), answer).passed

    @pytest.mark.parametrize("ignored", ["status", "*", "**"])
    def test_the_status_cannot_be_ignored_by_the_way(self, ignored: str, grade: Grading) -> None:
        """`status` is a field of the body, like every path."""
        value = {"status": 200, "body": {"status": "ok"}}
        answer = {"status": 500, "body": {"status": "broken"}}
        assert grade(written(value, ignore_fields=[ignored]), answer).reason == "status is 500, expected 200"
        free = {"status": "{{any_number}}", "body": {"status": "ok"}}
        assert grade(written(free, ignore_fields=[ignored]), answer).passed

    def test_some_parts_of_a_response_are_enough(self, grade: Grading) -> None:
        answer = {"status": 200, "headers": {}, "body": {"a": 1}}
        assert grade(written({"status": 200}), answer).passed
        assert not grade(written({"status": 201}), answer).passed
        assert grade(written({"body": {"a": 1}}), answer).passed
        assert grade(written({"a": 1}), answer).passed
        assert grade(written({"a": 1}), {**answer, "body": '{"a": 1}'}).passed

    def test_a_ticket_is_not_a_response(self, grade: Grading) -> None:
        ticket = {"status": "open", "body": "It is broken.", "title": "Help"}
        assert grade(written(ticket, ignore_fields=["title"]), {"status": "open", "body": "It is broken."}).passed
        assert not grade(written(ticket), {**ticket, "status": "closed"}).passed


class TestWords:
    def test_every_difference_is_named_by_its_path(self, grade: Grading) -> None:
        value = {"a": [1, 2], "b": {"c": "x"}, "d": {"e": [1]}, "f": 1}
        verdict = grade(written(value, strict=True), {"f": "1", "a": [1, 3], "b": {}, "d": 5, "g": None})
        assert verdict.evidence["differences"] == [
            "a.1 is 3, expected 2",
            "b.c is missing",
            "d is 5, expected an object",
            "f is '1', expected 1",
            "g is not expected",
            "the answer has its fields in a different order",
        ]
        assert verdict.reason.count(";") == 4

    @pytest.mark.parametrize(
        ("value", "answer", "nearest", "options"),
        [
            ({"a": 1, "b": [1, 2]}, {"b": [1, 3], "a": 1, "more": 5}, {"b": [1, 2], "a": 1, "more": 5}, {}),
            ({"a": 1}, {"a": 1, "more": 5}, {"a": 1}, {"allow_additional_fields": False}),
            ({"a": 1, "b": {"c": 2}}, {"a": 1}, {"a": 1, "b": {"c": 2}}, {}),
            ({"u": "{{any_uuid}}", "n": 1}, {"u": "", "n": 2}, {"u": "{{any_uuid}}", "n": 2}, {"ignore_values": ["n"]}),
            ([1, 2, 3], [1], [1, 2, 3], {}),
            ([1], [1, 2, 3], [1], {}),
            ([{"id": "{{any_number}}"}], [{"id": 1}, {"id": "x"}], [{"id": 1}, {"id": "{{any_number}}"}], {}),
            ("a", "b", "a", {}),
        ],
    )  # fmt: skip
    def test_what_is_shown_as_expected_is_the_nearest_answer_that_passes(
        self, grade: Grading, value: Any, answer: Any, nearest: Any, options: dict[str, Any]
    ) -> None:
        verdict = grade(written(value, **options), answer)
        assert (verdict.evidence["expected"], verdict.evidence["actual"]) == (nearest, answer)

    def test_of_a_response_status_headers_and_body_are_shown(self, grade: Grading) -> None:
        value = {"status": 200, "headers": {"content-type": "text/plain", "x-id": "1"}, "body": {"a": 1}}
        answer = {"status": 500, "headers": {"Content-Type": "text/html", "Date": "now"}, "body": '{"a": 2, "b": 3}'}
        verdict = grade(written(value), answer)
        headers = {"Content-Type": "text/plain", "Date": "now", "x-id": "1"}
        assert verdict.evidence["expected"] == {"status": 200, "headers": headers, "body": {"a": 1, "b": 3}}
        assert verdict.evidence["actual"] == {**answer, "body": {"a": 2, "b": 3}}

    @pytest.mark.parametrize(
        ("value", "answer", "options"),
        [
            ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"allow_field_reordering": False}),
            ({"a": 1}, {"a": 1.0}, {"strict": True}),
            ({"a": 1}, {"a": 1}, {"require_keys": ["b"]}),
            ({"a": "x" * 20_000}, {"a": "y"}, {}),
        ],
    )
    def test_a_difference_that_values_do_not_show_stays_in_the_reason(
        self, grade: Grading, value: Any, answer: Any, options: dict[str, Any]
    ) -> None:
        verdict = grade(written(value, **options), answer)
        assert verdict.reason
        assert verdict.evidence.keys() == {"differences", "compared", "wrong"}

    def test_differences_are_bounded(self, grade: Grading) -> None:
        verdict = grade(written(list(range(1000))), [-1] * 1000)
        assert len(verdict.evidence["differences"]) == 20
        assert verdict.evidence["wrong"] == 1000
        assert verdict.score == 0

    def test_long_names_and_numbers_do_not_fill_the_reason(self, grade: Grading) -> None:
        value = {f"{'k' * 1000}{i}": 1 for i in range(5)}
        assert len(grade(written(value), dict.fromkeys(value, 10**400)).reason) < 1500


@pytest.mark.parametrize(
    ("value", "answer", "score"),
    [
        ({"a": 1, "b": 2, "c": 3, "d": 4}, {"a": 1, "b": 2, "c": 3, "d": 5}, 0.75),
        ({"a": {"x": 1, "y": 2, "z": 3}, "b": 4}, {"b": 4}, 0.25),
        ([1, 2, 3, 4], [1, 2], 0.5),
        ([1], [1, 2], 0.5),
        ({"a": {}, "b": 1}, {"a": {}, "b": 2}, 0.5),
        ({"a": {"x": 1, "y": 2, "z": 3}, "b": 4}, {"a": None, "b": 4}, 0.25),
    ],
)
def test_the_score_is_the_share_of_values_that_match(value: Any, answer: Any, score: float, grade: Grading) -> None:
    verdict = grade(written(value), answer)
    assert verdict.state == "fail"
    assert verdict.score == pytest.approx(score)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_deep_values_do_not_break_the_run(grade: Grading) -> None:
    assert grade(written(deep(60)), deep(60)).passed
    with pytest.raises(Unscored, match="nested too deeply"):
        grade(written(deep(400)), deep(400))


@pytest.mark.parametrize(
    "value", [USERS, LISTING, USER, [USER], "at {{any_iso_datetime}}", "{{any_number}}", None, 5, {}]
)
def test_the_example_of_any_value_matches_it(value: Any, build: Callable[..., Grader], grade: Grading) -> None:
    for strict in (False, True):
        example = build(written(value, strict=strict)).example()
        assert example is not None
        assert example.output is not None
        assert grade(written(value, strict=strict), example.output).passed


def test_the_digest_knows_the_order_of_fields_where_it_counts(build: Callable[..., Grader]) -> None:
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert build(written(one)).digest() == build(written(other)).digest()
    assert build(written(one, strict=True)).digest() != build(written(other, strict=True)).digest()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"value": {"id": "{{any_uid}}"}}, "any_uuid"),
        ({"value": 1, "ignore_fields": ["a..b"]}, "is not a path"),
        ({"value": 1, "require_keys": [""]}, "is not a path"),
        ({"value": 1, "strict": "perhaps"}, "strict"),
        ({"value": 1, "ignore_field": ["a"]}, "ignore_field"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        registry.parse_options("grader", GraderSpec(kind="structural_match", options=options))
