"""Sessions as data: read tolerantly, written back completely, and which parts are asked and expected again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalharness.documents.session import (
    EvalCriteria,
    Session,
    questions_of,
    recorded_seconds,
    session_answer,
    tools_called_in,
)
from evalharness.domain.case import Case, session_file

Row = dict[str, Any]


def said(role: str, content: str = "", *, at: int | None = None, **more: Any) -> Row:
    time = {} if at is None else {"created_at": f"2026-01-05T10:00:{at:02}Z"}
    wrapper = {key: more.pop(key) for key in ("implicit",) if key in more}
    return {"message": {"agentName": "root", "message": {"role": role, "content": content, **time, **more}, **wrapper}}


def called(*names: str, **more: Any) -> Row:
    calls = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
    return said("assistant", tool_calls=calls, **more)


def session(*items: Row, **more: Any) -> Session:
    return Session.model_validate({"id": "1", "title": "t", "messages": list(items), **more})


INNER = {
    "id": "2",
    "messages": [
        said("user", "count them", implicit=True),
        called("count"),
        said("user", "also b"),
        said("assistant", "2"),
    ],
}


def test_what_the_user_said_is_asked_again_also_inside_sub_sessions() -> None:
    """Implicit messages inside sub-sessions are not: one agent sent them to another (the original asks them, too)."""
    found = session(said("user", "how many?"), {"sub_session": INNER}, said("assistant", "two"), said("user", "sure?"))
    assert questions_of(found) == ("how many?", "also b", "sure?")


def test_an_implicit_message_of_the_session_itself_started_it_and_is_asked() -> None:
    assert questions_of(session(said("user", "go", implicit=True))) == ("go",)


def test_tools_and_answers_are_reported_in_order_across_sub_sessions() -> None:
    found = session(
        said("user", "?"), called("list", "read"), {"sub_session": INNER}, called("list"), said("assistant", "ok")
    )
    assert tools_called_in(found) == ("list", "read", "count", "list")
    assert session_answer(found) == "2ok"


def test_a_session_in_which_no_agent_spoke_has_no_answer() -> None:
    assert session_answer(session(said("user", "?"))) is None
    assert session_answer(session(said("user", "?"), called("list"))) == ""


def test_text_may_be_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert questions_of(session(said("user", multi_content=parts))) == ("ab",)


@pytest.mark.parametrize(
    ("items", "seconds"),
    [
        ([said("user", at=1), said("assistant", at=31)], 30),
        ([said("system", at=0), said("user", at=1), said("assistant", at=31), said("system", at=59)], 30),
        ([said("user", at=1), {"sub_session": {"messages": [said("assistant", at=41)]}}], 40),
        ([said("user", at=1)], 0),
        ([said("user"), said("assistant", at=5)], 0),
        ([said("user", created_at="yesterday"), said("assistant", at=5)], 0),
        ([said("user", at=9), said("assistant", at=5)], 0),
        ([], 0),
    ],
)
def test_how_long_a_session_took(items: list[Row], seconds: float) -> None:
    assert recorded_seconds(session(*items)) == seconds


def test_times_of_go_with_nanoseconds_and_zones_are_understood() -> None:
    first = said("user", created_at="2026-01-05T10:00:00.123456789+01:00")
    last = said("assistant", created_at="2026-01-05T09:00:02.123456Z")
    assert recorded_seconds(session(first, last)) == 2


def test_what_is_not_known_is_kept_and_what_is_empty_is_not_written() -> None:
    written = {
        "id": "1", "title": "t", "messages": [{**said("user", "hi"), "note": "kept"}], "created_at": "",
        "input_tokens": 0, "output_tokens": 0, "cost": 0.0, "SendUserMessage": True, "non_interactive": True,
    }  # fmt: skip
    assert Session.model_validate(written).model_dump(mode="json") == written


def test_null_means_an_empty_value() -> None:
    found = Session.model_validate({"id": "1", "title": None, "messages": None, "evals": None, "cost": None})
    assert (found.title, found.messages, found.evals, found.cost) == ("", (), None, 0.0)


def test_the_oldest_form_is_a_bare_list_of_messages() -> None:
    wrapper = said("user", "hi")["message"]
    assert questions_of(Session.model_validate([wrapper])) == ("hi",)
    assert questions_of(Session.model_validate([{"message": wrapper}])) == ("hi",)


def test_both_spellings_of_the_agents_name_are_read_and_one_is_written() -> None:
    items = [{"message": {key: "root", "message": {"role": "user"}}} for key in ("agentName", "agent_name")]
    found = session(*items)
    assert [item.message.agent_name for item in found.messages if item.message] == ["root", "root"]
    assert found.model_dump(mode="json")["messages"][1]["message"]["agentName"] == "root"


def test_criteria_are_written_with_their_relevance_even_if_there_is_none() -> None:
    assert EvalCriteria().model_dump(mode="json") == {"relevance": []}


@pytest.mark.parametrize("wrong", [{"sise": "S"}, {"size": "tiny"}, {"assertions": [{"type": "is"}]}])
def test_unknown_criteria_are_refused(wrong: Row) -> None:
    with pytest.raises(ValidationError):
        EvalCriteria.model_validate(wrong)


def test_only_a_case_made_from_a_session_has_a_file_of_its_own() -> None:
    assert session_file(Case(id="a", input="x", metadata={"session": {"file": "a.json"}})) == "a.json"
    assert session_file(Case(id="a", input="x", metadata={"session": "morning"})) == ""
    assert session_file(Case(id="a", input="x")) == ""
