"""Clear outputs: where reports will be written, nothing of an earlier run is left, and nothing is lost that is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evalharness.domain.suite import Suite
from evalharness.reports.report_files import check_baselines, remove_stale


def clear_outputs(
    outputs: Sequence[Path], suites: Iterable[tuple[Path, Suite | None]], baseline: str | None = None
) -> None:
    """Before anything is run; raises UsageError where an output may be what these suites are compared with.

    Each suite comes with the folder at which its paths start; `baseline` is that of a flag.
    """
    gates = [(root, suite.gate) for root, suite in suites if suite is not None and suite.gate is not None]
    baselines = [root / gate.regression.baseline for root, gate in gates if gate.regression is not None]
    baselines += [Path(baseline)] if baseline else []
    check_baselines(outputs, baselines)
    remove_stale(outputs)
