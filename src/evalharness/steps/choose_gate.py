"""Choose the gate: what the suite's file asks for, and over it the command line; checked before a run begins."""

from __future__ import annotations

from pathlib import Path

from evalharness.contracts.store import Store
from evalharness.domain.gate import NO_BASELINE, Gate, GateOverrides, Presets, RegressionRule
from evalharness.domain.suite import Suite
from evalharness.engine.gating.gate_checks import check_trials
from evalharness.steps.apply_gate import find_baseline


def with_gate(suite: Suite, overrides: GateOverrides, root: Path) -> Suite:
    """Paths of the suite's file start at `root`; those of flags where the command was called.

    A suite without a gate gets one only where flags ask for a check.
    """
    gate = suite.gate or Gate()
    if gate.regression is not None:
        gate = _with_rule(gate, baseline=_placed(gate.regression.baseline, root))
    gate = _overridden(gate, overrides, suite.presets)
    asked = gate if gate.compares else gate.model_copy(update={"regression": None, "strict_flips": "auto"})
    if suite.gate is None and asked == Gate(inconclusive=gate.inconclusive):
        return suite
    return suite.model_copy(update={"gate": gate})


def check_gate(suite: Suite, store: Store, thresholds_from: str = "") -> None:
    """Raises UsageError where the gate could not be judged, whatever the run brings: nothing is run in vain."""
    if suite.gate is None:
        return
    check_trials(suite.gate, suite, thresholds_from)
    if suite.gate.compares:
        find_baseline(suite.gate, store, suite.name)


def _overridden(gate: Gate, overrides: GateOverrides, presets: Presets) -> Gate:
    if overrides.preset is not None:
        gate = gate.with_preset(overrides.preset, presets)
    if overrides.fail_under is not None:
        default = {**gate.thresholds.default, "pass_rate": overrides.fail_under}
        gate = gate.model_copy(update={"thresholds": gate.thresholds.model_copy(update={"default": default})})
    if overrides.strict_flips or overrides.tolerance is not None:
        gate = _comparing(gate)
    if overrides.strict_flips is not None:
        gate = gate.model_copy(update={"strict_flips": overrides.strict_flips})
    if overrides.tolerance is not None:
        gate = _with_rule(gate, tolerance=overrides.tolerance)
    if overrides.baseline == NO_BASELINE and gate.compares:
        gate = _with_rule(gate, baseline=NO_BASELINE)
    elif overrides.baseline not in (None, NO_BASELINE):
        gate = _with_rule(gate, baseline=_placed(overrides.baseline, Path.cwd()))
    if overrides.inconclusive is not None:
        gate = gate.model_copy(update={"inconclusive": overrides.inconclusive})
    return gate


def _comparing(gate: Gate) -> Gate:
    """Whoever asks for a comparison takes back that there should be none."""
    return _with_rule(gate, baseline="") if gate.regression is not None and not gate.compares else gate


def _with_rule(gate: Gate, **changes: str | float) -> Gate:
    rule = gate.regression or RegressionRule()
    return gate.model_copy(update={"regression": rule.model_copy(update=changes)})


def _placed(baseline: str, folder: Path) -> str:
    """A file is named from wherever the run is resumed; everything else is no path."""
    path = folder / baseline
    return str(path.resolve()) if baseline and path.suffix and path.is_file() else baseline
