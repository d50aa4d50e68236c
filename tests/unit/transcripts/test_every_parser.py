"""The contract of every transcript parser, on one small job that each agent did."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from agent_streams import ANSWER, CODEX_FIRST_FORM, STREAMS

from evalharness import registry
from evalharness.domain.transcript import Transcript, errors_of
from evalharness.errors import TargetFailed
from evalharness.transcripts.auto import detect

NAMED = pytest.mark.parametrize("name", sorted(STREAMS))


def parser(name: str) -> Callable[[str], Transcript]:
    parse: Callable[[str], Transcript] = registry.load("transcript", name)
    return parse


def test_every_parser_is_tested_here() -> None:
    assert set(registry.BUILT_IN["transcript"]) == {*STREAMS, "auto"}


@NAMED
class TestEveryParser:
    def test_it_finds_answer_messages_calls_and_usage(self, name: str) -> None:
        found = parser(name)(STREAMS[name])
        assert found.text.endswith(ANSWER)
        assert found.usage is not None
        assert min(found.usage.input_tokens, found.usage.output_tokens) > 0
        assert len(found.tool_calls) >= 2
        assert found.messages[-1]["role"] == "assistant"
        assert found.messages[-1]["content"] == ANSWER
        assert errors_of(found) == []

    def test_every_result_belongs_to_a_call_made_before_it(self, name: str) -> None:
        called: set[str] = set()
        returned = []
        for message in parser(name)(STREAMS[name]).messages:
            called |= {call["id"] for call in message.get("tool_calls", ())}
            if message["role"] == "tool":
                assert message["tool_call_id"] in called
                returned.append(message["tool_call_id"])
        assert sorted(returned) == sorted(called)

    def test_arguments_are_values_in_calls_and_json_text_in_messages(self, name: str) -> None:
        found = parser(name)(STREAMS[name])
        written = [call for message in found.messages for call in message.get("tool_calls", ())]
        assert [json.loads(call["function"]["arguments"]) for call in written] == [
            call.arguments for call in found.tool_calls
        ]

    def test_an_empty_stream_is_a_failure(self, name: str) -> None:
        for text in ("", "\n\n", "starting up\n", "[]", "[1, 2]", "null"):
            with pytest.raises(TargetFailed, match="no events received"):
                parser(name)(text)

    def test_noise_unknown_events_and_a_cut_end_change_nothing_but_are_counted(self, name: str) -> None:
        clean = parser(name)(STREAMS[name])
        one_a_line = "".join(json.dumps(item) + "\n" for item in as_objects(STREAMS[name]))
        noisy = f'warming up\n\n{one_a_line}{{"type": "never_heard_of", "level": 3}}\n[1]\n{{"type": "agent_cho'
        found = parser(name)(noisy)
        assert (found.output, found.messages, found.tool_calls) == (clean.output, clean.messages, clean.tool_calls)
        assert (found.usage, found.cost_usd, found.files) == (clean.usage, clean.cost_usd, clean.files)
        assert found.events[-1] == {"type": "ignored_lines", "count": 3}

    def test_it_is_detected(self, name: str) -> None:
        assert detect(STREAMS[name]) == name
        assert parser("auto")(STREAMS[name]) == parser(name)(STREAMS[name])

    def test_it_reads_server_sent_events(self, name: str) -> None:
        sent = "".join(f"data: {json.dumps(item)}\n\n" for item in as_objects(STREAMS[name])) + "data: [DONE]\n\n"
        assert parser(name)(sent).output == parser(name)(STREAMS[name]).output

    def test_other_streams_do_not_make_it_raise(self, name: str) -> None:
        for stream in (*STREAMS.values(), CODEX_FIRST_FORM):
            assert isinstance(parser(name)(stream), Transcript)


def as_objects(stream: str) -> list[object]:
    try:
        return [json.loads(stream)]
    except ValueError:
        return [json.loads(line) for line in stream.splitlines()]


def test_the_first_form_of_codex_is_detected() -> None:
    assert detect(CODEX_FIRST_FORM) == "codex"


def test_what_no_parser_knows() -> None:
    assert detect("") is None
    assert detect('{"hello": "world"}') is None
    with pytest.raises(
        TargetFailed, match="no parser recognises these events; the known formats are docker-agent, claude-code"
    ):
        parser("auto")('{"hello": "world"}')
