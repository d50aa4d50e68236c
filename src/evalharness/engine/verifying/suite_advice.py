"""What fits a suite: graders for its cases, a metric for its goal, a preset for its gate. Findings, no sentences."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.advice import Advice, Choice, Goal
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import PRESETS, Gate, Preset, metric_name, written_metric
from evalharness.domain.suite import Suite
from evalharness.engine.verifying.grader_fit import grader_findings

USUAL_K = 3
ORDER = ("warning", "info")
STRICT: tuple[Preset, ...] = ("production", "critical")


def advise(suite: Suite, goal: Goal | None = None, source: str = "") -> Advice:
    """`goal` wins over what the suite says."""
    by_finding: dict[Finding, list[str]] = {}
    fitting = 0
    for case in suite.cases:
        found = list(grader_findings(case, suite.graders_for(case)))
        fitting += not found
        for each in found:
            by_finding.setdefault(each, []).append(case.id)
    graders = [Choice(about="grader", finding=each, cases=tuple(ids)) for each, ids in by_finding.items()]
    graders.sort(key=lambda choice: (ORDER.index(choice.finding.severity), -len(choice.cases)))
    goal = goal or _goal_of(suite)
    k = _k_of(suite, goal)
    metric = "pass_at_1" if goal is None else f"pass_{'at' if goal == 'retries' else 'hat'}_{k}"
    preset, why = _preset_for(suite, goal)
    return Advice(
        suite_name=suite.name,
        source=source,
        cases=len(suite.cases),
        fitting=fitting,
        goal=goal,
        metric=metric,
        preset=preset,
        choices=(
            *graders,
            *(Choice(about="metric", finding=each) for each in _metric(suite, goal, metric, k)),
            *(Choice(about="gate", finding=each) for each in _gate(suite, preset, why)),
        ),
    )


def _goal_of(suite: Suite) -> Goal | None:
    """What its retries and its gate say, else what it guards."""
    if suite.config.retry_failed:
        return "retries"
    asked = _asked_metrics(suite.gate) if suite.gate else set()
    if any(name.startswith("pass_hat") for name in asked) or (suite.gate and suite.gate.preset in STRICT):
        return "reliable"
    if any(name.startswith("pass_at") and name != "pass_at_1" for name in asked):
        return "retries"
    return "reliable" if _is_regression(suite) or _is_critical(suite) else None


def _is_regression(suite: Suite) -> bool:
    return {case.eval_type or suite.eval_type for case in suite.cases} == {"regression"}


def _is_critical(suite: Suite) -> bool:
    return 0 < _critical(suite) == len(suite.cases)


def _critical(suite: Suite) -> int:
    return sum(case.criticality == "critical" for case in suite.cases)


def _asked_metrics(gate: Gate) -> set[str]:
    """Those that are written out; a preset asks for each kind."""
    groups = (gate.thresholds.default, *gate.thresholds.categories.values(), *gate.thresholds.criticality.values())
    return {metric_name(name) for minimum in groups for name in minimum}


def _k_of(suite: Suite, goal: Goal | None) -> int:
    config = suite.config
    if goal == "retries" and config.retry_failed:
        return 1 + (config.retries if config.retry_count is None else config.retry_count)
    if suite.k and max(suite.k) > 1:
        return max(suite.k)
    return suite.gate.k if suite.gate and suite.gate.k > 1 else USUAL_K


def _preset_for(suite: Suite, goal: Goal | None) -> tuple[Preset, str]:
    """And why: what about the suite decides it."""
    if _is_critical(suite):
        return "critical", "critical"
    if goal == "retries":
        return "staging", "retries"
    if goal == "reliable":
        return "production", "regression" if _is_regression(suite) else "reliable"
    return "development", "unknown"


def _metric(suite: Suite, goal: Goal | None, metric: str, k: int) -> Iterator[Finding]:
    if goal is None:
        yield finding("choice.goal_unknown", k=k)
    else:
        yield finding("choice.metric", goal=goal, metric=written_metric(metric), k=k)
    needed = k if goal is not None else 2
    if suite.trials < needed:
        yield finding("choice.more_trials", "warning", trials=suite.trials, needed=needed)
    asked = _asked_metrics(suite.gate) if suite.gate else set()
    others = {"retries": "pass_hat", "reliable": "pass_at"}
    other = sorted(name for name in asked if goal and name.startswith(others[goal]) and not name.endswith("_1"))
    if other and not any(name.startswith(metric.rpartition("_")[0]) and not name.endswith("_1") for name in asked):
        asks = [written_metric(name) for name in other]
        yield finding("choice.other_metric", "warning", asks=asks, metric=written_metric(metric))


def _asks_more_of_critical(gate: Gate | None) -> bool:
    return gate is not None and (gate.preset == "critical" or "critical" in gate.thresholds.criticality)


def _gate(suite: Suite, preset: Preset, why: str) -> Iterator[Finding]:
    first, at_k, hat_k = PRESETS[preset]
    values = {"pass_at_1": first, "pass_at_k": at_k, "pass_hat_k": hat_k}
    yield finding("choice.preset", preset=preset, why=why, k=suite.gate.k if suite.gate else USUAL_K, **values)
    order = list(PRESETS)
    critical = 0 if preset == "critical" else _critical(suite)
    if critical and not _asks_more_of_critical(suite.gate):
        strict = PRESETS["critical"][2]
        yield finding("choice.critical_cases", "warning", critical=critical, cases=len(suite.cases), pass_hat_k=strict)
    if suite.gate is None:
        yield finding("choice.no_gate", "warning", preset=preset)
    elif suite.gate.preset and order.index(suite.gate.preset) < order.index(preset):
        yield finding("choice.preset_lower", "warning", has=suite.gate.preset, preset=preset)
