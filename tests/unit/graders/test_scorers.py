"""Scorers as graders: they measure and pass, unless `min` says how high the score must be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import Case
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.attempt import grade_once
from evalharness.errors import Unscored, UsageError

SLOW: dict[str, Any] = {
    "snapshot": {"outputs": {"main": {"text": "Lovelace"}}},
    "events": ({"type": "agent:complete", "nodeId": "main", "durationMs": 15_000, "totalCostUsd": 0.25},),
}


def parsed(written: Any) -> Any:
    return registry.parse_options("grader", GraderSpec.model_validate(written))


@pytest.mark.parametrize(("kind", "score"), [("latency", 0.5), ("cost", 0.75), ("tokens", 1.0)])
def test_a_bare_name_has_the_documented_limits_and_passes(kind: str, score: float, grade: Callable[..., Grade]) -> None:
    verdict = grade(kind, **SLOW)
    assert (verdict.state, verdict.score, verdict.reason) == ("pass", score, "")
    assert verdict.evidence["name"] == kind
    assert "raw_value" in verdict.evidence


def test_below_the_minimum_it_fails(grade: Callable[..., Grade]) -> None:
    verdict = grade({"latency": {"min": 0.6}}, **SLOW)
    assert (verdict.state, verdict.score, verdict.reason) == ("fail", 0.5, "score 0.5 < 0.6")
    assert grade({"latency": {"min": 0.5}}, **SLOW).passed


def test_both_spellings_of_options() -> None:
    assert parsed({"latency": {"maxMs": 5, "idealMs": 1}}) == parsed({"latency": {"max_ms": 5, "ideal_ms": 1}})
    assert parsed({"cost": {"maxUsd": 5, "idealUsd": 1}}) == parsed({"cost": {"max_usd": 5, "ideal_usd": 1}})
    camel = {"maxTokens": 5, "idealTokens": 1, "inputWeight": 0}
    assert parsed({"tokens": camel}) == parsed({"tokens": {"max_tokens": 5, "ideal_tokens": 1, "input_weight": 0}})
    camel_path = {"outputPath": "a.b", "expectedValue": "c"}
    assert parsed({"similarity": camel_path}) == parsed({"similarity": {"output_path": "a.b", "expected_value": "c"}})


def test_similarity_looks_at_the_answer_unless_a_path_is_given(grade: Callable[..., Grade]) -> None:
    assert grade({"similarity": "Ada"}, "Ada").score == 1
    elsewhere = {"expected_value": "Ada", "output_path": "nobody.text"}
    verdict = grade({"similarity": elsewhere}, "Ada")
    assert (verdict.state, verdict.score, verdict.reason) == ("pass", 0.0, 'Path "nobody.text" not found')


def test_an_oracle_need_not_please_what_cannot_fail(build: Callable[..., Grader]) -> None:
    assert build({"similarity": "Ada"}).example() == Example()
    assert build({"similarity": "Ada", "min": 1}).example() == Example(whole="Ada")
    assert build({"similarity": {"expected_value": "Ada", "output_path": "x", "min": 1}}).example() is None


OWN = """
from evalharness.documents.scores import Score

def number(artifact):
    return 0.25 if artifact.outputs["main"]["text"] == "Ada" else 0

async def mapping(artifact):
    return {"value": 0.5, "rawValue": [1, 2], "metadata": {"why": "half"}}

class Whole:
    name = "whole"

    def score(self, artifact):
        return Score(name="mine", value=1, raw_value={3})

ready = Whole()
nothing = 5

def raising(artifact):
    raise KeyError("gone")

def too_much(artifact):
    return 1.5

def text(artifact):
    return "good"

def named(artifact):
    return {"score": 1}
