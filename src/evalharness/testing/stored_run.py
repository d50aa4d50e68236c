"""A run as the fake store keeps it: what the columns of a row would have, and its trials."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalharness.contracts.store import MEMORY
from evalharness.domain.exchange import Mode
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.stored import RunLine, RunOutline, RunRevision
from evalharness.domain.trial import Outcome
from evalharness.stores.decoding import Decoder
from evalharness.stores.statements import OUTLINE_COLUMNS

_PAGE = 500
DECODER = Decoder(MEMORY)


@dataclass(slots=True)
class StoredRun:
    id: str
    name: str
    matrix_id: str
    suite_name: str
    created_at: str
    planned: int
    regrade_of: str
    body: bytes
    finished_at: str | None = None
    report: bytes | None = None
    brief_body: bytes | None = None
    changed: int = 0
    """The number of the row written last."""
    kept_at: int | None = None
    """What that was when the run last came to a stop."""
    cases: bytes | None = None
    stopped: str = ""
    elapsed_s: float = 0.0
    mode: Mode = "live"
    exchanges: dict[tuple[str, int], dict[Any, Any]] = field(default_factory=lambda: defaultdict(dict))
    parts: dict[str, bytes] = field(default_factory=dict)
    trials: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)

    @property
    def is_fresh(self) -> bool:
        """A regrade and a replay look at old answers again."""
        return not self.regrade_of and self.mode in ("live", "record")

    def whole(self) -> Run:
        about = (self.id, self.name, self.matrix_id, self.created_at, self.finished_at, self.planned)
        return DECODER.run((*about, self.body, self.report))

    def line(self) -> RunLine:
        counts = Counter(row["state"] for row in self.trials.values())
        about = (self.id, self.name, self.suite_name, self.created_at, self.finished_at, self.planned)
        return DECODER.line((*about, self.regrade_of, self.mode), self.body, self.brief, dict(counts))

    @property
    def brief(self) -> Report | None:
        return DECODER.report(self.brief_body, self.name) if self.brief_body else None

    def outline(self) -> RunOutline:
        columns = {name: getattr(self, name) for name in OUTLINE_COLUMNS}
        return DECODER.outline(columns, self.body, self.report, self.cases)

    def brief_outline(self) -> RunOutline:
        columns = {name: getattr(self, name) for name in OUTLINE_COLUMNS}
        return DECODER.outline(columns, self.body, self.brief_body or self.report, None)

    def revision(self) -> RunRevision:
        return RunRevision(self.id, self.finished_at, self.stopped, self.kept_at, self.kept_at == self.changed)

    def rows(self, case_id: str | None = None) -> Iterator[dict[str, Any]]:
        """By pages, so that what is written while they are read is seen as well."""
        last = ("", -1)
        while True:
            found = [key for key in sorted(self.trials) if key > last and case_id in (None, key[0])][:_PAGE]
            yield from (self.trials[key] for key in found)
            if not found:
                return
            last = found[-1]


def run_outcome(row: Mapping[str, Any]) -> Outcome:
    return DECODER.outcome([row[name] for name in Outcome._fields])
