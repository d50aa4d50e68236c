"""chat: a language model by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from talking import Talking, ask, called, said

from evalharness import registry
from evalharness.contracts.model import ChatReply, ChatRequest
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.specification import TargetSpec
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import ModelUnavailable, SpendCapReached, UsageError
from evalharness.llms.pool import OpenModels
from evalharness.sandboxes.none import NoSandbox

ANSWER_SCHEMA = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}


@pytest.mark.parametrize("target", ["chat:openai/gpt-4o", {"chat": "openai/gpt-4o"}, {"chat": {"model": "gpt-4o"}}])
def test_the_last_reply_is_the_answer_and_everything_paid_is_kept(tmp_path: Path, target: Any) -> None:
    transcript = ask(tmp_path, Talking(said("It is 4.")), target).transcript
    assert transcript.output == "It is 4."
    assert [message["role"] for message in transcript.messages] == ["user", "assistant"]
    assert transcript.usage is not None and transcript.usage.input_tokens == 10 and transcript.usage.output_tokens == 3
    assert transcript.cost_usd == 0.25
    [event] = transcript.events
    assert event["model"] == "model-2024" and event["finish_reason"] == "stop"


def test_a_model_that_only_asks_for_a_tool_has_failed_and_it_is_reported_why(tmp_path: Path) -> None:
    asked = ask(tmp_path, Talking(called("rm", path="/")), "chat:openai/gpt-4o")
    assert "said nothing and asked for a tool (rm)" in asked.failure
    assert asked.transcript.cost_usd == 0.25


def test_what_decides_a_reply_is_in_the_request(tmp_path: Path) -> None:
    llm = Talking(said("4"))
    options = {"model": "test/m", "system": "Case {case_id}.", "temperature": 0.5, "max_tokens": 9, "seed": True}
    ask(tmp_path, llm, {"chat": options})
    [request] = llm.requests
    assert [(message.role, message.content) for message in request.messages] == [
        ("system", "Case a."),
        ("user", "What is 2+2?"),
    ]
    assert (request.temperature, request.max_tokens, request.seed) == (0.5, 9, 7)


@pytest.mark.parametrize(("target", "kind"), [("chat:mygate", "chat"), ({"agent": "mygate"}, "agent")])
def test_a_name_that_names_no_model_is_reported_when_a_suite_is_loaded(target: Any, kind: str) -> None:
    spec = TargetSpec.model_validate(target)
    assert spec.kind == kind
    with pytest.raises(ValidationError, match="'mygate' is not the name of a model"):
        registry.parse_options("target", spec)


@pytest.mark.parametrize("target", ["chat:openai/gpt-4o", "agent:openai/gpt-4o"])
def test_which_models_will_be_asked_is_known_before_the_run(tmp_path: Path, target: str) -> None:
    services = Services(tmp_path, NoSandbox(), Offloader(1), {})
    spec = TargetSpec.model_validate(target)
    part = registry.load("target", spec.kind)(registry.parse_options("target", spec), spec, services)
    assert part.models() == ("openai/gpt-4o",)


@pytest.mark.parametrize(("written", "seed"), [(False, None), (True, 7), (0, 0), (3, 3)])
def test_the_seed_is_sent_only_where_it_is_asked_for(tmp_path: Path, written: Any, seed: int | None) -> None:
    llm = Talking(said("4"))
    ask(tmp_path, llm, {"chat": {"model": "test/m", "seed": written}})
    assert llm.requests[0].seed == seed


@pytest.mark.parametrize(
    ("system", "sent"),
    [
        ("", 'Context: {"year":1843}'),
        ("Be brief.", 'Be brief.\n\nContext: {"year":1843}'),
        ("In {context.year}.", "In 1843."),
    ],
)
def test_what_the_case_says_beside_its_question_is_sent(tmp_path: Path, system: str, sent: str) -> None:
    llm = Talking(said("4"))
    case = Case(id="a", input={"type": "text", "content": "When?", "context": {"year": 1843}}, expected="4")
    ask(tmp_path, llm, {"chat": {"model": "test/m", "system": system}}, case)
    assert llm.requests[0].messages[0].content == sent


def test_a_case_that_says_nothing_beside_its_question_leaves_its_place_empty(tmp_path: Path) -> None:
    llm = Talking(said("4"))
    ask(tmp_path, llm, {"chat": {"model": "test/m", "system": "Be brief. {context}"}})
    assert llm.requests[0].messages[0].content == "Be brief. "


def test_a_conversation_is_held_turn_by_turn(tmp_path: Path) -> None:
    llm = Talking(said("Hello Ada."), said("Ada."))
    messages = [{"role": "user", "content": "I am Ada."}, {"role": "user", "content": "Who am I?"}]
    asked = ask(tmp_path, llm, "chat:test/model", Case(id="a", input={"messages": messages}, expected="Ada."))
    assert [len(request.messages) for request in llm.requests] == [1, 3]
    assert [message.content for message in llm.requests[1].messages] == ["I am Ada.", "Hello Ada.", "Who am I?"]
    assert asked.transcript.output == "Ada."
    assert asked.transcript.cost_usd == 0.5
    assert asked.transcript.usage is not None and asked.transcript.usage.input_tokens == 20


def test_no_model_is_asked_without_messages(tmp_path: Path) -> None:
    llm = Talking(said("4"))
    asked = ask(tmp_path, llm, "chat:test/model", Case(id="a", input={"messages": []}, expected="4"))
    assert "there are none" in asked.failure
    assert llm.requests == []


def test_one_unknown_price_makes_the_whole_unknown(tmp_path: Path) -> None:
    llm = Talking(said("a"), said("b", cost_usd=None))
    case = Case(id="a", input={"messages": ["1", "2"]}, expected="b")
    assert ask(tmp_path, llm, "chat:test/model", case).transcript.cost_usd is None


def test_a_schema_makes_the_answer_an_object(tmp_path: Path) -> None:
    llm = Talking(said('{"answer": "4"}'), said('```json\n{"answer": 4}\n```'))
    asked = ask(tmp_path, llm, {"chat": {"model": "test/m", "json_schema": ANSWER_SCHEMA}})
    assert asked.transcript.output == {"answer": 4}
    assert asked.transcript.cost_usd == 0.5, "the invalid reply cost something, too"
    assert llm.requests[0].reply_schema == ANSWER_SCHEMA
    assert "$.answer" in llm.requests[1].messages[-1].content


def test_a_model_that_never_keeps_to_the_schema_fails(tmp_path: Path) -> None:
    asked = ask(tmp_path, Talking(said("four")), {"chat": {"model": "test/m", "json_schema": ANSWER_SCHEMA}})
    assert "no usable reply in 3 attempts" in asked.failure
    assert asked.transcript.cost_usd == 0.75


def test_a_reply_that_was_cut_or_refused_says_so(tmp_path: Path) -> None:
    for reason in ("length", "refused", "other"):
        reply = said("It is", finish_reason=reason)
        transcript = ask(tmp_path, Talking(reply), "chat:test/model").transcript
        assert transcript.output == "It is"
        assert transcript.messages[-1]["finish_reason"] == reason
        assert transcript.events[0]["finish_reason"] == reason


def test_a_reply_cut_before_its_first_word_fails_and_says_why(tmp_path: Path) -> None:
    asked = ask(tmp_path, Talking(said("", finish_reason="length")), "chat:test/model")
    assert "reached its token limit" in asked.failure
    assert asked.transcript.cost_usd == 0.25


def test_a_refusal_without_words_is_an_answer_for_the_graders(tmp_path: Path) -> None:
    asked = ask(tmp_path, Talking(said("", finish_reason="refused")), "chat:test/model")
    assert (asked.failure, asked.transcript.output) == ("", "")


@pytest.mark.parametrize("error", [ModelUnavailable("429, and 429 again"), SpendCapReached("no money left")])
def test_no_reply_is_not_the_targets_fault(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)):
        ask(tmp_path, Talking(error), "chat:test/model")


def test_what_was_paid_before_a_model_went_away_is_kept(tmp_path: Path) -> None:
    case = Case(id="a", input={"messages": ["1", "2"]}, expected="b")
    with pytest.raises(ModelUnavailable) as caught:
        ask(tmp_path, Talking(said("a"), ModelUnavailable("gone")), "chat:test/model", case)
    assert caught.value.evidence.cost_usd == 0.25


def test_a_reply_that_cannot_be_used_is_kept_where_none_follows_it(tmp_path: Path) -> None:
    llm = Talking(said("four"), ModelUnavailable("gone"))
    with pytest.raises(ModelUnavailable) as caught:
        ask(tmp_path, llm, {"chat": {"model": "test/m", "json_schema": ANSWER_SCHEMA}})
    kept = caught.value.evidence
    assert (kept.cost_usd, len(kept.events), kept.messages[-1]["content"]) == (0.25, 1, "four")


def test_a_reply_that_cannot_be_used_is_kept_at_the_time_limit(tmp_path: Path) -> None:
    target = {"chat": {"model": "test/m", "json_schema": ANSWER_SCHEMA}}
    asked = ask(tmp_path, Talking(said("four"), never), target, timeout_s=0.1)
    assert asked.failure.startswith("time limit")
    assert (asked.transcript.cost_usd, len(asked.transcript.messages)) == (0.25, 2)


async def never(_request: ChatRequest) -> ChatReply:
    await asyncio.Event().wait()
    raise AssertionError


async def busy(_request: ChatRequest) -> ChatReply:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError as cancelled:
        raise cancelled from ModelUnavailable("429 until the end")
    raise AssertionError


def test_at_the_time_limit_what_was_said_is_kept(tmp_path: Path) -> None:
    case = Case(id="a", input={"messages": ["1", "2"]}, expected="b")
    asked = ask(tmp_path, Talking(said("a"), never), "chat:test/model", case, timeout_s=0.1)
    assert asked.failure == "time limit: no answer within 0.1 s"
    assert asked.transcript.output == "a" and asked.transcript.cost_usd == 0.25


def test_a_model_that_was_never_free_is_not_a_time_limit_of_the_target(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="429 until the end"):
        ask(tmp_path, Talking(busy), "chat:test/model", timeout_s=0.1)


def test_an_unknown_model_is_reported_before_anything_is_asked(tmp_path: Path) -> None:
    llm = Talking(said("4"))
    with pytest.raises(UsageError, match="unknown/model"):
        ask(tmp_path, llm, "chat:unknown/model")
    assert llm.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": ""},
        {"model": "test/m", "temperature": 3},
        {"model": "test/m", "max_tokens": 0},
        {"model": "test/m", "json_schema": {"type": "array"}},
        {"model": "test/m", "json_schema": {"type": "nonsense"}},
        {"model": "test/m", "json_schema": {"$ref": "#"}},
        {"model": "test/m", "json_schema": {"$ref": "http://127.0.0.1:1/schema.json"}},
        {"model": "test/m", "sytem": "Be brief."},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("target", TargetSpec(kind="chat", options=options))


@pytest.mark.parametrize(
    ("text", "kind", "options"),
    [
        ("chat:openai/gpt-4o", "chat", "openai/gpt-4o"),
        ("agent:scripted/demo/script.yaml", "agent", "scripted/demo/script.yaml"),
        ("chat:gpt-4o", "chat", "gpt-4o"),
        ("agent:answer", "function", "agent:answer"),
        ("agent:Agent.answer", "function", "agent:Agent.answer"),
        ("agent.py:answer", "function", "agent.py:answer"),
        ("chat", "chat", None),
    ],
)
def test_short_forms_of_models_and_functions_are_distinguished(text: str, kind: str, options: str | None) -> None:
    spec = TargetSpec.model_validate(text)
    assert (spec.kind, spec.options) == (kind, options)


def test_a_model_named_by_a_file_is_another_one_when_the_file_changes(tmp_path: Path) -> None:
    services = Services(tmp_path, NoSandbox(), Offloader(1), {})
    spec = TargetSpec.model_validate("chat:scripted/model.yaml")
    digests = []
    for text in ("one", "two"):
        (tmp_path / "model.yaml").write_text(text)
        digests.append(registry.build_target(spec, services).digest())
    assert digests[0] != digests[1]
    long = TargetSpec.model_validate(f"chat:scripted/{'x' * 5000}")
    assert registry.build_target(long, services).digest()


@pytest.mark.parametrize(
    ("written_in", "target"),
    [
        ("here", "chat:scripted/model.yaml"),
        ("suites", "chat:scripted/model.yaml"),
        ("suites", {"kind": "chat", "options": "scripted/model.yaml", "root": "elsewhere"}),
    ],
)
def test_a_file_that_names_a_model_is_looked_for_where_the_model_is(
    written_in: str, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the project's folder, wherever the target's own folder is, then in the current one."""
    for name in ("here", "suites", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    models = OpenModels({}, tmp_path / "suites", concurrency=1)
    services = Services(tmp_path / "suites", NoSandbox(), Offloader(1), {}, models=models)
    digests = []
    for text in ("one", "two"):
        (tmp_path / written_in / "model.yaml").write_text(f"replies: [{{text: {text}}}]")
        digests.append(registry.build_target(TargetSpec.model_validate(target), services).digest())
    assert models.llm("scripted/model.yaml").name == "scripted/model.yaml", "it is found there"
    assert digests[0] != digests[1]


def test_reports_call_it_by_its_model() -> None:
    assert TargetSpec.model_validate({"chat": {"system": "Be brief.", "model": "openai/gpt-4o"}}).label == (
        "chat openai/gpt-4o"
    )
    assert TargetSpec.model_validate("agent:openai/gpt-4o").label == "agent openai/gpt-4o"
