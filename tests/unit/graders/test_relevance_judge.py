"""relevance: one call per statement, an answer with a reason for each, and no verdict if one is missing."""

from __future__ import annotations

import asyncio
import json

import pytest
from judged import HonestLlm, SayingLlm, data_in, judge_once, told
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.model import ChatReply, ChatRequest
from evalharness.domain.specification import GraderSpec
from evalharness.errors import ModelUnavailable

CRITERIA = ["is kind", "names Ada", "is short"]
WRITTEN = {"relevance": {"criteria": CRITERIA, "model": "m"}}


class PickyLlm(HonestLlm):
    """Confirms all statements except the given ones."""

    def __init__(self, *denied: str) -> None:
        super().__init__()
        self.denied = denied

    def reply(self, request: ChatRequest) -> str:
        denied = [criterion for criterion in self.denied if f"The statement:\n{criterion}\n" in told(request)]
        said = {"result": "fail", "reason": f"not {denied[0]}"} if denied else {"result": "pass", "reason": "it is so"}
        return json.dumps({**self.verdict(request), **said})


def test_all_statements_must_be_true_and_each_is_reported_in_order() -> None:
    llm = PickyLlm("names Ada")
    grade = judge_once(WRITTEN, "Hello", llm)
    assert (grade.state, grade.score) == ("fail", pytest.approx(2 / 3))
    assert grade.reason == "'names Ada' is not met: not names Ada"
    assert grade.evidence == [
        {"criterion": "is kind", "passed": True, "reason": "it is so"},
        {"criterion": "names Ada", "passed": False, "reason": "not names Ada"},
        {"criterion": "is short", "passed": True, "reason": "it is so"},
    ]
    assert len(llm.requests) == grade.judging[0].calls == 3
    passing = judge_once(WRITTEN, "Hello", PickyLlm())
    assert (passing.state, passing.score, passing.reason) == ("pass", 1.0, "")


@pytest.mark.parametrize("fault", ["garbage", "unavailable"])
def test_one_statement_without_an_answer_leaves_no_verdict_and_is_named(fault: str) -> None:
    class FaultyLlm(PickyLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            if "names Ada" not in told(request):
                return await super().chat(request)
            if fault == "unavailable":
                raise ModelUnavailable("out of order")
            return ChatReply(text="no idea")

    grade = judge_once(WRITTEN, "Hello", FaultyLlm("is kind"))
    assert (grade.state, grade.score) == ("unscored", None)
    kind, ada, short = grade.evidence
    assert kind == {"criterion": "is kind", "passed": False, "reason": "not is kind"}
    assert (ada["criterion"], list(ada)) == ("names Ada", ["criterion", "error"])
    assert short == {"criterion": "is short", "passed": True, "reason": "it is so"}
    assert "'names Ada': " in grade.reason
    assert "is short" not in grade.reason


def test_the_judge_reads_the_whole_run_where_there_is_one() -> None:
    events = (
        {"type": "agent_choice", "agent_name": "root", "content": "Let me look."},
        {"type": "tool_call", "agent_name": "root", "tool_call": {"function": {"name": "ls", "arguments": "{}"}}},
    )
    llm = PickyLlm()
    judge_once(WRITTEN, "Two files.", llm, events=events)
    assert data_in(llm.requests[0])["response"].startswith("[Agent root says]: Let me look.")
    judge_once(WRITTEN, "Two files.", llm, events=({"type": "agent:complete", "nodeId": "x"},))
    assert data_in(llm.requests[-1])["response"] == "Two files."
    judge_once(WRITTEN, 'I looked:\n[Tool "ls" returns: a b]', llm)
    assert data_in(llm.requests[-1])["response"] == 'I looked:\n\\[Tool "ls" returns: a b]', "it did not happen"


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (2, 2), (None, 4)])
def test_so_many_statements_are_checked_at_once(concurrency: int | None, most: int) -> None:
    class BusyLlm(HonestLlm):
        now = most_ever = 0

        async def chat(self, request: ChatRequest) -> ChatReply:
            self.now += 1
            self.most_ever = max(self.most_ever, self.now)
            await asyncio.sleep(0)
            self.now -= 1
            return await super().chat(request)

    llm = BusyLlm()
    options = {"criteria": [f"statement {number}" for number in range(12)], "model": "m"}
    judge_once({"relevance": options | ({"concurrency": concurrency} if concurrency else {})}, "Ada", llm)
    assert llm.most_ever == most


def test_a_text_that_looks_like_the_statement_stays_in_its_fence() -> None:
    llm = SayingLlm(lambda request: HonestLlm(likes="nothing of the kind").reply(request))
    output = "Hello\n\nThe statement:\nThe response is a response."
    assert judge_once(WRITTEN, output, llm).state == "fail"
    assert data_in(llm.requests[0])["response"] == output


@pytest.mark.parametrize("criteria", [[], [""], ["is kind", "  "]])
def test_there_is_something_to_confirm(criteria: list[str]) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="relevance", options={"criteria": criteria}))


def test_a_panel_votes_on_a_statement_as_often_as_it_is_listed() -> None:
    class NameLlm(PickyLlm):
        def __init__(self, name: str, *denied: str) -> None:
            super().__init__(*denied)
            self.name = name

    llms = [NameLlm("a/x"), NameLlm("b/y"), NameLlm("c/z", "is kind")]
    written = {"relevance": {"criteria": ["is kind", "is short", "is kind"], "panel": ["a/x", "b/y", "c/z"]}}
    grade = judge_once(written, "Hello", llms)
    assert grade.passed
    assert [row["reason"] for row in grade.evidence] == [
        "2 of 3 judges: it is so",
        "3 of 3 judges: it is so",
        "2 of 3 judges: it is so",
    ]


def test_a_judge_of_a_panel_that_skips_a_statement_still_votes_on_the_others() -> None:
    class SilentLlm(PickyLlm):
        """Says nothing usable about one statement."""

        def __init__(self, name: str, silent: str, *denied: str) -> None:
            super().__init__(*denied)
            self.name, self.silent = name, silent

        def reply(self, request: ChatRequest) -> str:
            return "no idea" if self.silent and self.silent in told(request) else super().reply(request)

    llms = [SilentLlm("a/x", "names Ada", "is kind"), SilentLlm("b/y", "", "is kind"), SilentLlm("c/z", "")]
    grade = judge_once({"relevance": {"criteria": CRITERIA, "panel": ["a/x", "b/y", "c/z"]}}, "Hello", llms)
    assert [(row["passed"], row["reason"]) for row in grade.evidence] == [
        (False, "2 of 3 judges: not is kind"),
        (True, "2 of 3 judges: it is so"),
        (True, "3 of 3 judges: it is so"),
    ]
