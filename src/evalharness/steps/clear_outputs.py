"""Clear outputs: where reports will be written, nothing of an earlier run is left, and nothing is lost that is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evalharness.domain.suite import Suite
from evalharness.reports.report_files import check_baselines, remove_earlier


def clear_outputs(
    outputs: Sequence[Path], suites: Iterable[tuple[Path, Suite | None]], baseline: str | None = None
) -> None:
    """Before anything is run; raises UsageError where an output may be what these suites are compared with.

    Each suite comes with the folder at which its paths start; `baseline`, that of a flag, takes the place of theirs.
    """
    gates = [(root, suite.gate) for root, suite in suites if suite is not None and suite.gate is not None]
    baselines = [root / gate.regression.baseline for root, gate in gates if gate.regression is not None]
    check_baselines(outputs, [Path(baseline)] if baseline else baselines)
    remove_earlier(outputs)
