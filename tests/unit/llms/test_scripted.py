"""A model whose replies are in a file: which reply comes when, and mistakes in a script."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from real_models import access

from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest
from evalharness.errors import ModelUnavailable, UsageError
from evalharness.llms.scripted import Scripted

SCRIPT = r"""
replies:
  - when: 'capital of (?<land>\w+)'
    text: I know the capital of {match:land}, or {match:1}.
  - when: 'nonce (\w+)(, please)?'
    object: {nonce: "{match:1}", polite: "[{match:2}]", scores: [{clarity: 4}], passed: true}
  - when: Write (\S+)
    steps:
      - text: First the file.
        tool_calls:
          - {name: write_file, arguments: {path: "{match:1}", lines: ["{match:0}", 2]}}
          - {name: list_files}
      - {text: Done., finish_reason: length}
  - text: Nothing else comes to mind.
"""


def user(content: str) -> ChatMessage:
    return ChatMessage(role="user", content=content)


def said(content: str = "") -> ChatMessage:
    return ChatMessage(role="assistant", content=content)


RESULT = ChatMessage(role="tool", content="ok", answers_request="call_1_1")


@pytest.fixture
def llm(tmp_path: Path) -> Scripted:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals/judge.yaml").write_text(SCRIPT)
    return Scripted("evals/judge.yaml", access("scripted", tmp_path))


def ask(llm: Scripted, *messages: ChatMessage) -> ChatReply:
    return asyncio.run(llm.chat(ChatRequest(messages=messages)))


def test_the_first_pattern_found_in_the_last_user_message_answers(llm: Scripted) -> None:
    reply = ask(llm, user("What is the capital of France?"))
    assert reply.text == "I know the capital of France, or France."
    assert (reply.finish_reason, reply.model, llm.name) == ("stop", "scripted/evals/judge.yaml", reply.model)
    later = ask(llm, user("What is the capital of France?"), said("Paris"), user("And of nowhere?"))
    assert later.text == "Nothing else comes to mind."
    assert ask(llm, ChatMessage(role="system", content="the capital of Peru")).text == later.text


def test_an_object_is_a_reply_of_json_that_can_echo_the_question(llm: Scripted) -> None:
    reply = ask(llm, user("Judge with the nonce a1b2.\nBe fair."))
    assert json.loads(reply.text) == {"nonce": "a1b2", "polite": "[]", "scores": [{"clarity": 4}], "passed": True}


def test_steps_follow_each_other_as_the_conversation_grows(llm: Scripted) -> None:
    asked = (user("Hello"), said("Yes?"), user("Write a.txt now"))
    first = ask(llm, *asked)
    assert (first.text, first.finish_reason) == ("First the file.", "tool_calls")
    write, listing = first.tool_requests
    assert (write.name, json.loads(write.arguments)) == ("write_file", {"path": "a.txt", "lines": ["Write a.txt", 2]})
    assert (listing.name, listing.arguments) == ("list_files", "{}")
    assert write.id != listing.id
    then = ask(llm, *asked, first.message, RESULT, RESULT)
    assert (then.text, then.tool_requests, then.finish_reason) == ("Done.", (), "length")
    assert ask(llm, *asked, first.message, RESULT, then.message).text == "Done.", "the last step is repeated"
    assert ask(llm, *asked) == first, "nothing is remembered"


def test_words_count_as_tokens(llm: Scripted) -> None:
    usage = ask(llm, user("one two three"), said("four")).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (4, 5)


def test_what_no_entry_answers_is_an_error_that_shows_the_question(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("replies: [{when: hello, text: hi}]")
    llm = Scripted("s.yaml", access("scripted", tmp_path))
    with pytest.raises(ModelUnavailable, match=r"scripted/s\.yaml has no reply to: What now\?"):
        ask(llm, user("What now?"))


def test_a_pattern_cannot_hang_a_run(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("replies: [{when: '(a+)+$', text: hi}]")
    llm = Scripted("s.yaml", access("scripted", tmp_path))
    with pytest.raises(ModelUnavailable, match="took too long"):
        ask(llm, user("a" * 5000 + "b" * 5000 + "c"))


@pytest.mark.parametrize(
    ("script", "problems"),
    [
        ("replies: []", ["replies: must not be empty"]),
        ("reply: [{text: a}]", ["replies: is missing", "reply: is not a known key"]),
        ("replies: [{when: '(', text: a}]", ["replies[0].when: is not a regular expression"]),
        ("replies: [{when: 'a(b)', text: '{match:2}'}]", ["{match:2} is not a group of the pattern 'a(b)'"]),
        ("replies: [{when: a, object: {b: [{c: '{match:x}'}]}}]", ["{match:x} is not a group"]),
        ("replies: [{when: a}, {text: a, object: {}}]", ["replies[0].steps[0]: is empty", "replies[1].steps[0]: has"]),
        ("replies: [{text: a, wenn: b}]", ["replies[0].wenn: is not a known key"]),
        (
            "replies: [{text: a, finish_reason: tired}]",
            ["replies[0].steps[0].finish_reason: must be one of stop, length"],
        ),
        ("replies: [", ["s.yaml:1: not valid YAML"]),
        ("replies: " + "[" * 5000 + "]" * 5000, ["s.yaml:1: "]),
        ("replies:\n- text: a\n- text: 5\n", ["s.yaml:3: replies[1].steps[0].text: must be text"]),
        ("replies: [{object: {share: .nan}}]", ["replies[0].object.share: '.nan' is not allowed"]),
        (
            "replies: [{tool_calls: [{name: f, arguments: {s: !!set {a}}}]}]",
            ["tags are not supported: '!!set'"],
        ),
        ("replies: [{object: &self {a: *self}}]", ["the alias '*self' is inside the value it refers to"]),
        ("", ["must be a mapping"]),
        ("replies: 5", ["replies: must be a list"]),
        ("replies: [{text: 5}]", ["replies[0].steps[0].text: must be text"]),
        ("replies: [{steps: [{tool_calls: x}]}]", ["replies[0].steps[0].tool_calls: must be a list"]),
    ],
)
def test_everything_that_is_wrong_with_a_script_is_reported(script: str, problems: list[str], tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(script)
    with pytest.raises(UsageError) as told:
        Scripted("s.yaml", access("scripted", tmp_path))
    for problem in problems:
        assert problem in str(told.value)
    assert str(tmp_path / "s.yaml") in str(told.value)
    assert ("must not be empty" in str(told.value)) is (script == "replies: []")


def test_a_script_is_read_as_suites_are(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("replies: [{when: yes, object: {day: 2024-01-31, is_open: no}}]")
    reply = ask(Scripted("s.yaml", access("scripted", tmp_path)), user("Say yes"))
    assert json.loads(reply.text) == {"day": "2024-01-31", "is_open": "no"}


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_script_that_cannot_be_read_is_refused(content: Any, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "s.yaml").write_bytes(content)
    with pytest.raises(UsageError) as refused:
        Scripted("s.yaml", access("scripted", tmp_path))
    assert re.search(r"s\.yaml\S* (cannot be read|not UTF-8)", str(refused.value))


def test_the_documented_script_does_what_is_said(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    [script] = re.findall(r"^```yaml\n(replies:.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "replies.yaml").write_text(script)
    llm = Scripted("replies.yaml", access("scripted", tmp_path))
    assert ask(llm, user("What is the capital of Peru?")).text == "The capital of Peru? I have forgotten."
    assert json.loads(ask(llm, user('A refund?\nReply {"nonce": "12ab"}')).text)["nonce"] == "12ab"
    create = user("Create a.txt, please")
    first = ask(llm, create)
    assert json.loads(first.tool_requests[0].arguments) == {"path": "a.txt,", "content": "hello"}
    assert ask(llm, create, first.message).text == "Done."
    assert ask(llm, user("Why?")).text == "I do not know."
