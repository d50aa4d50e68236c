"""Choose the gate: what the suite's file asks for, and over it the command line; checked before a run begins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalharness.actions.compare_with_baseline import find_baseline
from evalharness.contracts.store import Store
from evalharness.domain.gate import NO_BASELINE, Gate, Preset, RegressionRule
from evalharness.domain.suite import Suite
from evalharness.engine.gating import check_trials


@dataclass(frozen=True, slots=True)
class GateWishes:
    """What flags ask for; None where they say nothing."""

    preset: Preset | None = None
    fail_under: float | None = None
    baseline: str | None = None
    tolerance: float | None = None
    strict_flips: bool = False
    inconclusive: Literal["pass", "fail"] | None = None


def with_gate(suite: Suite, wishes: GateWishes, root: Path) -> Suite:
    """Paths of the suite's file start at `root`; those of flags where the command was called.

    A suite without a gate gets one only where flags ask for a check.
    """
    gate = suite.gate or Gate()
    if gate.regression is not None:
        gate = _with_rule(gate, baseline=_placed(gate.regression.baseline, root))
    gate = _wished(gate, wishes)
    asked = gate if gate.compares else gate.model_copy(update={"regression": None, "strict_flips": False})
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


def _wished(gate: Gate, wishes: GateWishes) -> Gate:
    if wishes.preset is not None:
        gate = gate.with_preset(wishes.preset)
    if wishes.fail_under is not None:
        default = {**gate.thresholds.default, "pass_rate": wishes.fail_under}
        gate = gate.model_copy(update={"thresholds": gate.thresholds.model_copy(update={"default": default})})
    if wishes.strict_flips or wishes.tolerance is not None:
        gate = _comparing(gate)
    if wishes.strict_flips:
        gate = gate.model_copy(update={"strict_flips": True})
    if wishes.tolerance is not None:
        gate = _with_rule(gate, tolerance=wishes.tolerance)
    if wishes.baseline == NO_BASELINE and gate.compares:
        gate = _with_rule(gate, baseline=NO_BASELINE)
    elif wishes.baseline not in (None, NO_BASELINE):
        gate = _with_rule(gate, baseline=_placed(wishes.baseline, Path.cwd()))
    if wishes.inconclusive is not None:
        gate = gate.model_copy(update={"inconclusive": wishes.inconclusive})
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
