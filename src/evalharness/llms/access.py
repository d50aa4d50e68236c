"""What a language model or an embedder is opened with: `Class(model, access)`, the same for every provider.

The class names itself `provider/model`, starts and sends nothing before it is first asked, and leaves prices to
whoever opened it (`pool.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evalharness.domain.finding import Finding
from evalharness.domain.transcript import Usage
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.post import Posting
from evalharness.llms.post import ignore_lost as nobody_counts_lost


def ignore_usage(_usage: Usage) -> None:
    """For models whose tokens nobody pays for."""


def ignore_note(_note: Finding) -> None:
    """For models of which nobody makes a report."""


@dataclass(frozen=True, slots=True)
class Access:
    provider: str
    endpoint: Endpoint
    environment: Mapping[str, str] = field(repr=False)
    root: Path
    """The project's folder: paths in model names are relative to it."""
    posting: Posting = field(repr=False)
    """Shared by all that are open; not theirs to close."""
    used: Callable[[Usage], None] = field(default=ignore_usage, repr=False)
    """What no reply tells: the tokens of replies that nobody could read."""
    note: Callable[[Finding], None] = field(default=ignore_note, repr=False)
    """What whoever reads the report must know of the model; the same thing may be told many times."""
    lost: Callable[[int], None] = field(default=nobody_counts_lost, repr=False)
    """How many bytes were sent in vain: no reply came that tells anything."""

    def name_of(self, model: str) -> str:
        return f"{self.provider}/{model}"

    @contextmanager
    def charging(self, usage: Usage | None) -> Iterator[None]:
        """Around the reading of a reply: one that is thrown away (ValueError) was paid for like any other."""
        try:
            yield
        except ValueError:
            if usage is not None:
                self.used(usage)
            raise
