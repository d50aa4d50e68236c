"""Find the recording that a run replays: a run of the store, or a folder of files; and say how its calls are taped."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalharness import registry
from evalharness.contracts.context import Context
from evalharness.contracts.exchange import Recording, Taping, TrialRecording
from evalharness.contracts.executor import WorkUnit
from evalharness.contracts.store import Store
from evalharness.domain.exchange import Exchange, Mode
from evalharness.domain.finding import Finding, finding
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.suite import Suite
from evalharness.errors import Hint, UsageError
from evalharness.steps.find_runs import find_run

BYTES_OF_SECRET = 32
ABOUT_MODELS = ("model.", "spending.judge_check")
"""How the codes of findings begin that nobody can make without asking models."""


SHOWN_CASES = 5
READ_AHEAD = 100
"""Cases whose recordings are read together: they are asked for in the order of the suite."""


@dataclass(slots=True)
class StoredRecording(Recording):
    """The recording of a run in a store."""

    run: Run
    store: Store
    _places: dict[str, int] = field(default_factory=dict)
    _ids: list[str] = field(default_factory=list)
    _ahead: dict[tuple[str, int], Sequence[Exchange]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def reference(self) -> str:
        return self.run.id

    @property
    def secret(self) -> str:
        return self.run.options.recording_secret

    @property
    def seed(self) -> int | None:
        return self.run.lock.seed

    @property
    def notes(self) -> Sequence[Finding]:
        notes = self.run.report.notes if self.run.report is not None else ()
        return [note for note in notes if note.code.startswith(ABOUT_MODELS)]

    def others(self, known: Iterable[str]) -> list[str]:
        ids = set(known)
        return [case.id for case in self.run.suite.cases if case.id not in ids]

    def trial(self, case_id: str, index: int) -> Sequence[Exchange]:
        if (case_id, index) not in self._ahead:
            self._read_ahead(case_id, index)
        return self._ahead.pop((case_id, index), ())

    def _read_ahead(self, case_id: str, index: int) -> None:
        if not self._ids:
            self._ids = [case.id for case in self.run.suite.cases]
            self._places = {id_: place for place, id_ in enumerate(self._ids)}
        place = self._places.get(case_id)
        if place is None:
            return
        ids = self._ids[place : place + READ_AHEAD]
        found = self.store.exchanges(self.run.id, ids, index)
        self._ahead = {(id_, index): found.get(id_, ()) for id_ in ids}


def find_recording(suite: Suite, variant: str, options: RunOptions, store: Store) -> Recording | None:
    """None for a run that asks for everything itself. Raises UsageError where a replay has nothing to go by."""
    if options.mode in ("live", "record"):
        return None
    return _find(options.recordings, suite, variant, options.mode, store)


def _find(reference: str, suite: Suite, variant: str, mode: Mode, store: Store) -> Recording | None:
    folder = Path(reference) if reference else None
    if folder is not None and folder.is_dir():
        files: Recording | None = registry.load("exchanges", "files")(folder, suite.name, variant)
        if files is None and mode == "replay":
            raise UsageError(
                f"{folder} has no recordings of suite {suite.name} on {variant}",
                hint=Hint("hint.record_first"),
            )
        return files
    if reference:
        run = _named_run(reference, suite, variant, store)
        if run.options.mode == "replay":  # it has no recording of its own, but what it replayed has
            return _find(run.options.recordings, suite, variant, mode, store)
        return StoredRecording(run, store)
    recorded = store.recorded_runs(suite.name)
    of_variant = [run_id for run_id, name in recorded if name == variant] or [run_id for run_id, _ in recorded]
    if of_variant:
        return StoredRecording(store.find_run(of_variant[0]), store)
    if mode == "auto":
        return None
    raise UsageError(f"nothing was recorded of suite {suite.name} yet", hint=Hint("hint.record_first"))


def _named_run(reference: str, suite: Suite, variant: str, store: Store) -> Run:
    """The named run, or the one of its command that has this suite and variant."""
    named = find_run(reference, store)
    runs = [run for run in store.matrix(named.matrix_id) if run.options.recording_secret] or [named]
    if not runs[0].options.recording_secret:
        raise UsageError(f"run {named.name} was not recorded", hint=Hint("hint.record_first"))
    same = [run for run in runs if run.suite.name == suite.name and run.variant == variant]
    itself = [run for run in runs if run.id == named.id]
    return [*same, *itself, *runs][0]


def with_secret(options: RunOptions, recording: Recording | None) -> RunOptions:
    """The options of a run that is recorded or replayed, with the secret of its recording."""
    if options.mode == "live":
        return options
    secret = recording.secret if recording is not None else secrets.token_hex(BYTES_OF_SECRET)
    place, name = (recording.reference, recording.name) if recording is not None else ("", "")
    return options.model_copy(update={"recording_secret": secret, "recordings": place, "recording_name": name})


def left_notes(recording: Recording | None, suite: Suite) -> tuple[Finding, ...]:
    """That something was recorded of cases which the suite no longer has."""
    left = [] if recording is None else recording.others(case.id for case in suite.cases)
    shown = {"cases": left[:SHOWN_CASES], "number": len(left)}
    return (finding("run.cases_left", "warning", **shown),) if left else ()


def taping_of(suite: Suite, variant: str, options: RunOptions, context: Context) -> Taping:
    if options.mode == "live":
        return Taping()
    ignored = suite.replay.ignore if suite.replay is not None else ()
    redactor = context.store.redactor
    return Taping(options.mode, options.recording_secret, ignored, redactor, dataset=suite.name, variant=variant)


def with_recordings(units: Iterator[WorkUnit], run: Run, recording: Recording | None) -> Iterator[WorkUnit]:
    """Each unit with what is known of its trial."""
    for unit in units:
        target = run.lock.cases[unit.case_id].target or run.lock.target
        known = () if recording is None else tuple(recording.trial(unit.case_id, unit.trial_index))
        yield unit._replace(recording=TrialRecording(target, known))
