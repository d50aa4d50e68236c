"""How many examples a property is tried with: all of them in `make soak`, a fifth of them everywhere else."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

ALL = 100
A_FIFTH = ALL // 5


def examples(count: int, **more: Any) -> settings:
    """For a property that wants more or bears fewer than the others: `count` is the number in `make soak`."""
    return settings(max_examples=count * settings().max_examples // ALL, **more)
