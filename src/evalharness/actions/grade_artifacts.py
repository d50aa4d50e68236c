"""Grade artifacts: a file of workflow artifacts judged by a dataset, as a run of its own; no workflow is started.

Only cases with an artifact are in the run, and an artifact that does not say which case it belongs to is never taken
for the answer to several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalharness.actions.execute_runs import run_to_end, services_for
from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.contracts import Watcher
from evalharness.domain.artifact import EvalArtifact
from evalharness.domain.case import Case
from evalharness.domain.record import Json
from evalharness.domain.run import Run
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.engine.attempting import open_target
from evalharness.engine.planning import PlannedCase, select_cases
from evalharness.engine.preparing import TrialTask
from evalharness.errors import NothingSelected, TargetUnavailable, TrialSkipped, UnknownName, UsageError
from evalharness.formats.loading import LoadedFile
from evalharness.stores.sql_store import SqlStore
from evalharness.targets.artifact import RUN_ID, ArtifactOptions, ArtifactTarget, recordings


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """`case` is the only case meant; it need not be the one that an artifact names as its own."""

    path: Path
    case: str = ""

    def as_target(self, dataset_id: str, case: str = "") -> TargetSpec:
        options = {"file": str(self.path.resolve()), "case": case, "dataset": dataset_id}
        return TargetSpec(kind="artifact", options=options, name=f"artifact {self.path}")


def grade_artifacts(
    file: ArtifactFile, dataset: LoadedFile, request: RunRequest, store: SqlStore, watcher: Watcher
) -> tuple[list[Run], list[str]]:
    """The runs, one for each of the dataset's variants that artifacts name, and the cases that have no artifact."""
    suite = dataset.suite
    assert suite is not None, "a file with problems was refused"
    if file.case and file.case not in [case.id for case in suite.cases]:
        raise UnknownName(f"case in {dataset.path.name}", file.case, [case.id for case in suite.cases])
    selection = replace(request.selection, ids=frozenset((file.case,)) if file.case else None)
    chosen = select_cases(suite, selection, dataset.path.name)
    target = _opened(file.as_target(suite.name))
    variants = tuple(variant for variant in suite.variants if _is_named(variant.name, target.artifacts))
    told = [variant.told() for variant in variants] or [{}]
    numbers = _number_of_artifacts(target, chosen.cases, told)
    if file.case and not numbers and (len(target.artifacts) == 1 or not any(map(_says_its_case, target.artifacts))):
        target = _opened(file.as_target(suite.name, file.case))
        numbers = _number_of_artifacts(target, chosen.cases, told)
    if not numbers:
        hint = "give --case ID, or write its caseId into each artifact"
        raise NothingSelected(f"{file.path} holds no artifact of a case of {dataset.path.name}", hint=hint)
    _refuse_one_for_all(file, suite, target.artifacts)
    request = replace(
        request,
        targets=(target.spec,),
        trials=max(numbers.values()),
        selection=replace(selection, ids=frozenset(numbers)),
    )
    graded = replace(dataset, suite=suite.model_copy(update={"variants": variants}))
    runs = run_suites([graded], request, store, watcher)
    return runs, [case.id for case in chosen.cases if case.id not in numbers]


def _opened(spec: TargetSpec) -> ArtifactTarget:
    options = ArtifactOptions.model_validate(spec.options)
    target = ArtifactTarget(options, spec, services_for(Path.cwd(), 1))
    try:
        run_to_end(open_target(target, spec.label))
    except TargetUnavailable as error:  # here it is no system under test, but a file that the user named
        raise UsageError(error.message) from error
    return target


def _says_its_case(artifact: EvalArtifact) -> bool:
    return bool(artifact.case_id or recordings(artifact)) or artifact.run_id.startswith(RUN_ID)


def _is_named(variant: str, artifacts: Iterable[EvalArtifact]) -> bool:
    return any(
        any(parts.variant_id == variant for parts in recordings(artifact))
        or (artifact.run_id.startswith(RUN_ID) and artifact.run_id.endswith(f"-{variant}"))
        for artifact in artifacts
    )


def _number_of_artifacts(
    target: ArtifactTarget, cases: Iterable[Case], variants: Sequence[Mapping[str, Json]]
) -> dict[str, int]:
    """By case id, for the cases that have any: several artifacts of one case are its trials."""
    numbers = {case.id: max(_number(target, case, variant) for variant in variants) for case in cases}
    return {case_id: number for case_id, number in numbers.items() if number}


def _number(target: ArtifactTarget, case: Case, variant: Mapping[str, Json]) -> int:
    plan = PlannedCase(case, (), [], timeout_s=0, retries=0, variant=variant)
    try:
        return len(target.found(TrialTask(plan, 0, 0, Path.cwd())))
    except TrialSkipped:  # there are some, and the run will tell why none can be chosen
        return 1


def _refuse_one_for_all(file: ArtifactFile, suite: Suite, artifacts: list[EvalArtifact]) -> None:
    if not (file.case or len(suite.cases) == 1 or any(map(_says_its_case, artifacts))):
        listed = ", ".join(case.id for case in suite.cases[:8])
        raise UsageError(f"{file.path} does not say which case it belongs to", hint=f"give --case, one of: {listed}")
