"""Grade artifacts: a file of workflow artifacts judged by a dataset, as a run of its own; no workflow is started.

Only cases with an artifact are in the run, and an artifact that does not say which case it belongs to is never taken
for the answer to several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evalharness.actions.run_suite import RunRequest, run_suites
from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.documents.artifact import said
from evalharness.domain.case import Case
from evalharness.domain.finding import Finding, finding
from evalharness.domain.run import Run
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import LoadedFile, Suite, Variant
from evalharness.engine.planning.planned_cases import select_cases
from evalharness.errors import Hint, NothingSelected, TrialSkipped, UnknownName, UsageError
from evalharness.reports.wording import first_names
from evalharness.steps.find_suites import find_suites
from evalharness.targets.artifact_files import RUN_ID, ArtifactIndex, StoredArtifact, read_artifacts

LONGEST_NAME = 500
SHOWN_PLACES = 5
SHOWN_CASES = 20


@dataclass(frozen=True, slots=True)
class ArtifactFile:
    """`case` is the only case meant; it need not be the one that an artifact names as its own."""

    path: Path
    case: str = ""

    def as_target(self, dataset_id: str, case: str = "") -> TargetSpec:
        options = {"file": str(self.path.resolve()), "case": case, "dataset": dataset_id}
        return TargetSpec(kind="artifact", options=options, name=f"artifact {self.path}")


@dataclass(frozen=True, slots=True)
class _Homes:
    """Which artifacts answer which case, in the run of which variant."""

    index: ArtifactIndex
    variants: tuple[Variant, ...]
    named_case: str = ""

    @property
    def variant_names(self) -> list[str]:
        return [variant.name for variant in self.variants] or [""]

    def of(self, case: Case, variant: str) -> Sequence[StoredArtifact] | None:
        """None where there are some, but none can be chosen: the run tells why."""
        if self.named_case:
            return self.index.artifacts if case.id == self.named_case else ()
        try:
            return self.index.of(case.id, variant)
        except TrialSkipped:
            return None

    def trials_of(self, case: Case) -> int:
        """Several artifacts of one case are its trials."""
        found = [self.of(case, name) for name in self.variant_names]
        return max(1 if artifacts is None else len(artifacts) for artifacts in found)


async def grade_artifacts(
    context: Context, file: ArtifactFile, request: RunRequest, execution: Execution | None = None
) -> list[Run]:
    """The runs, one for each variant that artifacts name. Notes of their reports warn of what is not in them.

    `request.suites` names the one dataset that judges them.
    """
    [named] = request.suites
    files = [named] if isinstance(named, LoadedFile) else find_suites(context.store, [named], request.format_name)
    if len(files) != 1:
        raise UsageError(f"{named} contains {len(files)} suites", hint="name one of them")
    [dataset] = files
    suite = dataset.suite
    assert suite is not None, "a file with problems was refused"
    if file.case and file.case not in [case.id for case in suite.cases]:
        raise UnknownName(f"case in {dataset.path.name}", file.case, [case.id for case in suite.cases])
    selection = replace(request.selection, ids=frozenset((file.case,)) if file.case else None)
    chosen = select_cases(suite, selection, dataset.path.name).cases
    homes = _homes(file, suite, chosen)
    trials = {case.id: number for case in chosen if (number := homes.trials_of(case))}
    if not trials:
        hint = Hint("hint.case_of_artifacts")
        message = f"{file.path} contains no artifact of a case of {dataset.path.name}"
        places, number = _places(file, homes.index.artifacts), len(homes.index.artifacts)
        raise NothingSelected(f"{message}: {first_names(places, number)}", hint=hint)
    _refuse_one_for_all(file, suite, homes.index)
    without = [case.id for case in chosen if case.id not in trials]
    request = replace(
        request,
        targets=(file.as_target(suite.name, homes.named_case),),
        trials=max(trials.values()),
        selection=replace(selection, ids=frozenset(trials)),
        notes=(*_lacking(without), *_left_out(file, dataset, suite, homes), *_in_every_run(file, suite, homes)),
    )
    graded = replace(dataset, suite=suite.model_copy(update={"variants": homes.variants, "prompts": ()}))
    return await run_suites(context, replace(request, suites=(graded,)), execution)


def _homes(file: ArtifactFile, suite: Suite, chosen: Sequence[Case]) -> _Homes:
    index = ArtifactIndex(read_artifacts(file.path), suite.name)
    homes = _Homes(index, _variants(suite, chosen, index))
    if not file.case or any(map(homes.trials_of, chosen)):
        return homes
    may_be_named = len(index.artifacts) == 1 or not any(index.says_its_case(each.artifact) for each in index.artifacts)
    return _Homes(index, (), file.case) if may_be_named else homes


def _variants(suite: Suite, chosen: Sequence[Case], index: ArtifactIndex) -> tuple[Variant, ...]:
    """Those of the dataset that artifacts name; where there are none, those that their recordings name.

    A variant's own target has no part in this: nothing is run.
    """
    named = {name for case in chosen for name in index.variants_of(case.id)}
    listed = [variant.model_copy(update={"target": None}) for variant in suite.variants if variant.name in named]
    recorded = {name for case in chosen for name in index.variants_of(case.id, recorded=True)}
    return tuple(listed) or tuple(Variant(name=name) for name in sorted(recorded) if len(name) <= LONGEST_NAME)


def _refuse_one_for_all(file: ArtifactFile, suite: Suite, index: ArtifactIndex) -> None:
    says_its_case = any(index.says_its_case(stored.artifact) for stored in index.artifacts)
    if not (file.case or len(suite.cases) == 1 or says_its_case):
        hint = Hint("hint.which_case", cases=[case.id for case in suite.cases[:8]])
        raise UsageError(f"{file.path} does not say which case it belongs to", hint=hint)


def _lacking(cases: Sequence[str]) -> Iterator[Finding]:
    if cases:
        yield finding("artifacts.missing", "warning", cases=cases[:SHOWN_CASES], number=len(cases))


def _left_out(file: ArtifactFile, dataset: LoadedFile, suite: Suite, homes: _Homes) -> Iterator[Finding]:
    """Artifacts that no case of the dataset has in any run; those of cases that were not selected are no news."""
    found = [homes.of(case, name) for case in suite.cases for name in homes.variant_names]
    if any(artifacts is None for artifacts in found):
        return
    at_home = {id(stored) for artifacts in found for stored in artifacts or ()}
    homeless = [stored for stored in homes.index.artifacts if id(stored) not in at_home]
    if homeless:
        where = {"dataset": dataset.path.name, "places": _places(file, homeless), "number": len(homeless)}
        yield finding("artifacts.unmatched", "warning", **where, has_variants=bool(homes.variants))


def _in_every_run(file: ArtifactFile, suite: Suite, homes: _Homes) -> Iterator[Finding]:
    if len(homes.variants) < 2:
        return
    shared = [stored for case in suite.cases for stored in homes.index.names_no_variant(case.id)]
    if shared:
        where = {"places": _places(file, shared), "number": len(shared)}
        yield finding("artifacts.without_variant", "warning", **where, runs=len(homes.variants))


def _places(file: ArtifactFile, artifacts: Sequence[StoredArtifact]) -> list[str]:
    """The first of them: `runs.jsonl:3 (caseId nope)`."""
    return [f"{file.path}:{stored.line} ({_said_of(stored)})" for stored in artifacts[:SHOWN_PLACES]]


def _said_of(stored: StoredArtifact) -> str:
    artifact = stored.artifact
    links = [event for event in artifact.events if event.get("type") == "recording:linked"]
    recording = said(links[0], "recordingId", "recording_id") if links else None
    parts = [f"caseId {artifact.case_id}"] if artifact.case_id else []
    parts += [f"recording {recording}"] if recording else []
    return ", ".join(parts) or (f"runId {artifact.run_id}" if artifact.run_id.startswith(RUN_ID) else "names no case")
