"""How near two texts are in meaning: what `semantic_similarity` and `similarity` with `algorithm: semantic` share."""

from __future__ import annotations

from typing import NamedTuple

from evalharness.contracts.services import Services
from evalharness.domain.embedded import Embedded
from evalharness.domain.grade import Grade, Judging
from evalharness.domain.nearness import nearness_of_texts, nearness_of_vectors, unusable
from evalharness.errors import ModelUnavailable, UsageError

MODEL_VARIABLE = "EVALHARNESS_EMBEDDING_MODEL"
DEFAULT_MODEL = "local/wordllama"


def embedding_model(services: Services, named: str | None) -> str:
    return named or services.environment.get(MODEL_VARIABLE, "").strip() or DEFAULT_MODEL


def named_embedders(services: Services, named: str | None) -> tuple[str, ...]:
    """What somebody asked for by name must be there before a run begins; without the usual one grades are due."""
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


def due(error: UsageError) -> Grade:
    """No verdict until somebody installs or names what is missing; `regrade` gives it then."""
    return Grade(state="awaiting", reason=f"{error.message}: {error.plain_hint}" if error.plain_hint else error.message)
