"""Show how runs are going, quickly and of any size: one, the newest ones, or those that were started together."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.job import Job
from evalharness.domain.stored import RunOverview
from evalharness.errors import UnknownName
from evalharness.steps.find_runs import find_overview


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run and the job whose process runs it, if a server started it."""

    run: RunOverview
    job: Job | None

    @property
    def is_under_way(self) -> bool:
        return self.job is not None and self.job.is_active


async def show_progress(context: Context, reference: str) -> RunProgress:
    """`reference` is an id, a name, `latest`, -N or a baseline."""
    return _with_job(find_overview(reference, context.store), context.store)


async def list_progress(
    context: Context, limit: int, suite_name: str | None = None, before: str = ""
) -> list[RunProgress]:
    """The newest runs first; `before` is the id of a run that they are older than."""
    store = context.store
    known = store.suite_names() if suite_name is not None else []
    if suite_name is not None and suite_name not in known:
        raise UnknownName("suite", suite_name, known)
    return [_with_job(found, store) for found in store.overview_page(limit, suite_name, before)]


async def show_matrix(context: Context, matrix_id: str) -> list[RunProgress]:
    """The runs that one command started together, in order. Raises UnknownName if there are none."""
    store = context.store
    ends = store.ends(matrix_id)
    if not ends:
        raise UnknownName("matrix", matrix_id, [])
    return [_with_job(store.overview(end.id), store) for end in ends]


def _with_job(found: RunOverview, store: Store) -> RunProgress:
    return RunProgress(found, store.jobs.find(found.matrix_id))
