"""The context of every action: the store, the settings, and the current time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime

from evalharness.contracts.servers import Servers
from evalharness.contracts.store import Store
from evalharness.redaction import Redactor, errors_redacted
from evalharness.settings import BootTime, Settings, boot_time, now, timestamp
from evalharness.user_modules import UserModules


@dataclass(frozen=True, slots=True)
class Context:
    store: Store
    settings: Settings
    clock: Callable[[], datetime] = now
    boot_clock: Callable[[], BootTime] = boot_time
    """For leases: a clock that somebody resets changes none of them."""
    modules: UserModules | None = None
    """What the runs of one call import users' functions into, where there are any."""
    servers: Servers | None = None
    """What the targets of these runs have started."""

    @property
    def today(self) -> date:
        return self.clock().date()

    def timestamp(self) -> str:
        """The current time in the format of the store."""
        return timestamp(self.clock())

    @contextmanager
    def for_runs(self, redactor: Redactor) -> Iterator[Context]:
        """The context for the runs of one call: a view of the store that hides their secrets, own modules and servers.

        Exceptions raised inside are redacted too.
        """
        with errors_redacted(redactor), UserModules() as modules:
            yield replace(self, store=self.store.redacting(redactor), modules=modules, servers=Servers())

    def with_environment(self, values: Mapping[str, str]) -> Context:
        """The context with these variables of one call, which take precedence."""
        return replace(self, settings=self.settings.with_environment(values))
