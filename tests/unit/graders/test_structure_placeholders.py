from __future__ import annotations

from typing import Any

import pytest

from evalharness.errors import Unscored
from evalharness.graders.structure import (
    FORMS,
    check_placeholders,
    fill_placeholders,
    holds_placeholder,
    matches_placeholders,
)
from evalharness.values.variables import fill, needed

UUID = "123e4567-e89b-12d3-a456-426614174000"


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("{{any_uuid}}", UUID, True),
        ("{{any_uuid}}", UUID.upper(), True),
        ("{{ any_uuid }}", UUID, True),
        ("{{ANY_UUID}}", UUID, True),
        ("{{any_uuid}}", UUID[:-1], False),
        ("{{any_uuid}}", f"{UUID}\n", False),
        ("{{any_uuid}}", 5, False),
        ("{{any_string}}", "", True),
        ("{{any_string}}", "two\nlines", True),
        ("{{any_string}}", 5, False),
        ("{{any_string}}", None, False),
        ("{{any_email}}", "ada@example.org", True),
        ("{{any_email}}", "ada@mail.example.org", True),
        ("{{any_email}}", "ada@example", False),
        ("{{any_email}}", "ada at example.org", False),
        ("{{any_email}}", "a@b@example.org", False),
        ("{{any_iso_datetime}}", "2024-01-15T10:30:00Z", True),
        ("{{any_iso_datetime}}", "2024-01-15T10:30:00.123456+02:00", True),
        ("{{any_iso_datetime}}", "2024-01-15T10:30", True),
        ("{{any_iso_datetime}}", "2024-01-15T10:30:00.123456789Z", True),
        ("{{any_iso_datetime}}", "2024-01-45T10:30:00Z", False),
        ("{{any_iso_datetime}}", "2024-02-30T10:30:00Z", False),
        ("{{any_iso_datetime}}", "2024-01-15", False),
        ("{{any_iso_datetime}}", "yesterday", False),
        ("{{any_iso_datetime}}", 1705314600, False),
        ("{{any_number}}", 5, True),
        ("{{any_number}}", -0.5, True),
        ("{{any_number}}", "5", False),
        ("{{any_number}}", True, False),
        ("{{any_number}}", None, False),
        ("user-{{any_number}}", "user-12", True),
        ("user-{{any_number}}", "user--1.5e3", True),
        ("user-{{any_number}}", "user-", False),
        ("user-{{any_number}}", "user-12x", False),
        ("user-{{any_number}}", "user-٣", False),
        ("user-{{any_number}}", 12, False),
        (
            "/users/{{any_uuid}}/posts?after={{any_iso_datetime}}",
            f"/users/{UUID}/posts?after=2024-01-15T10:30:00Z",
            True,
        ),
        (
            "/users/{{any_uuid}}/posts?after={{any_iso_datetime}}",
            f"/users/{UUID}/posts?after=2024-13-15T10:30:00Z",
            False,
        ),
        ("a.c{{any_string}}", "abc", False),
        ("[{{any_string}}]", "[x]", True),
        ("{{any_email}}.txt", "ada@example.org.txt", True),
    ],
)
def test_what_a_placeholder_matches(text: str, value: Any, expected: bool) -> None:
    assert matches_placeholders(text, value) is expected


def test_an_ambiguous_text_is_given_up() -> None:
    with pytest.raises(Unscored, match="time limit"):
        matches_placeholders("{{any_number}}" * 12 + "!", "1" * 100_000 + "?!")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("form", ["{{{{{}}}}}", "item {{{{{}}}}}!"], ids=["whole", "inside"])
def test_what_is_filled_in_matches(name: str, form: str) -> None:
    text = form.format(name)
    assert holds_placeholder({"a": [text]})
    filled = fill_placeholders({"a": [text]})
    assert not holds_placeholder(filled)
    assert matches_placeholders(text, filled["a"][0])


def test_placeholders_are_not_variables() -> None:
    value = {"id": "user-{{any_number}} of {{host}}"}
    assert needed(value) == {"host"}
    assert fill(value, {"host": "here"}) == {"id": "user-{{any_number}} of here"}


@pytest.mark.parametrize(
    ("name", "told"), [("any_uid", "did you mean 'any_uuid'"), ("any_thing_at_all_really", "known: any_uuid")]
)
def test_an_unknown_placeholder_is_reported(name: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_placeholders({"a": [f"x {{{{{name}}}}}"]})
