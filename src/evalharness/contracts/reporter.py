"""The reporter: writes finished runs as text, to a file or a stream.

A reporter inherits from `Reporter` and adds its `name` and `write`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import IO, ClassVar

from evalharness.domain.reported_run import Presentation, ReportedRun


class Reporter(ABC):
    name: ClassVar[str]
    """The name in the registry."""
    endings: ClassVar[tuple[str, ...]] = ()
    """The endings of its files (`-o FILE`), in lower case with the dot; empty if it is only printed."""
    can_stream: ClassVar[bool] = True
    """Whether its text can be printed; otherwise it is only written to files."""

    @abstractmethod
    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        """Write the runs, in pieces if possible: a run may have a hundred thousand trials."""

    def recognises(self, head: str) -> bool:
        """Whether a file that begins with this text is one of its reports, which a new one may replace."""
        return not head.strip()
