"""Refusals with a message, and how long a server asks everybody to wait."""

from __future__ import annotations

import base64
from email.utils import formatdate
from typing import Any

import pytest

from evalharness.llms.faults import fault_of_status, retry_after_s, status_in_body, without

NOW = 1_790_000_000.0


def date(seconds_from_now: float) -> str:
    return formatdate(NOW + seconds_from_now, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, 0),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": " 0.5 "}, 0.5),
        ({"Retry-After": date(90)}, 90),
        ({"Retry-After": date(-90)}, 0),
        ({"Retry-After": "86400"}, 600),
        ({"Retry-After": date(86_400)}, 600),
        # The server's clock is an hour ahead of ours: what counts is the time between its two dates.
        ({"Retry-After": date(3_630), "Date": date(3_600)}, 30),
        ({"Retry-After": date(20), "Date": "yesterday"}, 20),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": "soon"}, 0),
        ({"Retry-After": "nan"}, 0),
        ({"Retry-After": "inf"}, 0),
        ({"Retry-After": ""}, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_ten_minutes_at_most(headers: dict[str, str], wait_s: float) -> None:
    assert retry_after_s(headers, NOW) == pytest.approx(wait_s)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_what_passes_is_tried_again(status: int) -> None:
    assert fault_of_status(status, {}, "", NOW).may_pass


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 405, 413, 422, 501])
def test_what_does_not_pass_is_not(status: int) -> None:
    fault = fault_of_status(status, {"Retry-After": "5"}, "", NOW)
    assert not fault.may_pass
    assert fault.wait_s == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"error": {"message": "no such model", "type": "invalid"}}', "HTTP 400: no such model"),
        ('{"type": "error", "error": {"type": "x", "message": "bad"}}', "HTTP 400: bad"),
        ('[{"error": {"message": "listed"}}]', "HTTP 400: listed"),
        ('{"message": "plain"}', "HTTP 400: plain"),
        ('{"detail": "told"}', "HTTP 400: told"),
        ('{"error": {"code": 7}}', 'HTTP 400: {"code": 7}'),
        ("<h1>Bad\n Gateway</h1>", "HTTP 400: <h1>Bad Gateway</h1>"),
        ("", "HTTP 400"),
    ],
)
def test_the_servers_words_are_found_in_whatever_they_are_wrapped(text: str, words: str) -> None:
    assert fault_of_status(400, {}, text, NOW).words == words


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"code": 429, "message": "rate"}}, 429),
        ({"error": {"code": "503"}}, 503),
        ({"error": {"status": 401}}, 401),
        ({"error": {"type": "rate_limit_error", "code": None}}, 429),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529),
        ({"choices": [{"finish_reason": "error", "error": {"code": 502}}]}, 502),
        ({"error": {"code": 200}}, None),
        ({"error": {"code": True}}, None),
        ({"error": {"message": "something"}}, None),
        ({"error": "something"}, None),
        ({"error": None, "choices": [{"message": {"content": "fine"}}]}, None),
        ({"choices": [7]}, None),
        ([], None),
    ],
)
def test_a_status_that_is_reported_with_http_200_is_understood(body: Any, status: int | None) -> None:
    assert status_in_body(body) == status


def test_deeply_nested_refusals_do_no_harm() -> None:
    text = '{"error":' * 100_000 + "1" + "}" * 100_000
    assert fault_of_status(500, {}, text, NOW).words.startswith("HTTP 500")


def test_a_key_that_the_server_quotes_is_taken_out() -> None:
    assert without(["Bearer abcdefgh12"], "bad key abcdefgh12!") == "bad key [key]!"
    assert without(["short"], "a short word") == "a short word"
    told = without(["Bearer abcdefgh12"], f"bad key {base64.b64encode(b'abcdefgh12').decode()} {b'abcdefgh12'.hex()}")
    assert "YWJjZ" not in told
    assert "6162" not in told
    assert told.startswith("bad key [key]")
    assert told.endswith(" [key]")
