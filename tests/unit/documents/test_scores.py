"""Scorers: how they score an artifact."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.artifact import EvalArtifact
from evalharness.documents.scores import (
    Score,
    create_cost_scorer,
    create_latency_scorer,
    create_similarity_scorer,
    create_tokens_scorer,
)
from evalharness.errors import Unscored, UsageError


def took(**amounts: Any) -> EvalArtifact:
    return EvalArtifact(snapshot={}, events=({"type": "agent:complete", "nodeId": "coder", **amounts},))


def gave(**outputs: Any) -> EvalArtifact:
    return EvalArtifact(snapshot={"outputs": outputs}, events=())


@pytest.mark.parametrize(
    ("limits", "ms", "value"),
    [
        ({"ideal_ms": 1000, "max_ms": 30000}, 500, 1.0),
        ({"ideal_ms": 1000, "max_ms": 30000}, 1000, 1.0),
        ({"max_ms": 10000}, 5000, 0.5),
        ({}, 45000, 0.0),
        ({}, 30000, 0.0),
        ({}, 0, 1.0),
        ({"ideal_ms": 500, "max_ms": 500}, 500, 1.0),
        ({"ideal_ms": 900, "max_ms": 500}, 700, 1.0),
    ],
)
def test_latency(limits: dict[str, float], ms: float, value: float) -> None:
    score = create_latency_scorer(**limits).score(took(durationMs=ms))
    assert (score.name, score.value, score.raw_value, score.metadata["unit"]) == ("latency", value, ms, "ms")


def test_cost() -> None:
    score = create_cost_scorer(max_usd=2.0, ideal_usd=1.0).score(took(totalCostUsd=1.25))
    assert (score.name, score.value, score.raw_value, score.metadata["unit"]) == ("cost", 0.75, 1.25, "USD")


def test_tokens() -> None:
    """The input counts by its weight; the raw value is the plain sum."""
    usage = {"inputTokens": 1000, "outputTokens": 500}
    score = create_tokens_scorer(max_tokens=2000, input_weight=0.5).score(took(usage=usage))
    assert (score.value, score.raw_value, score.metadata["weighted_total"]) == (0.5, 1500, 1000)
    assert (score.metadata["input_tokens"], score.metadata["output_tokens"]) == (1000, 500)


def test_nothing_spent_is_perfect() -> None:
    for create in (create_latency_scorer, create_cost_scorer, create_tokens_scorer):
        assert create().score(gave()).value == 1.0


@pytest.mark.parametrize(
    ("algorithm", "actual", "expected", "value"),
    [
        ("exact", "Hello", "Hello", 1.0),
        ("exact", "Hello", "hello", 0.0),
        ("exact", {"a": 1.0}, '{"a":1}', 1.0),
        ("exact", {"a": [1, None]}, {"a": [1, None]}, 1.0),
        ("contains", "Hello world", "world", 1.0),
        ("contains", "Hello", "world", 0.0),
        # Always 0.5 in the original.
        ("levenshtein", "kitten", "sitting", 1 - 3 / 7),
        ("levenshtein", "abc", "abc", 1.0),
        ("levenshtein", "abc", "xyz", 0.0),
        ("levenshtein", "abc", "", 0.0),
        ("levenshtein", "", "", 1.0),
    ],
)
def test_similarity(algorithm: Any, actual: Any, expected: Any, value: float) -> None:
    """The path starts inside the outputs; as in assertions, it may also start with `outputs`."""
    for path in ("main.text", "outputs.main.text"):
        score = create_similarity_scorer(path, expected, algorithm).score(gave(main={"text": actual}))
        assert score.value == pytest.approx(value)
        assert score.raw_value == actual


def test_an_output_that_is_not_there_scores_0_and_says_so() -> None:
    score = create_similarity_scorer("main.text", "Hello").score(gave())
    assert (score.value, score.metadata["error"]) == (0.0, 'Path "main.text" not found')


def test_a_node_may_be_called_outputs() -> None:
    assert create_similarity_scorer("outputs.main", "a").score(gave(outputs={"main": "a"}, main="b")).value == 1.0


def test_the_json_of_an_artifact_is_scored_like_one() -> None:
    written = {"runId": "r", "snapshot": {"outputs": {"a": "b"}}, "events": [{"type": "agent:complete"}]}
    for scorer in (
        create_latency_scorer(),
        create_cost_scorer(),
        create_tokens_scorer(),
        create_similarity_scorer("a", "b"),
    ):
        assert scorer.score(written) == scorer.score(EvalArtifact.model_validate(written))
        with pytest.raises(UsageError, match="not an artifact: snapshot is missing"):
            scorer.score({"events": []})


def test_options_are_taken_in_both_spellings() -> None:
    assert create_latency_scorer(maxMs=9, idealMs=1) == create_latency_scorer(9, 1)
    assert create_cost_scorer(maxUsd=9, idealUsd=1) == create_cost_scorer(max_usd=9, ideal_usd=1)
    assert create_tokens_scorer(maxTokens=9, idealTokens=1, inputWeight=2) == create_tokens_scorer(9, 1, 2)
    assert create_similarity_scorer(outputPath="a", expectedValue=None) == create_similarity_scorer("a", None)


@pytest.mark.parametrize(
    ("create", "options", "problem"),
    [
        (create_latency_scorer, {"max_ms": -1}, "max_ms must be at least 0, not -1"),
        (create_latency_scorer, {"maxMs": "soon"}, "max_ms must be a number, not 'soon'"),
        (create_latency_scorer, {"ideal_ms": True}, "ideal_ms must be a number, not true"),
        (create_latency_scorer, {"max_ms": None}, "max_ms must be a number, not null"),
        (create_latency_scorer, {"max_ms": 1, "maxMs": 2}, "max_ms is given in two spellings"),
        (create_latency_scorer, {"max_mss": 1}, "there is no option max_mss; did you mean max_ms?"),
        (create_cost_scorer, {"max_usd": float("nan")}, "max_usd must be"),
        (create_tokens_scorer, {"input_weight": float("inf")}, "input_weight must be a finite number"),
        (create_similarity_scorer, {"output_path": "a"}, "expected_value is missing"),
        (create_similarity_scorer, {"output_path": "", "expected_value": 1}, "output_path"),
        (create_similarity_scorer, {"output_path": 5, "expected_value": 1}, "output_path must be text, not 5"),
    ],
)
def test_wrong_options_are_refused_when_the_scorer_is_made(create: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        create(**options)
    assert problem in raised.value.message


@pytest.mark.parametrize(("algorithm", "problem"), [("semantic", "embeddings"), ("fuzzy", "known: exact, contains")])
def test_an_algorithm_that_is_not_there_is_refused(algorithm: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        create_similarity_scorer("main.text", "Hello", algorithm)


def test_texts_too_long_to_be_compared_are_not_guessed_at() -> None:
    long = "ab" * 100_000
    scorer = create_similarity_scorer("a", long, "levenshtein")
    assert scorer.score(gave(a=long)).value == 1.0
    assert scorer.score(gave(a=long[:-3] + "xyz")).value == pytest.approx(1 - 3 / len(long))
    with pytest.raises(Unscored, match="too long"):
        scorer.score(gave(a="x" + "ba" * 100_000 + "x"))


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan")])
def test_a_score_is_between_0_and_1(value: float) -> None:
    with pytest.raises(ValueError, match="value"):
        Score(name="mine", value=value)
