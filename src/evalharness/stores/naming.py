"""Naming: an id and a name for a new run that no other run of the store has."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from sqlite3 import Connection

from evalharness.domain.run_names import generate_run_id, generate_run_name
from evalharness.errors import StoreError

_TRIES = 1000


def free_names(connection: Connection, rng: Random) -> tuple[str, str]:
    """Inside the transaction that stores the run, so that nobody else takes them."""
    now = datetime.now(UTC)
    for _ in range(_TRIES):
        run_id, name = generate_run_id(now, rng), generate_run_name(rng)
        if not connection.execute("SELECT 1 FROM runs WHERE id = ? OR name = ?", (run_id, name)).fetchone():
            return run_id, name
    raise StoreError("no free run name was found", hint="remove old runs: eval-harness store prune")
