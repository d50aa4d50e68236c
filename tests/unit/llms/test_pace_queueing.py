"""Which requests are in a server's queue, and which of them get no reply."""

from __future__ import annotations

from evalharness.llms.pace import WaitingLine


def test_silence_counts_from_the_last_reply_to_any_request_and_for_the_first_from_when_it_became_that() -> None:
    line = WaitingLine()
    for who, now in (("first", 1.0), ("second", 2.0), ("third", 3.0)):
        line.join(who, now)
    assert [line.silent_since(who, 50.0) for who in ("first", "second", "third")] == [1.0, 50.0, 50.0]
    line.leave("second", 60.0)
    assert line.silent_since("first", 60.0) == 1.0, "a reply to another request does not affect it"
    line.leave("first", 70.0)
    assert line.silent_since("third", 80.0) == 70.0


def test_a_line_starts_again() -> None:
    line = WaitingLine()
    line.join("first", 1.0)
    line.leave("first", 2.0)
    line.join("second", 9.0)
    assert line.silent_since("second", 2.0) == 9.0
