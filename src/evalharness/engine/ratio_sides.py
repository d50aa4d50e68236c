"""Which cases a ratio of times or costs can hold, and what became of the others. It computes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from evalharness.domain.case_result import CaseResult
from evalharness.engine.pairing import Pair


class Sides(NamedTuple):
    """Pairs by what a figure of theirs did. `compared` are those above 0 in both runs, as far as there are any."""

    compared: list[tuple[Pair, float, float]]
    risen: list[Pair]
    fallen: list[Pair]
    untold: list[Pair]

    @classmethod
    def of(cls, pairs: Sequence[Pair], figure: Callable[[CaseResult], float | None]) -> Sides:
        told = [(pair, old, new) for pair in pairs for old, new in [(figure(pair.old), figure(pair.new))]]
        # What is free now is no loss, whatever it was; what is not told now may be one.
        untold = [pair for pair, old, new in told if (new is None) != (old is None) and new != 0]
        known = [(pair, old, new) for pair, old, new in told if old is not None and new is not None]
        risen = [(pair, old, new) for pair, old, new in known if old <= 0 < new]
        fallen = [(pair, old, new) for pair, old, new in known if new <= 0 < old]
        level = [each for each in known if each[1] > 0 < each[2]] or [each for each in known if each[1] <= 0 >= each[2]]
        if level:
            return cls(level, [pair for pair, _, _ in risen], [pair for pair, _, _ in fallen], untold)
        if fallen and not (risen or untold):
            return cls(fallen, [], [], [])
        return cls(risen if not fallen else [], [], [], untold)
