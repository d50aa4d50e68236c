"""ItemAnalysis: what the results of several targets say about the cases themselves. A hint where to look, no proof."""

from __future__ import annotations

from evalharness.domain.record import Record


class CaseItem(Record):
    """`difficulty` is the mean share passed over targets; `discrimination` how well it tells strong ones from weak."""

    case_id: str
    difficulty: float
    discrimination: float | None
    targets: int
    flag: str = ""


class ItemAnalysis(Record):
    """`runs` names the run that counts of each target; `reliability` is Cronbach's alpha over cases that all tried."""

    cases: tuple[CaseItem, ...]
    reliability: float | None
    runs: dict[str, str]

    @property
    def flagged(self) -> list[CaseItem]:
        return [case for case in self.cases if case.flag]
