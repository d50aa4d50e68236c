"""Which artifacts are those of a case: found once, when a file has been read, and looked up for every trial.

An artifact says where it belongs by its `caseId`, by the recordings it is linked to, or by a run id
eval-<dataset>-<case>-<variant>. A `caseId` decides which case it is, not which dataset and variant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evalharness.domain.artifact import EvalArtifact, said
from evalharness.domain.recording_ids import RecordingParts, parse_recording_id
from evalharness.errors import TrialSkipped
from evalharness.targets.artifact_files import StoredArtifact

RUN_ID = "eval-"
FAILED_RUN = "-error"
MOST_DASHES = 100
"""A run id with more of them means nothing: there would be too many ways to read it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An artifact of a case; one without `variants` may be of any."""

    stored: StoredArtifact
    variants: frozenset[str]
    is_recorded: bool = False

    def is_of(self, variant: str) -> bool:
        return not variant or not self.variants or variant in self.variants


class ArtifactIndex:
    """`dataset` is the id of the dataset that is asked for; empty where any will do."""

    def __init__(self, artifacts: Iterable[StoredArtifact] = (), dataset: str = "") -> None:
        self.artifacts = tuple(artifacts)
        self.dataset = dataset
        is_alone = len(self.artifacts) == 1 and not self.says_its_case(self.artifacts[0].artifact)
        self._lone = self.artifacts if is_alone else ()
        """One alone that says nothing of its case answers whatever is asked."""
        self._sure: defaultdict[str, list[_Entry]] = defaultdict(list)
        self._by_run_id: defaultdict[str, list[_Entry]] = defaultdict(list)
        for stored in self.artifacts:
            self._add(stored)

    def of(self, case_id: str, variant: str = "") -> list[StoredArtifact]:
        """The artifacts of a case; several are those of its trials. Raises TrialSkipped where nobody can tell."""
        if sure := [entry.stored for entry in self._sure.get(case_id, ()) if entry.is_of(variant)]:
            return sure
        by_run = [entry.stored for entry in self._by_run_id.get(case_id, ()) if entry.is_of(variant)]
        if by_run:
            return by_run if self.dataset and variant else _of_one_run_id(by_run, case_id)
        return list(self._lone)

    def variants_of(self, case_id: str, *, recorded: bool = False) -> frozenset[str]:
        """The variants that artifacts of a case name; `recorded` leaves out what only a run id may mean."""
        entries = self._entries(case_id)
        return frozenset().union(*(entry.variants for entry in entries if entry.is_recorded or not recorded))

    def names_no_variant(self, case_id: str) -> list[StoredArtifact]:
        """Those of a case's artifacts that may be of any variant."""
        return [entry.stored for entry in self._entries(case_id) if not entry.variants]

    def _entries(self, case_id: str) -> list[_Entry]:
        return [*self._sure.get(case_id, ()), *self._by_run_id.get(case_id, ())]

    def says_its_case(self, artifact: EvalArtifact) -> bool:
        return bool(artifact.case_id or self._recordings(artifact)) or artifact.run_id.startswith(RUN_ID)

    def _add(self, stored: StoredArtifact) -> None:
        artifact = stored.artifact
        linked = self._recordings(artifact)
        meant = [parts for parts in linked if self.dataset in ("", parts.dataset_id)]
        if linked and not meant:  # it belongs to another dataset
            return
        for case_id in [artifact.case_id] if artifact.case_id else {parts.case_id for parts in meant}:
            named = {parts.variant_id for parts in meant if artifact.case_id or parts.case_id == case_id}
            by_run = (variant for case, variant in self._readings(artifact.run_id) if case == case_id)
            self._sure[case_id].append(_Entry(stored, frozenset(named or by_run), is_recorded=bool(named)))
        if not artifact.case_id and not linked:
            readings: defaultdict[str, set[str]] = defaultdict(set)
            for case_id, variant in self._readings(artifact.run_id):
                readings[case_id].add(variant)
            for case_id, variants in readings.items():
                self._by_run_id[case_id].append(_Entry(stored, frozenset(variants)))

    def _recordings(self, artifact: EvalArtifact) -> list[RecordingParts]:
        """What the ids of its recordings say of an artifact."""
        links = [event for event in artifact.events if event.get("type") == "recording:linked"]
        found = [parse_recording_id(said(link, "recordingId", "recording_id"), self.dataset) for link in links]
        return [parts for parts in found if parts is not None]

    def _readings(self, run_id: str) -> Iterator[tuple[str, str]]:
        """Every case and variant that a run id may name: dashes stand inside of ids too."""
        prefix = f"{RUN_ID}{self.dataset}-" if self.dataset else RUN_ID
        if not run_id.startswith(prefix) or run_id.count("-") > MOST_DASHES:
            return
        pieces = run_id.removeprefix(prefix).split("-")
        for first in (0,) if self.dataset else range(1, len(pieces)):
            for end in range(first + 1, len(pieces)):
                case_id, variant = "-".join(pieces[first:end]), "-".join(pieces[end:])
                yield from ((case_id, name) for name in {variant, variant.removesuffix(FAILED_RUN)})


def _of_one_run_id(stored: list[StoredArtifact], case_id: str) -> list[StoredArtifact]:
    """A run id that may be read in several ways is not guessed at."""
    run_ids = sorted({each.artifact.run_id for each in stored})
    if len(run_ids) > 1:
        raise TrialSkipped(
            f"several artifacts may be those of case {case_id}: {', '.join(run_ids[:3])}; "
            "tell the target's dataset and variant, or give each artifact its caseId"
        )
    return stored
