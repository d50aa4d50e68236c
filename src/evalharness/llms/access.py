"""What a language model or an embedder is created with: `Class(model, access)`, the same for every provider.

The class sets its name to `provider/model`, and starts and sends nothing before the first request. Prices are handled
by `pool.py`, which creates it.
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
    """For models that are free."""


def ignore_note(_note: Finding) -> None:
    """For models whose notes are not reported."""


@dataclass(frozen=True, slots=True)
class Access:
    provider: str
    endpoint: Endpoint
    environment: Mapping[str, str] = field(repr=False)
    root: Path
    """The project's folder; paths in model names are relative to it."""
    posting: Posting = field(repr=False)
    """Shared by all open models; they must not close it."""
    used: Callable[[Usage], None] = field(default=ignore_usage, repr=False)
    """Called with the tokens of replies that could not be read."""
    note: Callable[[Finding], None] = field(default=ignore_note, repr=False)
    """Called with findings about the model for the report; the same finding may be passed many times."""
    lost: Callable[[int], None] = field(default=nobody_counts_lost, repr=False)
    """Called with the number of bytes sent when no readable reply came back."""

    def name_of(self, model: str) -> str:
        return f"{self.provider}/{model}"

    @contextmanager
    def charging(self, usage: Usage | None) -> Iterator[None]:
        """Wrap the reading of a reply: a reply that is thrown away (ValueError) was still paid for."""
        try:
            yield
        except ValueError:
            if usage is not None:
                self.used(usage)
            raise
