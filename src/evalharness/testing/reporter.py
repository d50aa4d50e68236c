"""A fake of the reporter: one line per run, and everything it was given is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, ClassVar

from evalharness.contracts.reporter import Reporter
from evalharness.domain.reported_run import Presentation, ReportedRun


class FakeReporter(Reporter):
    """Writes `fake report` and then, for each run, its verdict and name."""

    name: ClassVar[str] = "fake"
    endings: ClassVar[tuple[str, ...]] = (".fake",)

    def __init__(self) -> None:
        self.written: list[ReportedRun] = []

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        self.written.extend(runs)
        stream.write("fake report\n")
        for each in runs:
            stream.write(presentation.redact(f"{each.report.verdict} {each.report.metadata.run_name}") + "\n")

    def recognises(self, head: str) -> bool:
        return not head.strip() or head.startswith("fake report\n")
