"""Captured files: cases of a run in a file of their own, which may lie anywhere in the project."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalharness.domain.case import Case, CaseFile
from evalharness.domain.finding import Finding
from evalharness.domain.run import Run
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import GatewayOptions, Suite
from evalharness.domain.trial import Trial
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.formats.native.folder import rebased_target
from evalharness.values.variables import escape
from evalharness.workspaces import confined

REDACTED = "[redacted"
YAML = ".yaml"


@dataclass(frozen=True, slots=True)
class CapturedFile:
    path: Path
    suite_name: str
    cases: tuple[str, ...]
    warnings: tuple[Finding, ...]
    has_target: bool = True
    """Whether the file says who is asked."""


def check_output(path: Path, what: str, ending: str, *, replace: bool) -> None:
    endings = (".yaml", ".yml") if ending == YAML else (ending,)
    if path.suffix.lower() not in endings:
        written = ending.removeprefix(".").upper()
        raise UsageError(f"-o {path}: {what} are written as {written}", hint=f"use a file name that ends in {ending}")
    if path.is_dir() or (path.exists() and not replace):
        raise UsageError(f"{path} exists", hint=Hint("hint.capture_over"))


def write_text(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"-o {path} cannot be written: {error.strerror or error}") from None


def check_cases(run: Run, names: Sequence[str]) -> None:
    if not names:
        raise UsageError(f"which cases of run {run.name}?", hint="name them after the run")


def named_case(run: Run, name: str) -> Case:
    cases = run.suite.cases
    found = next((case for case in cases if case.id == name), None) or next((c for c in cases if c.name == name), None)
    if found is None:
        raise UnknownName(f"case in run {run.name}", name, [case.id for case in cases])
    return found


def chosen_trial(trials: Sequence[Trial], run: Run, case: Case, wanted: int | None) -> Trial:
    """One that passed, unless the user names another: a wrong answer is no baseline by itself."""
    if wanted is not None:
        trials = [trial for trial in trials if trial.index == wanted - 1]
        if not trials:
            raise UsageError(f"case {case.id} has no finished trial {wanted} in run {run.name}")
    else:
        answered = [trial for trial in trials if has_answer(trial)]
        trials = [trial for trial in trials if trial.state == "passed"]
        if not trials:
            trial = answered[0].index + 1 if answered else None
            raise UsageError(
                f"case {case.id} did not pass in run {run.name}",
                hint=Hint("hint.capture_another", trial=trial),
            )
    if not has_answer(trials[0]):
        raise UsageError(f"trial {trials[0].index + 1} of case {case.id} has no answer to capture")
    return trials[0]


def has_answer(trial: Trial) -> bool:
    transcript = trial.last.transcript
    return transcript is not None and transcript.output is not None


def moved_case(case: Case, run: Run, output: Path) -> Case:
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


def suite_beside(run: Run, output: Path, kind: str, description: str) -> Suite:
    """Where the captured cases are asked again: on the run's target. Named after its file: stored by that name."""
    suite, stem = run.suite, output.stem
    return Suite(
        name=f"{stem}-{kind}" if suite.name in (stem, f"{stem}-{kind}") else stem,
        description=description,
        target=_moved_target(run.target, run, output) if run.target.function is None else None,
        prompts=() if run.target.prompt is None else (run.target.prompt,),
        targets={name: _moved_target(spec, run, output) for name, spec in suite.targets.items()},
        vars={name: value for name, value in run.lock.variables.items() if value is not None},
        secrets=suite.secrets,
        config=suite.config,
        gateway=suite.gateway or (GatewayOptions() if run.options.gateway else None),
        replay=suite.replay,
        templated=suite.templated,
    )
