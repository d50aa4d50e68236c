"""latency, cost, tokens and similarity: a score for the run of a workflow.

A scorer measures, so it passes whatever the score is, unless `min` says how high it must be. One that is not required
and raises has measured nothing: that counts as 0 and is reported, since to leave it out would raise the trial's score.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, Field, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.documents.artifact import EvalArtifact
from evalharness.documents.artifact_view import compact_text
from evalharness.documents.scores import (
    Algorithm,
    Score,
    Scorer,
    SimilarityScorer,
    create_cost_scorer,
    create_latency_scorer,
    create_tokens_scorer,
)
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Number, Options, Share
from evalharness.errors import UsageError
from evalharness.graders.assertions import artifact_in, kept_evidence
from evalharness.graders.semantic_similarity import (
    Nearness,
    awaiting_model,
    embedding_model,
    named_embedders,
    nearness,
)
from evalharness.stats.thresholds import reaches
from evalharness.values.digest import digest
from evalharness.values.json_value import Json

Amount = Annotated[Number, Field(ge=0)]
ANSWER_PATH = "main.text"
"""Where a plain answer stands, as if a workflow had given it."""


def _spelled(*names: str, default: Any) -> Any:
    return Field(default=default, validation_alias=AliasChoices(*names))


class ScorerOptions(Options):
    min: Share | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare_name(cls, written: Any) -> Any:
        return {} if written is None else written


class ScorerGrader(Grader):
    """How a score becomes a grade."""

    options: ScorerOptions

    async def grade(self, context: GradeContext) -> Grade:
        return self.graded(await self.score(artifact_in(context)))

    def graded(self, score: Score) -> Grade:
        minimum = self.options.min
        passed = minimum is None or reaches(score.value, minimum)
        short = "" if passed else f"score {score.value:g} < {minimum:g}"
        reason = "; ".join(filter(None, (str(score.metadata.get("error", "")), short)))
        evidence = {
            "name": score.name,
            "raw_value": kept_evidence(score.raw_value),
            "metadata": kept_evidence(score.metadata),
        }
        return Grade.of(passed, score=score.value, reason=reason, evidence=evidence)

    @abstractmethod
    async def score(self, artifact: EvalArtifact) -> Score:
        """What is measured."""

    def grade_after_error(self, reason: str) -> Grade:
        if self.spec.required:
            return Grade.unscored(reason)
        evidence = {"name": self.spec.label, "raw_value": None, "metadata": {"error": reason}}
        return Grade.of(False, score=0.0, reason=reason, evidence=evidence)


class BudgetOptions(ScorerOptions):
    @abstractmethod
    def scorer(self) -> Scorer:
        """What measures with these options."""


class BudgetUse(ScorerGrader):
    """Something that was spent, against what may be spent."""

    options: BudgetOptions

    async def score(self, artifact: EvalArtifact) -> Score:
        return self.options.scorer().score(artifact)

    def example(self) -> Example:
        return Example()


class LatencyOptions(BudgetOptions):
    main: ClassVar[str] = "max_ms"

    max_ms: Amount = _spelled("max_ms", "maxMs", default=30_000)
    ideal_ms: Amount = _spelled("ideal_ms", "idealMs", default=0)

    def scorer(self) -> Scorer:
        return create_latency_scorer(self.max_ms, self.ideal_ms)


class Latency(BudgetUse):
    Options: ClassVar[type[Options]] = LatencyOptions


class CostOptions(BudgetOptions):
    main: ClassVar[str] = "max_usd"

    max_usd: Amount = _spelled("max_usd", "maxUsd", default=1.0)
    ideal_usd: Amount = _spelled("ideal_usd", "idealUsd", default=0)

    def scorer(self) -> Scorer:
        return create_cost_scorer(self.max_usd, self.ideal_usd)


class Cost(BudgetUse):
    Options: ClassVar[type[Options]] = CostOptions


class TokensOptions(BudgetOptions):
    main: ClassVar[str] = "max_tokens"

    max_tokens: Amount = _spelled("max_tokens", "maxTokens", default=100_000)
    ideal_tokens: Amount = _spelled("ideal_tokens", "idealTokens", default=0)
    input_weight: Amount = _spelled("input_weight", "inputWeight", default=1.0)

    def scorer(self) -> Scorer:
        return create_tokens_scorer(self.max_tokens, self.ideal_tokens, self.input_weight)


class Tokens(BudgetUse):
    Options: ClassVar[type[Options]] = TokensOptions


class SimilarityOptions(ScorerOptions):
    main: ClassVar[str] = "expected_value"

    expected_value: Json = Field(validation_alias=AliasChoices("expected_value", "expectedValue"))
    output_path: Annotated[str, Field(min_length=1)] = _spelled("output_path", "outputPath", default=ANSWER_PATH)
    algorithm: Algorithm = "exact"
    model: str | None = None
    """Whose embeddings `semantic` compares."""

    @model_validator(mode="after")
    def _model_is_asked(self) -> SimilarityOptions:
        if self.model and self.algorithm != "semantic":
            raise ValueError("model has no effect without 'algorithm: semantic'")
        return self


class Similarity(ScorerGrader):
    """How near an output is to the one expected."""

    Options: ClassVar[type[Options]] = SimilarityOptions
    options: SimilarityOptions

    def digest(self) -> str:
        if self.options.algorithm != "semantic":
            return super().digest()
        return digest([super().digest(), embedding_model(self.services, self.options.model)])

    def embedders(self) -> tuple[str, ...]:
        is_semantic = self.options.algorithm == "semantic"
        return named_embedders(self.services, self.options.model) if is_semantic else ()

    async def grade(self, context: GradeContext) -> Grade:
        if self.options.algorithm != "semantic":
            return await super().grade(context)
        artifact = artifact_in(context)
        texts = self._scorer.texts(artifact)
        try:
            near = await nearness(*texts, self.services, self.options.model) if texts else Nearness(0.0)
        except UsageError as error:  # the embeddings are missing
            return awaiting_model(error)
        return self.graded(self._scorer.scored(artifact, near.score)).model_copy(update={"judging": near.judging})

    async def score(self, artifact: EvalArtifact) -> Score:
        if self.options.algorithm != "levenshtein":
            return self._scorer.score(artifact)
        score: Score = await self.services.in_thread(self._scorer.score, artifact)  # long texts take their time
        return score

    @property
    def _scorer(self) -> SimilarityScorer:
        options = self.options
        return SimilarityScorer(
            output_path=options.output_path, expected_value=options.expected_value, algorithm=options.algorithm
        )

    def example(self) -> Example | None:
        if self.options.min is None:
            return Example()
        is_answer = self.options.output_path.removeprefix("outputs.") == ANSWER_PATH
        return Example(whole=compact_text(self.options.expected_value)) if is_answer else None
