"""semantic_similarity: the answer means about what an expected one means. Embeddings are compared, no judge asked."""

from __future__ import annotations

import json
from typing import Any, ClassVar, NamedTuple

from pydantic import model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.model import Embedded
from evalharness.contracts.services import Services
from evalharness.documents.http_messages import is_response
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade, Judging
from evalharness.domain.options import Options, Share
from evalharness.errors import ModelUnavailable, Unscored, UsageError
from evalharness.stats.thresholds import reaches
from evalharness.values.digest import digest
from evalharness.values.json_value import Json
from evalharness.values.nearness import nearness_of_texts, nearness_of_vectors, unusable
from evalharness.values.text import shown

THRESHOLD = 0.8


class SemanticSimilarityOptions(Options):
    """`value` may be any data: it stands for its text, as an answer that is data does. None is the case's reference."""

    value: Json = None
    threshold: Share = THRESHOLD
    model: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_bare_number(cls, written: Any) -> Any:
        if isinstance(written, bool | int | float):
            is_threshold = not isinstance(written, bool) and 0 <= written <= 1
            raise ValueError(f"write {{threshold: {written if is_threshold else THRESHOLD}}}, or the expected text")
        return written

    @property
    def needs_reference(self) -> bool:
        return self.value is None


class SemanticSimilarity(Grader):
    Options: ClassVar[type[Options]] = SemanticSimilarityOptions
    options: SemanticSimilarityOptions

    def digest(self) -> str:
        return digest([super().digest(), embedding_model(self.services, self.options.model)])

    def embedders(self) -> tuple[str, ...]:
        return named_embedders(self.services, self.options.model)

    async def grade(self, context: GradeContext) -> Grade:
        options = self.options
        wanted = context.reference if options.value is None else options.value
        if wanted is None:
            raise Unscored("there is nothing to compare with: give `value`, or the case a reference")
        if problem := _other_status(context.output, wanted):
            return Grade.of(False, reason=problem)
        text, expected = _text(context.output), _text(wanted)
        try:
            score, judging = await nearness(text, expected, self.services, options.model)
        except UsageError as error:
            return awaiting_model(error)
        passed = reaches(score, options.threshold)
        reason = f"similarity {score:.3f} < {options.threshold:g} between {shown(text)} and {shown(expected)}"
        evidence = {"model": embedding_model(self.services, options.model), "threshold": options.threshold}
        grade = Grade.of(passed, score=score, reason="" if passed else reason, evidence=evidence)
        return grade.model_copy(update={"judging": judging})

    def example(self) -> Example | None:
        return None if self.options.value is None else Example(whole=self.options.value)


def _other_status(output: Json, expected: Json) -> str:
    """An error page may hold the same words; empty where there are no two responses, or both have one status."""
    if not (is_response(output) and is_response(expected)) or not isinstance(expected["status"], int):
        return ""
    wanted, got = expected["status"], output["status"]
    return "" if got == wanted else f"status {got}, expected {wanted}"


def _text(value: Json) -> str:
    """Of an HTTP response the body: its headers change with the time of day, and mean nothing."""
    content = value["body"] if is_response(value) else value
    if content is None or isinstance(content, str):
        return as_text(content or "")
    try:
        return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError) as error:
        raise Unscored(f"the answer cannot be read as text: {error}") from None


# How near two texts are in meaning: what `semantic_similarity` and `similarity` with `algorithm: semantic` share.

MODEL_VARIABLE = "EVALHARNESS_EMBEDDING_MODEL"
DEFAULT_MODEL = "local/wordllama"


def embedding_model(services: Services, named: str | None) -> str:
    return named or services.environment.get(MODEL_VARIABLE, "").strip() or DEFAULT_MODEL


def named_embedders(services: Services, named: str | None) -> tuple[str, ...]:
    """What somebody asked for by name must be there before a run begins; without the usual one grades are
    outstanding."""
    model = embedding_model(services, named)
    if model != DEFAULT_MODEL:
        return (model,)
    if services.models is not None:
        services.models.price_known(model)  # raises where the price file is broken, which is no reason to wait
    return ()


class Nearness(NamedTuple):
    score: float
    judging: tuple[Judging, ...] = ()
    """What the model took, where it is one that costs or counts."""


async def nearness(one: str, other: str, services: Services, named: str | None = None) -> Nearness:
    """Raises UsageError where the model cannot be asked, Unscored where nothing can be made of what it says."""
    if (near := nearness_of_texts(one, other)) is not None:
        return Nearness(near)
    model = embedding_model(services, named)
    embedder = services.embedder(model)
    try:
        embedded = await embedder.embed([one, other])
    except ModelUnavailable as error:
        raise unusable(model, error.message.removeprefix(f"{model}: ")) from error
    first, second = embedded.vectors
    return Nearness(nearness_of_vectors(first, second, model), _took(model, embedded))


def _took(model: str, embedded: Embedded) -> tuple[Judging, ...]:
    if embedded.usage is None and embedded.cost_usd == 0.0:
        return ()
    tokens = embedded.usage.input_tokens if embedded.usage else 0
    return (Judging(model=model, calls=1, input_tokens=tokens, cost_usd=embedded.cost_usd),)


def awaiting_model(error: UsageError) -> Grade:
    """No verdict until somebody installs or names what is missing; `regrade` gives it then."""
    return Grade(state="awaiting", reason=f"{error.message}: {error.plain_hint}" if error.plain_hint else error.message)
