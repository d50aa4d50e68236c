"""What went wrong according to an agent's own stream of events, and what of the stream was not kept.

Whether an error fails a trial is the target's business.
"""

from __future__ import annotations

from evalharness.domain.record import Json
from evalharness.domain.transcript import Transcript

ERROR = "error"
LEFT_OUT = "left_out_events"
"""The type of the last event of a stream that was too long to be kept whole."""


def error_event(message: str, said: dict[str, Json] | None = None) -> dict[str, Json]:
    """`said` is the event of the stream that told of the error, where it had one of its own."""
    return {**(said or {}), "type": ERROR, "message": message}


def errors_of(transcript: Transcript) -> list[str]:
    """The messages of a transcript's error events, in order."""
    found = [event.get("message") for event in transcript.events if event.get("type") == ERROR]
    return [message for message in found if isinstance(message, str)]
