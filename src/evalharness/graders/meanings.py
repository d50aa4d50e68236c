"""How near two texts are in meaning: what `semantic_similarity` and `similarity` with `algorithm: semantic` share."""

from __future__ import annotations

from evalharness.contracts import Services
from evalharness.domain.grade import Grade
from evalharness.errors import ModelUnavailable, Unscored, UsageError
from evalharness.stats.cosine import cosine

MODEL_VARIABLE = "EVALHARNESS_EMBEDDING_MODEL"
DEFAULT_MODEL = "local/wordllama"


def embedding_model(services: Services, named: str | None) -> str:
    return named or services.environment.get(MODEL_VARIABLE, "").strip() or DEFAULT_MODEL


def named_embedders(services: Services, named: str | None) -> tuple[str, ...]:
    """What somebody asked for by name must be there before a run begins; without the usual one grades are due."""
    model = embedding_model(services, named)
    return () if model == DEFAULT_MODEL else (model,)


async def nearness(one: str, other: str, services: Services, named: str | None = None) -> float:
    """From 0 to 1: the cosine of the texts' embeddings, where negative ones count as 0.

    The same text, but for white space around it, is 1 whatever a model would say. Raises UsageError where the model
    cannot be asked, Unscored where nothing can be made of what it says.
    """
    if one.strip() == other.strip():
        return 1.0
    model = embedding_model(services, named)
    embedder = services.embedder(model)
    try:
        first, second = await embedder.embed([one, other])
    except ModelUnavailable as error:
        raise _unusable(model, error.message.removeprefix(f"{model}: ")) from error
    if not (any(first) and any(second)):
        raise _unusable(model, "a vector of zeros has no direction")
    return max(0.0, cosine(first, second))


def _unusable(model: str, why: str) -> Unscored:
    return Unscored(f"the embeddings of {model} cannot be used: {why}")


def due(error: UsageError) -> Grade:
    """No verdict until somebody installs or names what is missing; `regrade` gives it then."""
    return Grade(state="awaiting", reason=f"{error.message}: {error.hint}" if error.hint else error.message)
