"""History: how often a case has failed, and when it last passed. The store keeps it, never the user's file."""

from __future__ import annotations

from typing import NamedTuple

from evalharness.domain.case import Case

_MOST_FAILURES = 2**53
WRITTEN = frozenset(("failure_count", "last_passed"))
"""Keys of a case's metadata that tell what became of it, not what is asked: they change with every run."""


class CaseHistory(NamedTuple):
    failure_count: int = 0
    last_passed: str | None = None

    @property
    def known(self) -> dict[str, int | str]:
        """What there is to tell, by name; a case that never failed nor passed has nothing."""
        return {name: value for name, value in self._asdict().items() if value}


def written_history(case: Case) -> CaseHistory:
    """What the file says (`failure_count` and `last_passed` among the metadata): where the store starts to count."""
    count, passed = case.metadata.get("failure_count"), case.metadata.get("last_passed")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_FAILURES:
        count = 0
    return CaseHistory(count, passed if isinstance(passed, str) and passed else None)
