"""artifact: stored artifacts answer the cases; nothing is run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.documents.artifact_view import artifact_answer
from evalharness.domain.options import Options
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import Hint, InvalidFile, TargetUnavailable, TrialSkipped, UsageError
from evalharness.targets.artifact_files import ArtifactIndex, StoredArtifact, read_artifacts
from evalharness.values.digest import digest, digest_file


class ArtifactOptions(Options):
    """`case` names the one case that the file is about, whatever its artifacts say themselves."""

    main: ClassVar[str] = "file"

    file: str
    case: str = ""
    dataset: str = ""
    variant: str = ""


class ArtifactTarget(Target):
    records_calls = True
    Options: ClassVar[type[Options]] = ArtifactOptions
    is_metered: ClassVar[bool] = True
    options: ArtifactOptions

    def __init__(self, options: ArtifactOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._file: Path = services.root / options.file
        self._index = ArtifactIndex()

    def digest(self) -> str:
        is_read = self._is_allowed() and self._file.is_file()
        return digest([super().digest(), digest_file(self._file) if is_read else None])

    async def open(self) -> None:
        if not self._is_allowed():
            raise UsageError(
                f"the artifact {self.options.file} is outside the suite's folder",
                hint=Hint("hint.own_artifact", file=self.options.file),
            )
        try:
            stored = await asyncio.to_thread(read_artifacts, self._file)
        except InvalidFile as error:
            raise TargetUnavailable("\n".join(map(str, error.problems)), hint=error.hint) from error
        self._index = ArtifactIndex(stored, self.options.dataset)

    def _is_allowed(self) -> bool:
        """A suite may come from anybody, and what it names would be in the report; users may name what they like.

        The folder of a target that the user asked for is absolute; that of a suite's own leads down from the suite's.
        """
        own = Path(self.spec.root)
        if own.is_absolute():
            return True
        root = self.services.root
        suite_folder = root.parents[len(own.parts) - 1] if own.parts else root
        return self._file.resolve().is_relative_to(suite_folder.resolve())

    async def answer(self, task: Task) -> Transcript:
        """One artifact is one trial: whoever asks for more trials than there are artifacts gets no second copy."""
        variant = self.options.variant or str(task.variant.get("id", ""))
        found = self._artifacts_of(task.case.id, variant)
        case = f"case {task.case.id}" + (f" and variant {variant}" if variant else "")
        if not found:
            raise TrialSkipped(f"{self._file.name} contains no artifact of {case}")
        if task.index >= len(found):
            number = f"{len(found)} artifacts" if len(found) > 1 else "1 artifact"
            raise TrialSkipped(f"{self._file.name} contains only {number} of {case}")
        return Transcript(**artifact_answer(found[task.index].artifact).given())

    def _artifacts_of(self, case_id: str, variant: str) -> Sequence[StoredArtifact]:
        if self.options.case:
            return self._index.artifacts if case_id == self.options.case else ()
        return self._index.of(case_id, variant)
