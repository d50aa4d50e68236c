"""Phase files: the steps of a phase, and the evals that a trigger starts. Both may stand in one file.

A phase is no suite: its evals name suites, which are looked for when it is run. Keys beside the evals belong to
whoever else reads the file; a misspelt key of an eval is an error, because it could be a threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalharness.domain.phase import Phase, PhaseEval, PhaseStep
from evalharness.domain.problem import FieldPath, Problem, Severity
from evalharness.domain.suite import LoadedFile
from evalharness.errors import InvalidFile, closest
from evalharness.formats.parts import kind_of
from evalharness.formats.problems import Findings
from evalharness.syntax.source import ENDINGS, Source, read_source

FORMAT = "phase"
PHASE, TRIGGER, EVAL = "phase", "eval_trigger", "eval"
STEP_KEYS = ("type", "name", "description", "config")
NEEDED = "is not a phase: a phase file needs phase with steps, or eval_trigger"


def looks_like_phase(data: Any) -> bool:
    """`phase` may also be a word in files of others."""
    return isinstance(data, Mapping) and (TRIGGER in data or isinstance(data.get(PHASE), Mapping))


def load_phase(path: Path, missing: Severity = "error") -> LoadedFile:
    """With its phase, unless something is wrong with it. `missing` is how bad it is that a suite does not exist."""
    try:
        source = read_source(path)
    except InvalidFile as error:
        return LoadedFile(path, None, tuple(error.problems), FORMAT)
    return _phase_of(source, missing)


def recognised_phase(path: Path) -> LoadedFile | None:
    """The same for a file that may be something else, then None."""
    try:
        source = read_source(path)
    except InvalidFile:
        return None
    return _phase_of(source, "warning") if looks_like_phase(source.data) else None


def _phase_of(source: Source, missing: Severity) -> LoadedFile:
    findings = Findings(source)
    if not looks_like_phase(source.data):
        return LoadedFile(source.path, None, (Problem(str(source.path), 0, "", NEEDED),), FORMAT)
    findings.unknown_keys((), source.data, (PHASE, TRIGGER, "schema_version"), "warning")
    name, steps = "", list[PhaseStep]()
    if PHASE in source.data:
        name = _name(findings, source.data[PHASE])
        steps += _steps(findings, source.data[PHASE], missing)
    if TRIGGER in source.data and (found := _eval(findings, (TRIGGER,), source.data[TRIGGER], missing)) is not None:
        steps.append(PhaseStep(type=EVAL, phase_eval=found))
    phase = Phase(name=name, steps=tuple(steps))
    if not phase.evals and not findings.has_errors:
        findings.add((PHASE, "steps"), f"has no step of type {EVAL}, so there is nothing to run")
    problems = tuple(sorted(findings.problems, key=lambda problem: problem.line))
    return LoadedFile(source.path, None, problems, FORMAT, phase=None if findings.has_errors else phase)


def _name(findings: Findings, phase: Any) -> str:
    if not isinstance(phase, Mapping):
        findings.add((PHASE,), f"must be a mapping with name and steps, not {kind_of(phase)}")
        return ""
    name = phase.get("name", "")
    if not isinstance(name, str):
        findings.add((PHASE, "name"), f"must be a text, not {kind_of(name)}")
        return ""
    findings.unknown_keys((PHASE,), phase, ("name", "description", "steps"), "warning")
    return name


def _steps(findings: Findings, phase: Any, missing: Severity) -> Iterator[PhaseStep]:
    written = phase.get("steps") if isinstance(phase, Mapping) else []
    if not isinstance(written, list):
        findings.add((PHASE, "steps"), "is missing" if written is None else f"must be a list, not {kind_of(written)}")
        return
    for number, step in enumerate(written):
        place: FieldPath = (PHASE, "steps", number)
        if not isinstance(step, Mapping) or not isinstance(step.get("type"), str):
            what = "has no type" if isinstance(step, Mapping) else f"must be a mapping with type, not {kind_of(step)}"
            findings.add(place, what)
            continue
        yield from _step(findings, place, step, missing)


def _step(findings: Findings, place: FieldPath, step: Mapping[str, Any], missing: Severity) -> Iterator[PhaseStep]:
    type_, about = step["type"], step.get("description") or step.get("name") or ""
    findings.unknown_keys(place, step, STEP_KEYS, "warning")
    if type_ != EVAL:
        if closest(type_.lower(), [EVAL]):
            findings.add((*place, "type"), f"unknown step type '{type_}'", suggestion=EVAL)
        yield PhaseStep(type=type_, description=str(about))
        return
    if "config" not in step:
        findings.add(place, "an eval needs config with suite")
        return
    found = _eval(findings, (*place, "config"), step["config"], missing)
    if found is not None:
        yield PhaseStep(type=type_, description=str(about), phase_eval=found)


def _eval(findings: Findings, place: FieldPath, written: Any, missing: Severity) -> PhaseEval | None:
    if not isinstance(written, Mapping):
        findings.add(place, f"must be a mapping with suite, not {kind_of(written)}")
        return None
    found = findings.validated(place, PhaseEval, written)
    if found is not None and _is_path(found.suite) and not (findings.source.path.parent / found.suite).exists():
        findings.add((*place, "suite"), f"there is no file {found.suite}", severity=missing)
    return found


def _is_path(suite: str) -> bool:
    """Other suites are found by their names."""
    return "/" in suite or Path(suite).suffix.lower() in ENDINGS
