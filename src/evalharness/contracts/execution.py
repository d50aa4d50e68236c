"""How runs are executed: who watches, what may stop them, and where their trials are done."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalharness.contracts.executor import Executor
from evalharness.contracts.watcher import NoWatcher, StopSignal, Watcher


@dataclass(frozen=True, slots=True)
class Execution:
    watcher: Watcher = field(default_factory=NoWatcher)
    stop: StopSignal = field(default_factory=StopSignal)
    executor: Executor | None = None
    """None: in this process."""
