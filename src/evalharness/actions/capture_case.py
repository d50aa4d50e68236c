"""Capture a case: the answer it passed with becomes the baseline of a regression eval, in a file of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.domain.case import Case, CaseFile
from evalharness.domain.record import Json
from evalharness.domain.run import Run
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import GRADED, Trial
from evalharness.domain.variables import escape
from evalharness.errors import UnknownName, UsageError
from evalharness.formats.capturing import Captured, CaptureNote, dump_regressions
from evalharness.formats.evals.rebasing import rebased_target
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
    warnings: tuple[str, ...]


async def capture_cases(context: Context, request: CaptureRequest) -> CapturedFile:
    store = context.store
    _check_output(request.output, replace=request.replace)
    run = store.find_run(request.run)
    chosen = [_case(run, name) for name in dict.fromkeys(request.cases)]
    captured, warnings = [], []
    for case in chosen:
        trials = list(store.trials(run.id, case.id))
        trial = _trial(trials, run, case, request.trial)
        assert trial.last.transcript is not None
        output = trial.last.transcript.output
        if request.comparison == "numeric" and isinstance(output, str):
            raise UsageError(f"{case.id} answered with a text, which has no numbers to compare", hint="--compare exact")
        warnings += [f"{case.id}: {doubt}" for doubt in (*_useless(run, case, trial), *_doubts(trials, output))]
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
        raise UsageError(f"-o {path}: regression evals are written as YAML", hint="let the file's name end in .yaml")
    if path.is_dir() or (path.exists() and not replace):
        raise UsageError(f"{path} exists", hint="choose another name, or --force to replace it")


def _case(run: Run, name: str) -> Case:
    cases = run.suite.cases
    found = next((case for case in cases if case.id == name), None) or next((c for c in cases if c.name == name), None)
    if found is None:
        raise UnknownName(f"case in run {run.name}", name, [case.id for case in cases])
    return found


def _useless(run: Run, case: Case, trial: Trial) -> Iterator[str]:
    """Why an eval that passes from now on says nothing good."""
    if trial.state != "passed":
        yield f"trial {trial.index + 1} did not pass ({trial.state}), and from now on its answer is the one that passes"
    if (target := run.target_of(case)).is_built_in:
        told = f"the built-in target '{target.kind}' answered and will answer so again: this eval always passes"
        yield f"{told}; capture a run of your own target, or name that in the file"


def _doubts(trials: Sequence[Trial], output: Json) -> Iterator[str]:
    """Why a later answer may differ from this one although nothing got worse."""
    if REDACTED in json.dumps(output):
        told = "a secret was taken out of the answer, so no later answer can equal it and this eval will fail"
        yield f"{told}: write {{{{any_string}}}} in the place of {REDACTED}…] in the file, or leave that field out"
    judged = [trial for trial in trials if trial.state in GRADED]
    passed = sum(trial.state == "passed" for trial in judged)
    if 0 < passed < len(judged):
        yield f"it passed in {passed} of {len(judged)} trials, so it is flaky and may fail later by chance"
    answers = {json.dumps(t.last.transcript.output) for t in judged if t.state == "passed" and t.last.transcript}
    if len(answers) > 1:
        told = f"its {passed} passed trials gave {len(answers)} different answers, and one of them was captured"
        yield f"{told}: loosen the comparison where they may differ"


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
            by_number = f", or name a trial: --trial {answered[0].index + 1}" if answered else ""
            raise UsageError(
                f"case {case.id} did not pass in run {run.name}",
                hint=f"capture it from a run in which it passed{by_number}",
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
    return rebased_target(target.model_copy(update={"root": ""}), prefix)


def _suite(run: Run, output: Path) -> Suite:
    """Where the captured cases are asked again: on the run's target. Named after its file: stored by that name."""
    suite, stem = run.suite, output.stem
    return Suite(
        name=f"{stem}-regression" if suite.name in (stem, f"{stem}-regression") else stem,
        description=f"Answers of run {run.name} that must stay as they are.",
        target=_moved_target(run.target, run, output) if run.target.function is None else None,
        targets={name: _moved_target(spec, run, output) for name, spec in suite.targets.items()},
        vars={name: value for name, value in run.lock.variables.items() if value is not None},
        secrets=suite.secrets,
        config=suite.config,
        templated=suite.templated,
    )
