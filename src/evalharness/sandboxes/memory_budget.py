"""How much memory containers may use together: those that do not fit wait until others have ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evalharness.errors import SandboxUnavailable

SHARE = 0.8
"""Of the machine's memory. The rest is for the harness, the daemon and everybody else."""


class MemoryBudget:
    def __init__(self, machine_bytes: int) -> None:
        self.total_bytes = int(machine_bytes * SHARE)
        self.largest_bytes = 0
        """The largest reservation so far."""
        self.has_waited = False
        """Whether a container had to wait for another one to end."""
        self._used_bytes = 0
        self._changed = asyncio.Condition()

    def at_once(self, each_bytes: int) -> int:
        """How many containers of this size there can be; raises SandboxUnavailable if not even one."""
        self._check(each_bytes)
        return self.total_bytes // each_bytes

    def _check(self, wanted_bytes: int) -> None:
        if wanted_bytes > self.total_bytes:
            raise SandboxUnavailable(
                f"a container may use {_mib(wanted_bytes)}, but all of them together only {_mib(self.total_bytes)}: "
                f"{SHARE:.0%} of the memory of the machine",
                hint="lower its memory_bytes",
            )

    @asynccontextmanager
    async def reserved(self, wanted_bytes: int) -> AsyncIterator[None]:
        self._check(wanted_bytes)
        self.largest_bytes = max(self.largest_bytes, wanted_bytes)
        async with self._changed:
            self.has_waited = self.has_waited or self._used_bytes + wanted_bytes > self.total_bytes
            await self._changed.wait_for(lambda: self._used_bytes + wanted_bytes <= self.total_bytes)
            self._used_bytes += wanted_bytes
        try:
            yield
        finally:
            self._used_bytes -= wanted_bytes
            async with self._changed:
                self._changed.notify_all()


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / 1_048_576:,.0f} MiB"
