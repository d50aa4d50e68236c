"""The context of every action: where results are kept, what the environment says, and what time it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime

from evalharness.contracts.store import Store
from evalharness.redaction import Redactor
from evalharness.settings import Settings, now, timestamp


@dataclass(frozen=True, slots=True)
class Context:
    store: Store
    settings: Settings
    clock: Callable[[], datetime] = now

    @property
    def today(self) -> date:
        return self.clock().date()

    def timestamp(self) -> str:
        """Now, as the store writes times."""
        return timestamp(self.clock())

    def redacting(self, redactor: Redactor) -> Context:
        """The same, with a view of the store for runs whose secrets are these."""
        return replace(self, store=self.store.redacting(redactor))

    def with_environment(self, values: Mapping[str, str]) -> Context:
        """The same with variables of one call: these win."""
        return replace(self, settings=self.settings.with_environment(values))
