"""How many examples a property test runs: all of them in `make soak`, a fifth of them otherwise."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

ALL = 100
A_FIFTH = ALL // 5


def examples(count: int, **more: Any) -> settings:
    """For a property that needs more or fewer examples than the others; `count` is the number in `make soak`."""
    return settings(max_examples=count * settings().max_examples // ALL, **more)
