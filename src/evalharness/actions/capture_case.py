"""Capture a case: the answer it passed with becomes the baseline of a regression eval, in a file of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.domain.case import Case, CaseFile
from evalharness.domain.finding import Finding, finding
from evalharness.domain.run import Run
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import GRADED, Trial
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.formats.eval_harness.writer import Captured, CaptureNote, dump_regressions
from evalharness.formats.native.folder import rebased_target
from evalharness.steps.find_runs import find_run
from evalharness.values.json_value import Json
from evalharness.values.variables import escape
from evalharness.workspaces import confined

REDACTED = "[redacted"


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """`trial` counts from 1; without it, the first trial that passed."""

    run: str
    cases: Sequence[str]
    output: Path
    trial: int | None = None
    version: str = ""
    comparison: str = ""
    criticality: str = ""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CapturedFile:
    path: Path
    suite_name: str
    cases: tuple[str, ...]
    warnings: tuple[Finding, ...]


async def capture_cases(context: Context, request: CaptureRequest) -> CapturedFile:
    store = context.store
    _check_output(request.output, replace=request.replace)
    run = find_run(request.run, store)
    chosen = [_case(run, name) for name in dict.fromkeys(request.cases)]
    captured: list[Captured] = []
    warnings: list[Finding] = []
    for case in chosen:
        trials = list(store.trials(run.id, case.id))
        trial = _trial(trials, run, case, request.trial)
        assert trial.last.transcript is not None
        output = trial.last.transcript.output
        if request.comparison == "numeric" and isinstance(output, str):
            raise UsageError(
                f"{case.id} answered with text, which has no numbers to compare", hint=Hint("hint.compare_exact")
            )
        warnings += [*_useless(run, case, trial), *_doubts(case, trials, output)]
        captured.append(Captured(_moved_case(case, run, request.output), output, run.finished_at or run.created_at))
    note = CaptureNote(
        version=request.version or run.suite.version or run.name,
        environment=run.environment(),
        comparison=request.comparison,
        criticality=request.criticality,
    )
    suite = _suite(run, request.output)
    text = dump_regressions(suite, captured, note)
    try:
        request.output.parent.mkdir(parents=True, exist_ok=True)
        request.output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"-o {request.output} cannot be written: {error.strerror or error}") from None
    return CapturedFile(request.output, suite.name, tuple(case.id for case in chosen), tuple(warnings))


def _check_output(path: Path, *, replace: bool) -> None:
    if path.suffix.lower() not in (".yaml", ".yml"):
        raise UsageError(f"-o {path}: regression evals are written as YAML", hint="use a file name that ends in .yaml")
    if path.is_dir() or (path.exists() and not replace):
        raise UsageError(f"{path} exists", hint=Hint("hint.capture_over"))


def _case(run: Run, name: str) -> Case:
    cases = run.suite.cases
    found = next((case for case in cases if case.id == name), None) or next((c for c in cases if c.name == name), None)
    if found is None:
        raise UnknownName(f"case in run {run.name}", name, [case.id for case in cases])
    return found


def _useless(run: Run, case: Case, trial: Trial) -> Iterator[Finding]:
    """Why an eval that passes from now on says nothing good."""
    if trial.state != "passed":
        yield finding("capture.not_passed", "warning", case=case.id, trial=trial.index + 1, state=trial.state)
    if (target := run.target_of(case)).is_built_in:
        yield finding("capture.built_in_target", "warning", case=case.id, target=target.kind)


def _doubts(case: Case, trials: Sequence[Trial], output: Json) -> Iterator[Finding]:
    """Why a later answer may differ from this one although nothing got worse."""
    if REDACTED in json.dumps(output):
        yield finding("capture.redacted", "warning", case=case.id, mark=REDACTED)
    judged = [trial for trial in trials if trial.state in GRADED]
    passed = sum(trial.state == "passed" for trial in judged)
    if 0 < passed < len(judged):
        yield finding("capture.flaky", "warning", case=case.id, passed=passed, trials=len(judged))
    answers = {json.dumps(t.last.transcript.output) for t in judged if t.state == "passed" and t.last.transcript}
    if len(answers) > 1:
        yield finding("capture.several_answers", "warning", case=case.id, passed=passed, answers=len(answers))


def _trial(trials: Sequence[Trial], run: Run, case: Case, wanted: int | None) -> Trial:
    """One that passed, unless the user names another: a wrong answer is no baseline by itself."""
    if wanted is not None:
        trials = [trial for trial in trials if trial.index == wanted - 1]
        if not trials:
            raise UsageError(f"case {case.id} has no finished trial {wanted} in run {run.name}")
    else:
        answered = [trial for trial in trials if _has_answer(trial)]
        trials = [trial for trial in trials if trial.state == "passed"]
        if not trials:
            trial = answered[0].index + 1 if answered else None
            raise UsageError(
                f"case {case.id} did not pass in run {run.name}",
                hint=Hint("hint.capture_another", trial=trial),
            )
    if not _has_answer(trials[0]):
        raise UsageError(f"trial {trials[0].index + 1} of case {case.id} has no answer to capture")
    return trials[0]


def _has_answer(trial: Trial) -> bool:
    transcript = trial.last.transcript
    return transcript is not None and transcript.output is not None


def _moved_case(case: Case, run: Run, output: Path) -> Case:
    """Files beside the suite are written into the new file, which may lie elsewhere; nothing in them is a variable."""
    files = {}
    for name, file in case.files.items():
        if file.path is None:
            files[name] = file
            continue
        try:
            text = confined(Path(run.root), file.path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"case {case.id}: the file {file.path} cannot be captured as text: {error}") from None
        files[name] = CaseFile(text=escape(text) if run.suite.templated else text)
    own = case.target
    if own is not None and run.suite.named_target(own) is own:
        own = _moved_target(own, run, output)
    return case.model_copy(update={"files": files, "target": own})


def _moved_target(target: TargetSpec, run: Run, output: Path) -> TargetSpec:
    """Found from the new file's folder: both may lie elsewhere on another machine, but not apart."""
    found_in = Path(run.root, target.root).resolve()
    prefix = Path(os.path.relpath(found_in, output.absolute().parent.resolve())).as_posix()
    return rebased_target(target.model_copy(update={"root": "", "prompt": None}), prefix)


def _suite(run: Run, output: Path) -> Suite:
    """Where the captured cases are asked again: on the run's target. Named after its file: stored by that name."""
    suite, stem = run.suite, output.stem
    return Suite(
        name=f"{stem}-regression" if suite.name in (stem, f"{stem}-regression") else stem,
        description=f"Answers of run {run.name} that must stay as they are.",
        target=_moved_target(run.target, run, output) if run.target.function is None else None,
        prompts=() if run.target.prompt is None else (run.target.prompt,),
        targets={name: _moved_target(spec, run, output) for name, spec in suite.targets.items()},
        vars={name: value for name, value in run.lock.variables.items() if value is not None},
        secrets=suite.secrets,
        config=suite.config,
        templated=suite.templated,
    )
