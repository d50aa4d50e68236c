"""The reporter: writes finished runs, and comparisons of them, as text, to a file or a stream.

A reporter inherits from `Reporter` and adds its `name` and `write`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import IO, ClassVar

from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.errors import UsageError


class Reporter(ABC):
    name: ClassVar[str]
    """The name in the registry."""
    endings: ClassVar[tuple[str, ...]] = ()
    """The endings of its files (`-o FILE`), in lower case with the dot; empty if it is only printed."""
    can_stream: ClassVar[bool] = True
    """Whether its text can be printed; otherwise it is only written to files."""
    compares: ClassVar[bool] = False
    """Whether it can write comparisons, too."""

    @abstractmethod
    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        """Write the runs, in pieces if possible: a run may have a hundred thousand trials."""

    def recognises(self, head: str) -> bool:
        """Whether a file that begins with this text is one of its reports, which a new one may replace."""
        return not head.strip()

    def write_comparisons(
        self,
        compared: Sequence[ReportedComparison],  # noqa: ARG002 - for those who override it
        stream: IO[str],  # noqa: ARG002
        presentation: Presentation,  # noqa: ARG002
    ) -> None:
        """Write comparisons of one old run with one or several new ones."""
        raise UsageError(f"a report in the format {self.name} cannot show a comparison")

    def recognises_comparisons(self, head: str) -> bool:
        """The same as `recognises`, for a file with comparisons."""
        return self.recognises(head)
