"""The reporter: turns finished runs into a text, in a file or on a stream.

A reporter inherits from `Reporter` and adds its `name` and `write`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import IO, ClassVar

from evalharness.domain.reported_run import Presentation, ReportedRun


class Reporter(ABC):
    name: ClassVar[str]
    """As it is registered."""
    endings: ClassVar[tuple[str, ...]] = ()
    """Of the files that it writes (`-o FILE`), in lower case and with the dot; none for one that is only printed."""
    can_stream: ClassVar[bool] = True
    """Whether its text can be printed; one that cannot is written to files only."""

    @abstractmethod
    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        """Piece by piece where it can: a run may have a hundred thousand trials."""

    def recognises(self, head: str) -> bool:
        """Whether a file that begins with this text is one of its reports, so that a new one may replace it."""
        return not head.strip()
