"""Check a suite for regressions: its newest runs compared with a baseline, by the rule of its gate and of flags."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.case_result import earlier_cases
from evalharness.domain.comparison import (
    THRESHOLD,
    Regressions,
    Rule,
    TaskChange,
    task_changes,
)
from evalharness.domain.finding import Finding, finding
from evalharness.domain.report import worst
from evalharness.domain.stored import RunLink
from evalharness.engine.comparing.pairs import pair_cases
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.steps.apply_gate import whole
from evalharness.steps.compare_reports import (
    BROKE,
    Gated,
    compare_reports,
    judge_comparisons,
    with_gates,
    with_lost_cases,
)
from evalharness.steps.find_reports import FoundReport, find_report, newest_baseline
from evalharness.steps.find_runs import find_outline
from evalharness.steps.find_suites import suite_name_of


@dataclass(frozen=True, slots=True)
class RegressionRequest:
    """What is None is decided by the suite: by its gate, its newest baseline, its newest run.

    `rule` holds what flags say about the rule, by the names of its fields. A `threshold` that is given decides in place
    of the comparisons.
    """

    suite: str
    baseline: str | None = None
    baseline_variant: str | None = None
    run: str | None = None
    rule: dict[str, Any] = field(default_factory=dict)
    inconclusive: Literal["pass", "fail"] | None = None
    threshold: float | None = None


class NoRunSince(UsageError):
    """The baseline is the newest run that has finished."""


async def check_regressions(context: Context, request: RegressionRequest) -> Regressions:
    store, today = context.store, context.today
    suite_name = suite_name_of(request.suite, store)
    old, new, notes = _chosen(request, suite_name, store)
    gated = with_gates(new, store)
    refused = _refused(old, gated, today)
    comparable = [(each, gate) for each, gate in gated if each.report.metadata.run_id not in refused]
    comparisons = compare_reports(old, comparable, request.rule, store, today)
    threshold = THRESHOLD if request.threshold is None else request.threshold
    rule: Rule
    tasks = [change for each, gate in gated for change in _tasks(old, each, threshold, gate.quarantined_on(today))]
    if request.threshold is None:
        comparisons = [
            with_lost_cases(comparison, *run, request.rule, store)
            for comparison, run in zip(comparisons, comparable, strict=True)
        ]
        verdict, codes = judge_comparisons(comparisons, comparable, request.inconclusive)
        rule = "flips" if verdict == "FAILED" else "comparison"
    else:
        verdict, codes = ("REGRESSION", [1]) if any(task.degraded for task in tasks) else ("NO REGRESSION", [0])
        rule = "threshold"
    broken = {each.report.metadata.run_id for each in new if each.report.is_broken}
    bad = [*(BROKE for _ in broken), *(UsageError.exit_code for run_id in refused if run_id not in broken)]
    return Regressions(
        suite_name=suite_name,
        verdict="INVALID" if bad else verdict,
        exit_code=worst([*codes, *bad]),
        rule=rule,
        notes=(
            *notes,
            *(finding("comparison.refused", "error", message=why, hint=None) for why in refused.values()),
        ),
        comparisons=tuple(comparisons),
        threshold=threshold,
        tasks=tuple(tasks),
    )


def _refused(old: FoundReport, new: list[Gated], today: date) -> dict[str, str]:
    """By run, why it cannot be compared: it must not hide what became of the others.

    Raises UsageError where none can, unless a run broke: that is then what there is to say.
    """
    refused: dict[str, UsageError] = {}
    for each, gate in new:
        try:
            pair_cases(old.reports, each.report, gate.quarantined_on(today))
        except UsageError as error:
            refused[each.report.metadata.run_id] = error
    if len(refused) == len(new) and not any(each.report.is_broken for each, _ in new):
        raise next(iter(refused.values()))
    return {run_id: error.message for run_id, error in refused.items()}


def _tasks(old: FoundReport, new: FoundReport, threshold: float, left_out: Container[str]) -> Iterator[TaskChange]:
    now = [case for case in new.report.cases if case.case_id not in left_out]
    before = earlier_cases([report.cases for report in old.reports], now)
    return task_changes(before, now, threshold, new.report.metadata.variant)


def _chosen(
    request: RegressionRequest, suite_name: str, store: Store
) -> tuple[FoundReport, list[FoundReport], list[Finding]]:
    """The old report, the new ones, and what must be said about the choice."""
    if request.baseline_variant is not None:
        if request.baseline is not None:
            raise UsageError("compare with a baseline or with a variant, not with both")
        return _of_matrix(request.baseline_variant, request.run, suite_name, store)
    old = whole(find_report(request.baseline or _usual_baseline(suite_name, store), store, suite_name))
    if request.run is not None:
        new = find_report(request.run, store, suite_name).alone
        _check_new(new, old, suite_name)
        return old, [new], []
    links = _links_since(old, suite_name, store)
    together = _newest_together(links)
    if not together:
        raise NoRunSince(
            f"no run of {suite_name} has finished since {_baseline_label(old)}",
            hint=Hint("hint.which_run", suite=suite_name),
        )
    return old, _finished(together, store), _left_out(together)


def _links_since(old: FoundReport, suite_name: str, store: Store) -> list[RunLink]:
    """Since the newest run of the baseline."""
    return min((store.runs_since(suite_name, run_id) for run_id in old.run_ids), key=len)


def _usual_baseline(suite_name: str, store: Store) -> str:
    """The one that the gate of the suite's newest run names, else the one that was set last."""
    links = store.runs_since(suite_name)
    gate = store.gate_of(links[0].id) if links else None
    if gate is not None and gate.rule is not None and gate.rule.baseline:
        return gate.rule.baseline
    newest = newest_baseline(suite_name, store)
    if newest is None:
        raise UsageError(
            f"{suite_name} has no baseline",
            hint=Hint("hint.set_baseline"),
        )
    return newest.name


