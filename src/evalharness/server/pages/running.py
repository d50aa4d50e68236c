"""Which runs are under way, as far as this server knows."""

from __future__ import annotations

from evalharness.server.context import ServerContext


def running_ids(server: ServerContext) -> frozenset[str]:
    return frozenset(job.run_id for job in server.jobs.active())
