"""The index of artifacts: built once, used for every trial."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalharness.documents.artifact import EvalArtifact
from evalharness.targets.artifact_files import ArtifactIndex, StoredArtifact


class Events(tuple[dict[str, Any], ...]):
    """Counts how often all events are iterated."""

    seen = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        type(self).seen += 1
        return super().__iter__()


def linked(case_id: str, variant: str, line: int) -> StoredArtifact:
    event = {"type": "recording:linked", "recordingId": f"eval__ds__{case_id}__{variant}__coder__inv0"}
    artifact = EvalArtifact.model_construct(run_id="r", case_id="", snapshot={}, events=Events([event]))
    return StoredArtifact(artifact, line)


def test_no_event_is_looked_at_again_for_a_trial() -> None:
    """Searching all of them for every trial took 19 s for 1,000 cases."""
    artifacts = [linked(f"case-{number}", variant, number) for number in range(30) for variant in ("big", "small")]
    index = ArtifactIndex(artifacts, "ds")
    built = Events.seen
    for number in range(40):
        found = [stored.line for stored in index.of(f"case-{number}", "big")]
        assert found == ([number] if number < 30 else [])
    assert Events.seen == built


def test_the_variants_that_artifacts_name() -> None:
    by_run_id = StoredArtifact(EvalArtifact(run_id="eval-ds-a-tiny", snapshot={}, events=()), 3)
    silent = StoredArtifact(EvalArtifact(case_id="a", snapshot={}, events=()), 4)
    index = ArtifactIndex([linked("a", "big", 1), linked("b", "small", 2), by_run_id, silent], "ds")
    assert index.variants_of("a") == {"big", "tiny"}
    assert index.variants_of("a", recorded=True) == {"big"}
    assert index.variants_of("c") == frozenset()
    assert index.names_no_variant("a") == [silent]
