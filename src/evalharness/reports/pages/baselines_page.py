"""What the page of all baselines shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.reports.pages.page_actions import PageAction


@dataclass(frozen=True, slots=True)
class BaselineRow:
    suite: str
    name: str
    runs: Sequence[tuple[str, str]]
    """Id and name."""
    when: str
    removal: PageAction


@dataclass(frozen=True, slots=True)
class BaselinesPage:
    baselines: Sequence[BaselineRow]
    promotion: PageAction | None
    """Makes one of the newest runs a baseline, where there is any."""
