"""Secrets that a model sends a few letters at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalharness.exchanges.gateway.wires import Form, assembled
from evalharness.exchanges.pieces import without_secrets
from evalharness.redaction import Redactor

SECRET = "hunter2-hunter2"
REDACTOR = Redactor({"MY_PASSWORD": SECRET})
PARTS = ("It is hunt", "er2-hun", "ter2.")


def chat(text: str, number: int = 0) -> dict[str, Any]:
    return {"id": "r", "choices": [{"index": number, "delta": {"content": text}}]}


def arguments(text: str) -> dict[str, Any]:
    call = {"index": 0, "function": {"arguments": text}}
    return {"id": "r", "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}


def message(text: str, number: int = 0) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": number, "delta": {"type": "text_delta", "text": text}}


def response(text: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "delta": text}


def sent(*events: dict[str, Any], done: bool = True) -> list[list[Any]]:
    pieces = [[1.5, f"event: x\ndata: {json.dumps(event)}\n\n"] for event in events]
    return [*pieces, [0.1, "data: [DONE]\n\n"]] if done else pieces


@pytest.mark.parametrize("event", [chat, arguments, message, response])
def test_no_piece_and_no_row_of_pieces_has_the_secret(event: Any) -> None:
    kept = without_secrets(sent(*map(event, PARTS)), REDACTOR)
    assert [ms for ms, _ in kept] == [1.5, 1.5, 1.5, 0.1]
    text = "".join(text for _, text in kept)
    assert "It is [redacted:MY_PASSWORD]." in text
    assert not any(part.split()[-1].strip(".") in text for part in PARTS)
    assert text.count("\n\n") == 4 and text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(("form", "event"), [("chat", chat), ("messages", message)])
def test_texts_of_others_between_them_stay_what_they_are(form: Form, event: Any) -> None:
    others = [event(each, 1) for each in ("one ", "two ", "three")]
    events = [each for pair in zip(map(event, PARTS), others, strict=True) for each in pair]
    kept = without_secrets(sent(*events), REDACTOR)
    assert [text for _, text in kept][1:6:2] == [text for _, text in sent(*others, done=False)]
    assert "It is [redacted:MY_PASSWORD]." in json.dumps(assembled(form, "".join(text for _, text in kept)))


def test_a_stream_without_a_secret_is_kept_letter_by_letter() -> None:
    stream = [*sent(*map(chat, ("no ", "secret ", "here"))), [0.0, "data: {broken\n\n"], [0.0, ": ping\n\n"]]
    assert without_secrets(stream, REDACTOR) == stream