def _newest_together(links: list[RunLink]) -> list[RunLink]:
    """The newest finished run with all that were started together with it, in the order in which they were started."""
    newest = next((link for link in links if link.is_finished), None)
    return [link for link in reversed(links) if newest and link.matrix_id == newest.matrix_id]


def _of_matrix(
    variant: str, run: str | None, suite_name: str, store: Store
) -> tuple[FoundReport, list[FoundReport], list[Finding]]:
    links = store.runs_since(suite_name)
    matrix_id = find_outline(run, store).matrix_id if run else None
    together = [link for link in reversed(links) if link.matrix_id == matrix_id] if run else _newest_together(links)
    found = _finished(together, store)
    by_variant = {each.report.metadata.variant: each for each in found}
    if variant not in by_variant:
        raise UnknownName(f"variant in the newest runs of {suite_name}", variant, by_variant)
    others = [each for each in found if each is not by_variant[variant]]
    if not others:
        raise UsageError(f"there is no other variant to compare {variant} with", hint=Hint("hint.several_targets"))
    return whole(by_variant[variant]), others, _left_out(together)


def _finished(links: list[RunLink], store: Store) -> list[FoundReport]:
    return [find_report(link.id, store) for link in links if link.is_finished]


def _left_out(links: list[RunLink]) -> list[Finding]:
    return [finding("regressions.unfinished_run", "warning", run=link.name) for link in links if not link.is_finished]


def _check_new(new: FoundReport, old: FoundReport, suite_name: str) -> None:
    about = new.report.metadata
    if about.suite_name != suite_name:
        raise UsageError(f"{about.run_name} is a run of {about.suite_name}, not of {suite_name}")
    if about.run_id and about.run_id in old.run_ids:
        itself = "a run of the baseline" if old.others else "the baseline itself"
        raise UsageError(f"{about.run_name} is {itself}", hint=Hint("hint.later_run"))
    if new.run is not None and new.run.finished_at is None:
        raise UsageError(f"{about.run_name} is not finished", hint=Hint("hint.resume", run=about.run_name))


def _baseline_label(old: FoundReport) -> str:
    name = ", ".join(report.metadata.run_name for report in old.reports)
    return f"its {old.source} ({name})" if old.source.startswith("baseline ") else name
