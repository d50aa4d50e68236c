"""Which judges are asked, when a grade stays outstanding, and how several judges vote."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judged import HonestLlm, JudgeLlm, SayingLlm, TestModels, judge, judge_once, nonce_in, told

from evalharness import registry
from evalharness.contracts.grader import GradeContext
from evalharness.contracts.model import ChatReply, ChatRequest
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.grade import SPEND_CAP
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import ModelUnavailable, SpendCapReached
from evalharness.sandboxes.none import NoSandbox

ALL: dict[str, dict[str, Any]] = {
    "model": {"rubric": "Is it kind?"},
    "relevance": {"criteria": ["names Ada"]},
    "pairwise": {"against": "Eve"},
    "llm-judge": {"criteria": "Is it kind?", "enabled": True},
}
EVERY_KIND = pytest.mark.parametrize("kind", ALL)


class BrokenLlm(JudgeLlm):
    async def chat(self, request: ChatRequest) -> ChatReply:
        raise ModelUnavailable("429 until the end of time")


def built(kind: str, options: dict[str, Any], **services: Any) -> Any:
    bare = Services(Path(), NoSandbox(), Offloader(1), {}, models=TestModels(HonestLlm()))
    spec = GraderSpec(kind=kind, options={**ALL[kind], **options})
    return registry.build_grader(spec, replace(bare, **services))


@EVERY_KIND
@pytest.mark.parametrize(
    ("options", "services", "asked"),
    [
        ({}, {}, ()),
        ({"model": "a/b"}, {}, ("a/b",)),
        ({"panel": ["a/b", "c/d"]}, {}, ("a/b", "c/d")),
        ({}, {"usual_judge": "u/v"}, ("u/v",)),
        ({"model": "a/b"}, {"usual_judge": "u/v"}, ("a/b",)),
        ({"panel": ["a/b", "c/d"]}, {"judge_model": "x/y"}, ("x/y",)),
        ({"model": "a/b"}, {"judge_model": "x/y", "usual_judge": "u/v"}, ("x/y",)),
        ({"model": "a/b"}, {"judge_model": "none"}, ()),
    ],
)
def test_the_flag_wins_over_the_grader_and_the_grader_over_the_suite(
    kind: str, options: dict[str, Any], services: dict[str, Any], asked: tuple[str, ...]
) -> None:
    assert built(kind, options, **services).judges() == asked


@EVERY_KIND
@pytest.mark.parametrize("flag", ["", "none"])
def test_without_a_judge_the_grade_is_outstanding(kind: str, flag: str) -> None:
    options = ALL[kind] | ({"model": "a/b"} if flag else {})
    grade = judge_once({"type": kind, **options}, "Ada", HonestLlm(), flag=flag)
    assert (grade.state, grade.score, grade.judging) == ("awaiting", None, ())
    assert grade.reason.startswith("no judge is set")


@EVERY_KIND
def test_it_is_outstanding_where_no_model_can_be_asked_at_all(kind: str) -> None:
    grader = built(kind, {"model": "a/b"}, models=None)
    context = GradeContext(Case(id="a", input="?"), Transcript(output="Ada"), index=0, seed=0)
    assert asyncio.run(grader.grade(context)).state == "awaiting"
    assert grader.judges() == ("a/b",)


@EVERY_KIND
def test_a_judge_that_cannot_be_reached_decides_nothing(kind: str) -> None:
    grade = judge_once({"type": kind, **ALL[kind], "model": "m"}, "Ada", BrokenLlm())
    assert (grade.state, grade.score) == ("unscored", None)
    assert "429 until the end of time" in grade.reason


@EVERY_KIND
def test_a_spend_cap_leaves_the_grade_outstanding_and_reports_what_was_spent(kind: str) -> None:
    class PoorLlm(HonestLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            if self.requests:
                raise SpendCapReached("$1 of $1")
            await super().chat(request)
            return ChatReply(text="hm", cost_usd=1.0)

    grade = judge_once({"type": kind, **ALL[kind], "model": "m"}, "Ada", PoorLlm())
    assert (grade.state, grade.reason) == ("awaiting", "the spend cap was reached: $1 of $1")
    assert grade.cause == "spend_cap"
    assert (grade.judging[0].calls, grade.judging[0].cost_usd) == (1, 1.0)


def panel(kind: str, votes: str) -> Any:
    """One judge for each letter: y passes, n fails, x breaks."""
    makers = {
        "y": lambda name: HonestLlm("Ada", name),
        "n": lambda name: HonestLlm("nobody", name) if kind != "pairwise" else HonestLlm("Eve", name),
        "x": BrokenLlm,
    }
    llms = [makers[vote](f"judge/{place}") for place, vote in enumerate(votes)]
    written = {"type": kind, **ALL[kind], "panel": [llm.name for llm in llms]}
    if kind == "llm-judge":
        written["min"] = 0.5
    return judge_once(written, "Ada", llms)


@EVERY_KIND
@pytest.mark.parametrize(
    ("votes", "state"),
    [
        ("yyn", "pass"),
        ("yny", "pass"),
        ("ynn", "fail"),
        ("yn", "fail"),
        ("yyx", "pass"),
        ("nnx", "fail"),
        ("ynx", "unscored"),
        ("yx", "unscored"),
        ("nx", "fail"),
        ("yyyxx", "pass"),
        ("yyxxx", "unscored"),
        ("xx", "unscored"),
    ],
)
def test_a_panel_votes(kind: str, votes: str, state: str) -> None:
    grade = panel(kind, votes)
    assert grade.state == state
    assert (grade.score is None) == (state == "unscored")
    assert [judging.model for judging in grade.judging] == [f"judge/{place}" for place in range(len(votes))]
    assert all((judging.calls > 0) == (vote != "x") for judging, vote in zip(grade.judging, votes, strict=True))


def test_the_panels_score_is_the_mean_and_every_verdict_is_kept() -> None:
    grade = panel("model", "yyn")
    assert grade.score == pytest.approx(2 / 3)
    assert grade.reason.startswith("2 of 3 judges pass it; judge/0: pass (score 1.00 ≥ 0.7")
    assert [row["state"] for row in grade.evidence["panel"]] == ["pass", "pass", "fail"]
    assert grade.evidence["panel"][0]["verdict"]["model"] == "judge/0-2026"


def test_every_statement_has_a_majority_of_its_own() -> None:
    """No judge confirms both statements, but a majority confirms each."""

    def saying(name: str, *confirmed: str) -> SayingLlm:
        def say(request: ChatRequest) -> str:
            holds = any(f"The statement:\n{criterion}\n" in told(request) for criterion in confirmed)
            result = "pass" if holds else "fail"
            return json.dumps({"nonce": nonce_in(request), "reason": f"{name} says so", "result": result})

        return SayingLlm(say, name)

    judges = [saying("j/1", "a", "b"), saying("j/2", "a"), saying("j/3", "b")]
    written = {"relevance": {"criteria": ["a", "b"], "panel": [llm.name for llm in judges]}}
    grade = judge_once(written, "text", judges)
    assert (grade.state, grade.score) == ("pass", 1.0)
    assert grade.evidence == [
        {"criterion": "a", "passed": True, "reason": "2 of 3 judges: j/1 says so"},
        {"criterion": "b", "passed": True, "reason": "2 of 3 judges: j/1 says so"},
    ]


def test_votes_that_a_panel_has_given_stay() -> None:
    """The judge from the command line replaces those that have not voted."""
    panel = {"model": {"panel": ["a/a", "b/b", "c/c"], "rubric": "Is it kind?"}}
    broken = SayingLlm(lambda _: "who knows", "b/b")
    before = judge_once(panel, "Ada", [HonestLlm(name="a/a"), broken, SayingLlm(lambda _: "well", "c/c")])
    assert before.state == "unscored"
    new = HonestLlm(name="m/m")
    grade = judge_once(panel, "Ada", [new, broken], flag="m/m", before=before)
    votes: Any = grade.evidence
    assert [(vote["judge"], vote["state"]) for vote in votes["panel"]] == [("a/a", "pass"), *[("m/m", "pass")] * 2]
    assert len(new.requests) == 2
    assert judge_once(panel, "Ada", [new, broken], flag="m/m", before=grade).evidence == votes
    assert len(new.requests) == 2, "a verdict is kept"


@pytest.mark.parametrize("kind", ["model", "relevance"])
def test_that_no_money_was_left_is_reported_however_much_the_others_said(kind: str) -> None:
    """`resume` depends on it."""

    class PoorLlm(JudgeLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            raise SpendCapReached("$1 of $1")

    class WordyLlm(JudgeLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            raise ModelUnavailable("busy " * 400)

    llms = [*(WordyLlm(f"judge/{place}") for place in range(6)), PoorLlm("poor/judge")]
    grade = judge_once({"type": kind, **ALL[kind], "panel": [llm.name for llm in llms]}, "Ada", llms)
    assert grade.state == "awaiting"
    assert SPEND_CAP in grade.reason and "judge/0" in grade.reason


def test_one_model_may_sit_in_a_panel_several_times() -> None:
    llm = HonestLlm()
    written = {"model": {"panel": ["test/judge"] * 3, "temperature": 1}}
    [grade] = judge(written, "Ada", llm)
    assert grade.passed
    assert [judging.calls for judging in grade.judging] == [3]
    assert len({request.seed for request in llm.requests}) == 3
