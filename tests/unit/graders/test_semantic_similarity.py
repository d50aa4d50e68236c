"""semantic_similarity, and `similarity` by meaning, with real embeddings from this machine and from a server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loop_server import serving
from real_models import need_wordllama

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.datasets import EvalArtifact, create_similarity_scorer
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade, Judging
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import Unscored
from evalharness.llms.pool import OpenModels
from evalharness.sandboxes.none import NoSandbox

CAT = "The cat sat on the mat."
SITTING = "A cat was sitting on the mat."
MARKET = "The stock market fell sharply today."


def test_the_score_is_the_nearness_and_the_threshold_decides(grade: Callable[..., Grade]) -> None:
    need_wordllama()
    near = grade({"semantic_similarity": CAT}, SITTING)
    assert near.passed
    assert near.score == pytest.approx(0.895, abs=0.01)
    assert near.evidence == {"model": "local/wordllama", "threshold": 0.8}
    strict = grade({"semantic_similarity": {"value": CAT, "threshold": 0.95}}, SITTING)
    assert (strict.state, strict.score) == ("fail", near.score)
    assert strict.reason == f"similarity 0.895 < 0.95 between '{SITTING}' and '{CAT}'"
    far = grade({"semantic_similarity": CAT}, MARKET)
    assert (far.state, far.score) == ("fail", 0.0), "an opposite direction scores 0, not less"


def test_data_is_compared_as_text_and_of_a_response_the_body(grade: Callable[..., Grade]) -> None:
    need_wordllama()
    assert grade({"semantic_similarity": {"value": {"summary": CAT}}}, {"summary": SITTING}).passed
    expected = {"semantic_similarity": {"value": {"status": 200, "headers": {"date": "then"}, "body": CAT}}}
    assert grade(expected, {"status": 200, "headers": {"date": "now", "etag": "x"}, "body": CAT}).score == 1
    verdict = grade(expected, {"status": 500, "headers": {}, "body": CAT})
    assert (verdict.state, verdict.reason) == ("fail", "status 500, expected 200")


def test_equal_data_is_as_near_as_can_be_whatever_the_order_of_its_keys(grade: Callable[..., Grade]) -> None:
    assert grade({"semantic_similarity": {"value": {"a": [1, 2], "b": 1}}}, {"b": 1, "a": [1, 2]}).score == 1


def test_without_a_value_the_answer_is_compared_with_the_cases_reference(build: Callable[..., Grader]) -> None:
    case = Case(id="a", input="?", reference=CAT)
    for written in ({"semantic_similarity": {"threshold": 0.9}}, "semantic_similarity"):
        context = GradeContext(case, Transcript(output=CAT), index=0, seed=0)
        assert asyncio.run(build(written).grade(context)).score == 1
    with pytest.raises(Unscored, match="nothing to compare with"):
        asyncio.run(build("semantic_similarity").grade(replace(context, case=Case(id="a", input="?"))))


@pytest.mark.parametrize(
    "written", [{"threshhold": 0.5}, {"Threshold": 0.5}, {"threshold": 0.5, "modle": "vllm/half"}, {"threshold": True}]
)
def test_a_mapping_contains_options_and_is_never_the_expected_answer(written: Any) -> None:
    with pytest.raises(ValueError, match=r"Extra inputs|a valid number"):
        registry.parse_options("grader", GraderSpec(kind="semantic_similarity", options=written))


@pytest.mark.parametrize(("written", "advice"), [(0.3, 0.3), (1, 1), (True, 0.8), (42, 0.8)])
def test_a_bare_number_is_not_an_expected_answer(written: Any, advice: float) -> None:
    with pytest.raises(ValueError, match=rf"write \{{threshold: {advice}\}}, or the expected text"):
        registry.parse_options("grader", GraderSpec(kind="semantic_similarity", options=written))
    registry.parse_options("grader", GraderSpec(kind="semantic_similarity", options={"value": written}))


def test_the_same_text_needs_no_model(build: Callable[..., Grader]) -> None:
    context = GradeContext(Case(id="a", input="?"), Transcript(output=f" {CAT}\n"), index=0, seed=0)
    assert asyncio.run(build({"semantic_similarity": CAT}).grade(context)).score == 1


@pytest.mark.parametrize("written", [{"semantic_similarity": CAT}, {"similarity": CAT, "algorithm": "semantic"}])
def test_where_embeddings_are_not_installed_the_grade_is_outstanding(
    written: Any, grade: Callable[..., Grade], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    verdict = grade(written, SITTING)
    assert (verdict.state, verdict.score) == ("awaiting", None)
    assert verdict.reason == 'local/wordllama is not installed: pip install "evalharness[local]"'


def test_a_scorer_compares_by_meaning(grade: Callable[..., Grade]) -> None:
    need_wordllama()
    verdict = grade({"similarity": CAT, "algorithm": "semantic"}, SITTING)
    assert (verdict.state, verdict.evidence["raw_value"]) == ("pass", SITTING)
    assert verdict.score == pytest.approx(0.895, abs=0.01)
    missing = grade({"similarity": {"expected_value": CAT, "algorithm": "semantic", "output_path": "x"}}, CAT)
    assert (missing.score, missing.reason) == (0, 'Path "x" not found')
    with pytest.raises(ValueError, match="has no effect without"):
        registry.parse_options("grader", GraderSpec.model_validate({"similarity": CAT, "model": "openai/x"}))


def test_a_scorer_made_in_python_compares_by_meaning_offline() -> None:
    need_wordllama()
    scorer = create_similarity_scorer("main.text", CAT, "semantic")
    artifact = EvalArtifact(snapshot={"outputs": {"main": {"text": SITTING}}}, events=())
    score = scorer.score(artifact)
    assert (score.name, score.raw_value, score.metadata["algorithm"]) == ("similarity", SITTING, "semantic")
    assert score.value == pytest.approx(0.895, abs=0.01)
    assert create_similarity_scorer("main.text", SITTING, "semantic").score(artifact).value == 1


@pytest.mark.parametrize("blank", ["", " \n"])
def test_what_says_nothing_is_near_to_nothing_wherever_it_is_scored(blank: str, grade: Callable[..., Grade]) -> None:
    verdict = grade({"semantic_similarity": CAT}, blank)
    assert (verdict.state, verdict.score) == ("fail", 0)
    artifact = EvalArtifact(snapshot={"outputs": {"main": {"text": blank}}}, events=())
    assert create_similarity_scorer("main.text", CAT, "semantic").score(artifact).value == 0


def services(folder: Path, environment: dict[str, str], models: OpenModels | None = None) -> Services:
    return Services(folder, NoSandbox(), Offloader(1), environment, models=models)


def test_any_embeddings_can_be_named(tmp_path: Path) -> None:
    """By an option or by a variable; the digest changes too, since another model gives other scores."""

    async def embeddings(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        vectors = [[float("cat" in text), float("market" in text), 0.1] for text in texts]
        data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
        return web.json_response({"data": data, "usage": {"prompt_tokens": 3, "total_tokens": 3}})

    async def ask() -> list[Grade]:
        async with serving(embeddings) as url:
            environment = {"MINE_BASE_URL": url, "EVALHARNESS_EMBEDDING_MODEL": "mine/tiny"}
            models = OpenModels(environment, tmp_path, concurrency=1)
            grader = registry.build_grader(
                GraderSpec.model_validate({"semantic_similarity": CAT}), services(tmp_path, environment, models)
            )
            try:
                contexts = [
                    GradeContext(Case(id="a", input="?"), Transcript(output=text), index=0, seed=0)
                    for text in ("my cat", MARKET)
                ]
                return [await grader.grade(context) for context in contexts]
            finally:
                await models.close()

    same, other = asyncio.run(ask())
    assert (same.state, same.score, same.evidence["model"]) == ("pass", pytest.approx(1), "mine/tiny")
    assert other.state == "fail"
    assert same.judging == (Judging(model="mine/tiny", calls=1, input_tokens=3),), "with an unknown price"

    def digest(environment: dict[str, str], **options: Any) -> str:
        spec = GraderSpec.model_validate({"semantic_similarity": {"value": CAT, **options}})
        return registry.build_grader(spec, services(tmp_path, environment)).digest()

    assert digest({}) != digest({"EVALHARNESS_EMBEDDING_MODEL": "mine/tiny"})
    assert digest({}) == digest({"UNRELATED": "1"})


@pytest.mark.parametrize(
    ("vectors", "why", "calls"),
    [
        ([[0.0, 0.0], [0.0, 1.0]], "a vector of zeros has no direction", 1),
        ([[1.0, 0.0]], "the reply is not valid: expected 2 vectors (3 attempts in ", 3),
    ],
)
@pytest.mark.parametrize("written", [{"semantic_similarity": CAT}, {"similarity": CAT, "algorithm": "semantic"}])
def test_embeddings_that_say_nothing_are_not_a_verdict(
    tmp_path: Path, written: Any, vectors: list[list[float]], why: str, calls: int
) -> None:
    asked = []

    async def embeddings(request: web.Request) -> web.Response:
        asked.append(await request.json())
        return web.json_response({"data": [{"index": place, "embedding": each} for place, each in enumerate(vectors)]})

    async def ask() -> None:
        async with serving(embeddings) as url:
            environment = {"MINE_BASE_URL": url, "EVALHARNESS_EMBEDDING_MODEL": "mine/tiny"}
            models = OpenModels(environment, tmp_path, concurrency=1)
            grader: Any = registry.build_grader(
                GraderSpec.model_validate(written), services(tmp_path, environment, models)
            )
            assert grader.embedders() == ("mine/tiny",)
            try:
                await grader.grade(GradeContext(Case(id="a", input="?"), Transcript(output=MARKET), index=0, seed=0))
            finally:
                await models.close()

    with pytest.raises(Unscored) as caught:
        asyncio.run(ask())
    assert str(caught.value).startswith(f"the embeddings of mine/tiny cannot be used: {why}")
    assert len(asked) == calls


def test_which_embeddings_are_needed_is_known_before_anything_is_run(build: Callable[..., Grader]) -> None:
    def needed(written: Any) -> Any:
        grader: Any = build(written)
        return grader.embedders()

    assert needed({"all_of": [{"semantic_similarity": {"value": CAT, "model": "a/b"}}, {"contains": "x"}]}) == ("a/b",)
    assert needed({"similarity": CAT}) == ()
