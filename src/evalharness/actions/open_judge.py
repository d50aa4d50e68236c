"""Open a judge: a language model by its name, for Python callers who judge without a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from evalharness.contracts.model import Llm
from evalharness.llms.opening import OpenModels
from evalharness.settings import Settings


@asynccontextmanager
async def opened_judge(model: str | Llm, concurrency: int = 1) -> AsyncIterator[Llm]:
    """A model that is open already is used as it is, and left open."""
    if not isinstance(model, str):
        yield model
        return
    models = OpenModels(Settings.read(Path.cwd()).environment, Path.cwd(), concurrency)
    try:
        yield models.llm(model)
    finally:
        await models.close()
