"""The name of a model: `provider/model`, split at the first slash, or a bare name of which everybody knows whose it is.

Whether the provider exists, and where, is not decided here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FAMILIES: tuple[tuple[str, str], ...] = (
    (r"gpt-|chatgpt-|o[1345](-|$)|text-embedding-", "openai"),
    (r"claude-", "anthropic"),
    (r"gemini-", "gemini"),
    (r"mistral-|ministral-|codestral-|magistral-|pixtral-", "mistral"),
    (r"smollm2$", "local"),
)
"""How a bare name begins, and whose it then is."""


class ModelName(NamedTuple):
    provider: str
    model: str


def split_name(written: str) -> ModelName | None:
    """None for what names no model."""
    name = written.strip()
    provider, slash, model = name.partition("/")
    if slash:
        return ModelName(provider.lower(), model) if provider and model else None
    owner = next((owner for beginning, owner in FAMILIES if re.match(beginning, name)), None)
    return ModelName(owner, name) if owner else None
