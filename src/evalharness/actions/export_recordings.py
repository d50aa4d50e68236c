"""Export recordings: what recorded runs asked and were answered, as files for a repository."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from evalharness import registry
from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.exchange import Exchange
from evalharness.domain.run import Run
from evalharness.errors import Hint, UsageError
from evalharness.steps.find_recordings import StoredRecording
from evalharness.steps.find_runs import find_run

Layout = Literal["cases", "nodes"]


async def export_recordings(context: Context, references: Sequence[str], folder: Path, layout: Layout = "cases") -> int:
    """How many files were written. Raises UsageError for a run that recorded nothing."""
    store = context.store
    runs = [find_run(reference, store) for reference in references]
    for run in runs:
        if run.options.mode not in ("record", "auto"):
            raise UsageError(f"run {run.name} was not recorded", hint=Hint("hint.export_recorded"))
    redact = store.redactor.redact_value
    written = 0
    for run in runs:
        notes = StoredRecording(run, store).notes
        about = registry.load("exchanges", "run")(
            suite=run.suite.name,
            variant=run.variant,
            run_id=run.id,
            run=run.name,
            mode=run.options.mode,
            secret=run.options.recording_secret,
            seed=run.lock.seed,
            created_at=run.created_at,
            notes=notes,
        )
        write = registry.load("exchanges", f"write_{layout}")
        written += sum(1 for _ in write(folder, about, _trials(run, store), redact))
    return written


def _trials(run: Run, store: Store) -> Iterator[tuple[str, int, Sequence[Exchange]]]:
    """In the order of the suite."""
    for case in run.suite.cases:
        for index in range(run.lock.trials):
            if exchanges := store.exchanges(run.id, [case.id], index).get(case.id):
                yield case.id, index, exchanges
