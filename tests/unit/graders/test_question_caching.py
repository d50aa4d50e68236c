"""The cache of verdicts: the same verdict is paid for once, verdicts are not mixed up, and faults are not kept."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from judged import HonestLlm, JudgeLlm, SayingLlm, judge

from evalharness.contracts.model import ChatReply, ChatRequest
from evalharness.errors import ModelUnavailable
from evalharness.graders.judges.prompts import read_prompt
from evalharness.graders.judges.question import InMemoryCache, Sampling

KINDS: dict[str, dict[str, Any]] = {
    "model": {"rubric": "Is it kind?"},
    "relevance": {"criteria": ["names Ada", "is short"]},
    "pairwise": {"against": "Eve"},
    "llm-judge": {"criteria": "Is it kind?", "enabled": True},
}
CALLS = {"model": 1, "relevance": 2, "pairwise": 2, "llm-judge": 1}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def written(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **KINDS[kind], "model": "m", **more}


@EVERY_KIND
def test_two_models_and_four_trials_on_one_cache_are_eight_calls(kind: str) -> None:
    """With sampling, each trial has its own verdict: otherwise K repeats would share one and look reliable."""
    cache = InMemoryCache()
    llms = [HonestLlm(name="a/judge"), HonestLlm(name="b/judge")]
    for llm in llms:
        judge(written(kind, temperature=0.7), "Ada", llm, trials=4, cache=cache)
    assert [len(llm.requests) for llm in llms] == [4 * CALLS[kind]] * 2
    again = judge(written(kind, temperature=0.7), "Ada", llms[0], trials=4, cache=cache)
    assert len(llms[0].requests) == 4 * CALLS[kind]
    assert [(grade.judging[0].calls, grade.judging[0].cached) for grade in again] == [(0, CALLS[kind])] * 4


@pytest.mark.parametrize(("temperature", "differ"), [(0.7, True), (0.0, False)])
def test_a_seed_that_is_sent_is_in_the_key(temperature: float, differ: bool) -> None:
    one, other = (Sampling(temperature, seed=seed).identity(takes_no_temperature=False) for seed in (1, 2))
    assert (one != other) is differ


class FreeLlm(HonestLlm):
    takes_no_temperature = True


@EVERY_KIND
def test_a_judge_that_takes_no_temperature_samples(kind: str) -> None:
    cache, llm = InMemoryCache(), FreeLlm()
    judge(written(kind), "Ada", llm, trials=4, cache=cache)
    assert len(llm.requests) == 4 * CALLS[kind]


@EVERY_KIND
def test_without_sampling_equal_questions_have_one_verdict(kind: str) -> None:
    cache, llm = InMemoryCache(), HonestLlm()
    first, *others = judge(written(kind), "Ada", llm, trials=4, cache=cache)
    assert len(llm.requests) == CALLS[kind]
    assert {(grade.state, grade.score, json.dumps(grade.evidence)) for grade in others} == {
        (first.state, first.score, json.dumps(first.evidence))
    }
    assert others[0].judging[0].cost_usd == 0.0


@pytest.mark.parametrize(
    "change",
    [
        {"rubric": "Is it short?"},
        {"prompt": "{output}? {rubric}"},
        {"max_tokens": 999},
        {"expected": "Ada"},
        {"scoring": {"range": [1, 6]}},
        {"criteria": ["tone"]},
        {"examples": [{"output": "x", "score": 1}]},
        {"must_include": ["x"]},
    ],
)
def test_whatever_the_judge_is_told_is_in_the_key(change: dict[str, Any]) -> None:
    cache, llm = InMemoryCache(), HonestLlm()
    judge(written("model"), "Ada", llm, cache=cache)
    judge(written("model", **change), "Ada", llm, cache=cache)
    assert len(llm.requests) == 2


def test_so_are_the_whole_output_the_question_the_reference_and_the_revision() -> None:
    cache, llm = InMemoryCache(), HonestLlm()
    long = "x" * 100_000
    judge(written("model"), long + "a", llm, cache=cache)
    judge(written("model"), long + "b", llm, cache=cache)
    judge(written("model"), long + "a", llm, cache=cache, case={"reference": "Ada"})
    assert len(llm.requests) == 3
    llm.revision = "2026-11"  # type: ignore[attr-defined]
    judge(written("model"), long + "a", llm, cache=cache)
    assert len(llm.requests) == 4


class Reply(str):
    def __repr__(self) -> str:
        return "<a reply>"


def test_texts_are_distinguished_by_their_letters_alone() -> None:
    cache, llm = InMemoryCache(), HonestLlm()
    for output in (Reply("Ada"), Reply("Eve"), "Ada"):
        judge(written("model"), output, llm, cache=cache)
    assert len(llm.requests) == 2


def test_a_prompt_of_ones_own_is_another_one_though_its_words_are_ours() -> None:
    """Empty paragraphs are left out of the built-in prompt only."""
    cache, llm = InMemoryCache(), HonestLlm()
    for options in ({}, {"prompt": read_prompt("scores")}):
        judge(written("model", **options), "Ada", llm, cache=cache)
    assert len(llm.requests) == 2


@pytest.mark.parametrize("options", [{"cache": False}, {}], ids=["switched off", "none there"])
def test_without_a_cache_every_verdict_is_asked_for(options: dict[str, Any]) -> None:
    llm = HonestLlm()
    judge(written("model", **options), "Ada", llm, trials=3, cache=InMemoryCache() if options else None)
    assert len(llm.requests) == 3


@EVERY_KIND
def test_garbage_and_faults_are_never_kept(kind: str) -> None:
    class BrokenLlm(JudgeLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            raise ModelUnavailable("out of order")

    cache = InMemoryCache()
    for llm in (SayingLlm(lambda _: "pass"), BrokenLlm()):
        [grade] = judge(written(kind), "Ada", llm, cache=cache)
        assert grade.state == "unscored"
    [grade] = judge(written(kind), "Ada", HonestLlm(), cache=cache)
    assert grade.passed
    assert grade.judging[0].cached == 0


@pytest.mark.parametrize("kept", ["x", {}, {"said": {"overall_score": 7}, "model": "m"}, {"said": 5, "model": "m"}])
def test_what_a_cache_contains_is_checked_like_a_reply(kept: Any) -> None:
    class OddCache(InMemoryCache):
        async def get(self, key: str) -> Any:
            return kept

    llm = HonestLlm()
    [grade] = judge(written("model"), "Ada", llm, cache=OddCache())
    assert grade.passed
    assert len(llm.requests) == 1


def test_the_nonce_is_not_kept_and_never_the_same() -> None:
    cache, llm = InMemoryCache(), HonestLlm()
    judge(written("model", temperature=1), "Ada", llm, trials=20, cache=cache)
    nonces = {
        request.reply_schema["properties"]["nonce"]["enum"][0] for request in llm.requests if request.reply_schema
    }
    assert len(nonces) == 20
    assert not any(nonce in json.dumps(list(cache._kept.items())) for nonce in nonces)


def test_a_cache_in_memory() -> None:
    async def use() -> None:
        cache = InMemoryCache()
        value = {"said": [1]}
        assert (await cache.has("k"), await cache.get("k")) == (False, None)
        await cache.set("k", value)
        value["said"].append(2)
        got = await cache.get("k")
        got["said"].clear()
        assert (await cache.has("k"), await cache.get("k")) == (True, {"said": [1]})
        await cache.clear()
        assert not await cache.has("k")

    asyncio.run(use())