"""


def graded_once(written: Any, build: Callable[..., Grader]) -> Grade:
    """As the engine does it, which handles exceptions."""
    context = GradeContext(Case(id="a", input="?"), Transcript(output="Ada"), index=0, seed=0)
    return asyncio.run(grade_once(GraderSpec.model_validate(written), build(written), context))


class TestOwn:
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "own.py").write_text(OWN)

    @pytest.mark.parametrize(
        ("name", "score", "evidence"),
        [
            ("number", 0.25, {"name": "number", "raw_value": None, "metadata": {}}),
            ("mapping", 0.5, {"name": "mapping", "raw_value": [1, 2], "metadata": {"why": "half"}}),
            ("Whole", 1.0, {"name": "mine", "raw_value": [3], "metadata": {}}),
            ("ready", 1.0, {"name": "mine", "raw_value": [3], "metadata": {}}),
            ("ready.score", 1.0, {"name": "mine", "raw_value": [3], "metadata": {}}),
        ],
    )
    def test_functions_classes_and_objects(
        self, name: str, score: float, evidence: Any, grade: Callable[..., Grade]
    ) -> None:
        verdict = grade({"scorer": f"own.py:{name}"}, "Ada")
        assert (verdict.state, verdict.score, verdict.evidence) == ("pass", score, evidence)

    @pytest.mark.parametrize(("name", "problem"), [("too_much", "value"), ("text", "str"), ("named", "value")])
    def test_what_is_not_a_score_is_unscored(self, name: str, problem: str, grade: Callable[..., Grade]) -> None:
        with pytest.raises(Unscored, match=problem):
            grade({"scorer": f"own.py:{name}"}, "Ada")

    def test_what_it_raises_is_left_to_the_engine(self, grade: Callable[..., Grade]) -> None:
        with pytest.raises(KeyError, match="gone"):
            grade({"scorer": "own.py:raising"}, "Ada")

    @pytest.mark.parametrize(("reference", "problem"), [("own.py:nobody", "nobody"), ("gone.py:a", "no file")])
    def test_one_that_is_not_there_is_refused_before_anything_runs(
        self, reference: str, problem: str, build: Callable[..., Grader]
    ) -> None:
        with pytest.raises(UsageError, match=problem):
            build({"scorer": reference}).digest()

    def test_one_that_cannot_score_is_refused_before_anything_runs(self, build: Callable[..., Grader]) -> None:
        with pytest.raises(UsageError, match=r"own.py:nothing is neither a function"):
            build({"scorer": "own.py:nothing"}).digest()

    @pytest.mark.parametrize("name", ["raising", "too_much", "text"])
    def test_one_that_only_measures_and_fails_counts_as_0(self, name: str, build: Callable[..., Grader]) -> None:
        """Leaving it out of the mean would raise a trial's score."""
        verdict = graded_once({"scorer": f"own.py:{name}", "required": False}, build)
        assert (verdict.state, verdict.score, verdict.required) == ("fail", 0.0, False)
        assert verdict.reason
        assert verdict.evidence["metadata"]["error"] == verdict.reason

    def test_one_that_decides_and_fails_is_unscored_like_every_grader(self, build: Callable[..., Grader]) -> None:
        verdict = graded_once({"scorer": "own.py:raising"}, build)
        assert (verdict.state, verdict.score) == ("unscored", None)
        assert "KeyError: 'gone'" in verdict.reason

    def test_its_time_is_limited(self, tmp_path: Path, grade: Callable[..., Grade]) -> None:
        (tmp_path / "slow.py").write_text("import asyncio\nasync def score(artifact):\n    await asyncio.sleep(60)\n")
        with pytest.raises(Unscored, match=r"more than 0\.05 s"):
            grade({"scorer": "slow.py:score", "timeout_seconds": 0.05}, "Ada")

    def test_its_digest_follows_its_code(self, tmp_path: Path, build: Callable[..., Grader]) -> None:
        before = build({"scorer": "own.py:number"}).digest()
        (tmp_path / "own.py").write_text(OWN.replace("0.25", "0.75"))
        assert build({"scorer": "own.py:number"}).digest() != before
