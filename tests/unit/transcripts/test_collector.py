"""The limits of what is kept of a stream."""

from __future__ import annotations

from agent_streams import lines

from evalharness.domain.transcript import errors_of
from evalharness.transcripts import codex
from evalharness.transcripts.collector import MAX_ERRORS, MAX_EVENT_BYTES, MAX_EVENTS, inside


def test_at_most_so_many_events_are_kept_and_the_rest_is_counted() -> None:
    found = codex.parse(lines(*({"type": "turn.started", "n": n} for n in range(MAX_EVENTS + 7))))
    assert len(found.events) == MAX_EVENTS + 1
    assert found.events[0] == {"type": "turn.started", "n": 0}
    assert found.events[-1] == {"type": "left_out_events", "count": 7}


def test_at_most_so_many_bytes_are_kept() -> None:
    big = "x" * (MAX_EVENT_BYTES // 4)
    item = {"type": "agent_message", "text": big}
    found = codex.parse(lines(*({"type": "item.completed", "item": {**item, "id": str(n)}} for n in range(6))))
    assert [event["type"] for event in found.events] == ["item.completed"] * 3 + ["left_out_events"]
    assert found.output == big
    assert len(found.messages) == 6


def test_errors_are_kept_beyond_the_bound_but_not_without_end() -> None:
    started = [{"type": "turn.started"}] * (MAX_EVENTS + 1)
    errors = [{"type": "error", "message": f"broken {n}"} for n in range(MAX_ERRORS + 5)]
    found = codex.parse(lines(*started, *errors))
    assert errors_of(found) == [f"broken {n}" for n in range(MAX_ERRORS)]
    assert found.events[-1] == {"type": "left_out_events", "count": 6}


def test_an_error_message_is_cut() -> None:
    [told] = errors_of(codex.parse(lines({"type": "error", "message": "so " * 5000})))
    assert len(told) <= 2001


def test_paths_are_named_as_in_the_workspace() -> None:
    assert inside("/work", "/work/a/b.txt") == "a/b.txt"
    assert inside("/work", "/workshop/b.txt") == "/workshop/b.txt"
    assert inside("", "/b.txt") == "/b.txt"
    assert inside("/work", "b.txt") == "b.txt"
