"""What the caller chose: how much to measure, and where the peers are installed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    peer_python: str
    quick: bool = False
    only: tuple[str, ...] = ()
    repetitions: int = 1
    """How often all of it is measured, with a table for each time."""

    def is_whole(self, group: Collection[str]) -> bool:
        """Only a whole run of a group of benchmarks is worth keeping."""
        return not self.quick and (not self.only or set(group) <= set(self.only))

    def scaled(self, number: int) -> int:
        return max(1, number // 10) if self.quick else number

    @property
    def rounds(self) -> int:
        """How often a measurement is taken; its median counts."""
        return 1 if self.quick else 3
