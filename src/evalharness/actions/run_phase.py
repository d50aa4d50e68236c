"""Run a phase: its evals in order, each by what the phase file asks of it, after the tests that it waits for.

An eval that fails and blocks ends the phase: those behind it are not run. Steps of other types are never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import Gate, GateOverrides
from evalharness.domain.phase import DEFAULT_REPORT, PHASE_ID, Phase, PhaseEval, PhaseStep, is_phase_id, slug
from evalharness.domain.phase_result import JunitResults, PhaseResult, StepResult
from evalharness.domain.report import worst
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.specification import WrittenTarget
from evalharness.domain.suite import LoadedFile, Selection, Suite
from evalharness.engine.gating.threshold_checks import needed_trials
from evalharness.engine.planning.planned_cases import select_cases
from evalharness.errors import UsageError
from evalharness.formats.eval_harness.phases import load_phase
from evalharness.formats.results.junit_tests import read_junit
from evalharness.redaction import Redactor
from evalharness.reports.phase_files import check_inside, check_phase_report
from evalharness.stats.pass_k import printed_k
from evalharness.steps.apply_gate import with_gate
from evalharness.steps.collect_variables import redactor_for
from evalharness.steps.count_changes import count_changes
from evalharness.steps.find_suites import find_suites, without_errors

ARCHIVE = "archive"
_OF_K = re.compile(r"pass_(?:at|hat)_(\d+|k)")


@dataclass(frozen=True, slots=True)
class PhaseRequest:
    file: Path
    phase_id: str = ""
    since: str = ""
    """A revision of git: what was changed after it is counted."""
    tests: tuple[Path, ...] = ()
    """JUnit files."""
    outputs: tuple[Path, ...] = ()
    """Where the report is written, in place of what the file says."""
    targets: tuple[WrittenTarget, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)


@dataclass(frozen=True, slots=True)
class FinishedPhase:
    """The result, and what it takes to report it: where reports go, and who knows the secrets of all suites."""

    result: PhaseResult
    root: Path
    reports: tuple[Path, ...]
    archive: Path
    """The folder of results that are kept, where the file asks for that."""
    redactor: Redactor


async def run_phase(context: Context, request: PhaseRequest, execution: Execution | None = None) -> FinishedPhase:
    """Whatever can be wrong is found before the first eval is run."""
    execution = execution or Execution()
    [loaded] = without_errors([load_phase(request.file)])
    phase = loaded.phase
    assert phase is not None, "a file without errors has one"
    root = request.file.resolve().parent
    tests = _read_tests(request.tests)
    files = [_suites_of(each, root, context) for each in phase.evals]
    named = next(file.suite.name for found in files for file in found if file.suite is not None)
    phase_id = _phase_id(request, phase, named)
    reports = _report_paths(phase, phase_id, root)
    for path in request.outputs or reports:
        check_phase_report(path, None if request.outputs else root)
    archive = reports[0].parent / ARCHIVE
    check_inside(archive / phase_id, root)
    changes = await count_changes(request.since, root, context.settings.environment)
    suites = [file.suite for found in files for file in found]
    redactor = redactor_for(suites, {**request.variables, **request.env}, context.settings)
    execution.watcher.begun([loaded], redactor)
    running = _Running(context, request, execution, tests)
    steps = await running.steps(phase, files)
    result = PhaseResult(phase, phase_id, phase.name or named, tuple(steps), tests, changes)
    return FinishedPhase(result, root, request.outputs or reports, archive, redactor)


def _read_tests(paths: Sequence[Path]) -> JunitResults | None:
    if not paths:
        return None
    return JunitResults(suites=tuple(suite for path in paths for suite in read_junit(path).suites))


def _suites_of(wanted: PhaseEval, root: Path, context: Context) -> list[LoadedFile]:
    """Where a path from the phase file leads, else a registered or ready-made suite; the filters must keep a case."""
    place = root / wanted.suite
    files = find_suites(context.store, [_from_here(place) if place.exists() else wanted.suite])
    for file in files:
        if file.suite is not None:
            select_cases(file.suite, _selection(wanted), file.path.name)
    return files


def _from_here(path: Path) -> str:
    """Shorter where it is below the current folder."""
    resolved, here = path.resolve(), Path.cwd()
    return str(resolved.relative_to(here) if resolved.is_relative_to(here) else resolved)


def _selection(wanted: PhaseEval) -> Selection:
    return Selection(categories=wanted.filters.categories, tags=wanted.filters.tags)


def _phase_id(request: PhaseRequest, phase: Phase, suite: str) -> str:
    if request.phase_id and not is_phase_id(request.phase_id):
        raise UsageError(
            f"'{request.phase_id}' cannot be the id of a phase: it is part of a file's name",
            hint="use letters, digits, '-', '_' and '.'",
        )
    return request.phase_id or slug(phase.name or suite)


def _report_paths(phase: Phase, phase_id: str, root: Path) -> tuple[Path, ...]:
    written = dict.fromkeys(each.on_failure.report_path for each in phase.evals if each.on_failure.report_path)
    return tuple(root / path.replace(PHASE_ID, phase_id) for path in written or (DEFAULT_REPORT,))


class _Running:
    def __init__(
        self, context: Context, request: PhaseRequest, execution: Execution, tests: JunitResults | None
    ) -> None:
        self._context, self._request, self._execution, self._tests = context, request, execution, tests

    async def steps(self, phase: Phase, files: Sequence[list[LoadedFile]]) -> list[StepResult]:
        suites, results = iter(files), list[StepResult]()
        stopped_by: PhaseStep | None = None
        for step in phase.steps:
            if step.phase_eval is None:
                results.append(StepResult(step))
                continue
            result = await self._step(step, step.phase_eval, next(suites), stopped_by)
            results.append(result)
            if result.phase_code:
                stopped_by = stopped_by or step
        return results

    async def _step(
        self, step: PhaseStep, wanted: PhaseEval, files: list[LoadedFile], stopped_by: PhaseStep | None
    ) -> StepResult:
        if stopped_by is not None:
            return StepResult(step, why_not_run=finding("phase.stopped", step=stopped_by.title), files=tuple(files))
        if wanted.when == "after_tests_pass" and (why := _not_green(self._tests)) is not None:
            return StepResult(step, exit_code=1, why_not_run=why, files=tuple(files))
        runs = [run for file in files if file.suite is not None for run in await self._run(wanted, file, file.suite)]
        codes = [run.report.exit_code for run in runs if run.report is not None]
        return StepResult(step, tuple(runs), worst(codes), files=tuple(files))

    async def _run(self, wanted: PhaseEval, file: LoadedFile, suite: Suite) -> list[Run]:
        asked = self._request
        gate = GateOverrides(thresholds=wanted.minimum or None)
        chosen = select_cases(suite, _selection(wanted), file.path.name)
        gated = with_gate(chosen, gate, file.root, self._context.store)
        largest = _largest_k(wanted, gated)
        trials = max(suite.trials, *largest.values(), 1)
        k = {*(suite.k or printed_k(trials)), *largest.values()}
        request = RunRequest(
            suites=(file,),
            targets=asked.targets,
            trials=trials if trials > suite.trials else None,
            k=tuple(sorted(k)) if largest else (),
            selection=_selection(wanted),
            variables=asked.variables,
            env=asked.env,
            options=asked.options,
            gate=gate,
            notes=tuple(_raised(suite.trials, trials, largest)),
        )
        return await run_suites(self._context, request, self._execution)


def _not_green(tests: JunitResults | None) -> Finding | None:
    """Why evals that wait for tests to pass are not run."""
    if tests is None:
        return finding("phase.no_tests_given", "error")
    if tests.is_green:
        return None
    if tests.failed:
        return finding("phase.tests_failed", "error", failed=tests.failed, total=tests.total)
    return finding("phase.no_test", "error")


def _largest_k(wanted: PhaseEval, gated: Suite) -> dict[str, int]:
    """By metric: the k of everything that the phase shows or that the gate asks for."""
    gate = gated.gate or Gate()
    shown = {metric: found[1] for metric in wanted.metrics if (found := _OF_K.fullmatch(metric))}
    return {metric: gate.k if k == "k" else int(k) for metric, k in shown.items()} | needed_trials(gate, gated)


def _raised(before: int, trials: int, largest: dict[str, int]) -> Iterator[Finding]:
    if trials > before:
        metric = next(name for name, k in largest.items() if k == trials)
        yield finding("phase.trials_raised", fewer=before, trials=trials, metric=metric)
