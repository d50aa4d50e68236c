"""Compare a run with results of recorded sessions in a file, by docker-agent's own rule.

`apply_gate.py` has the comparison with any other baseline.
"""

from __future__ import annotations

from pathlib import Path

from evalharness.contracts.store import Store
from evalharness.documents.session_baselines import compare_sessions
from evalharness.documents.session_results import Config, EvalRun
from evalharness.domain.gate import Gate
from evalharness.domain.run import Run
from evalharness.domain.session_comparison import SessionComparison
from evalharness.domain.suite import Suite
from evalharness.formats.results.session_runs import read_session_run
from evalharness.steps.collect_sessions import eval_run_of


def compare_with_sessions(gate: Gate, suite: Suite, store: Store, run: Run | None) -> SessionComparison | None:
    """None where the baseline is anything else, and for a report read from a file: it has no results to compare."""
    before = session_results(gate, suite)
    if before is None or gate.regression is None or run is None:
        return None
    return compare_sessions(before, eval_run_of(run, store.trials(run.id), Config()), gate.regression.tolerance)


def session_results(gate: Gate, suite: Suite) -> EvalRun | None:
    """The results that are the baseline; None where it is anything else."""
    path = Path(gate.regression.baseline) if gate.regression else Path()
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    return read_session_run(path, suite)
