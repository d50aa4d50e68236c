"""Recordings as files: one per case, to be read and reviewed in a repository; also those of workflow datasets.

DIR/SUITE/VARIANT/recording.json    which run it was, its seed and its secret
DIR/SUITE/VARIANT/CASE.json         the exchanges of each trial; messages once, however often they were sent
DIR/recording-<id>.json, .jsonl     what workflow datasets call a recording: one exchange each
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from evalharness.documents.artifact import generate_recording_id, parse_recording_id
from evalharness.documents.recording import (
    PREFIX,
    ProviderRecording,
    RecordedEvent,
    RecordedFault,
    RecordingMetadata,
    RecordingStore,
    file_name_of,
    shortened,
)
from evalharness.domain.exchange import TARGET, Exchange, ExchangeError, Mode
from evalharness.domain.finding import Finding
from evalharness.domain.invalid_values import explain
from evalharness.errors import UsageError
from evalharness.exchanges.foreign import NodeRun, nodes_of_answer
from evalharness.exchanges.links import link, node_of_trial
from evalharness.values.divided import divided, whole
from evalharness.values.json_value import Json

ABOUT = "recording.json"
NODES = "nodes"
Trials = Iterable[tuple[str, int, Sequence[Exchange]]]
"""Case, trial and what was recorded of it; in the order of cases."""
KEY = "evalharness"
"""Under which a recording of a workflow dataset keeps what only this harness knows of an exchange."""
WITHIN = "within"
"""Says of which recording this one is a part."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What is written of a recorded run, beside its exchanges."""

    suite: str
    variant: str
    run_id: str
    run: str
    mode: Mode
    secret: str
    seed: int
    created_at: str
    notes: Sequence[Finding] = ()


@dataclass(slots=True)
class FileRecording:
    """Implements `contracts.Recording`. A file is read when its case is asked for."""

    folder: Path
    """Where the files of the cases are."""
    reference: str
    secret: str
    seed: int | None
    notes: Sequence[Finding] = ()
    by_case: dict[str, dict[int, list[Exchange]]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.reference

    def others(self, known: Iterable[str]) -> list[str]:
        ids = set(known)
        expected = {ABOUT, *(_file_of(self.folder, each).name for each in ids)}
        files = [path for path in self.folder.glob("*.json") if path.name not in expected]
        return sorted(({each for each in map(_case_in, files) if each} | self.by_case.keys()) - ids)

    def trial(self, case_id: str, index: int) -> Sequence[Exchange]:
        if case_id not in self.by_case:
            path = _file_of(self.folder, case_id)
            self.by_case[case_id] = read_case_file(path)[1] if path.is_file() else {}
        return self.by_case[case_id].get(index, ())


def _case_in(path: Path) -> str:
    """Empty for a file that is none of ours: nobody asked for it."""
    try:
        return read_case_file(path)[0]
    except UsageError:
        return ""


def find_files(folder: Path, suite: str, variant: str) -> FileRecording | None:
    """The recording of a suite on a variant; None if there is none. Raises UsageError for files that are broken."""
    place = _place(folder, suite, variant)
    if (place / ABOUT).is_file():
        about = _json(place / ABOUT)
        try:
            notes = [Finding.model_validate(note) for note in about.get("notes", ())]
            secret, seed = str(about["secret"]), int(about["seed"])
            bytes.fromhex(secret)
        except ValidationError as error:
            raise UsageError(f"{place / ABOUT}: {explain(error)}") from None
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{place / ABOUT} is not a recording: {error}") from None
        known = _of_workflow(RecordingStore(folder), suite, variant) if about.get("layout") == NODES else {}
        return FileRecording(place, str(folder), secret, seed, notes, known)
    by_case = _of_workflow(RecordingStore(folder), suite, variant)
    if not by_case:
        return None
    secret = hashlib.sha256(to_json([suite, variant])).hexdigest()  # other tools have none
    return FileRecording(place, str(folder), secret, None, by_case=by_case)


def write_files(folder: Path, about: RecordedRun, trials: Trials, redact: Callable[[Json], Json]) -> Iterator[Path]:
    """The files of a run, each as soon as its case is complete."""
    yield _write_about(folder, about, "cases", redact)
    place = _place(folder, about.suite, about.variant)
    for case_id, of_case in _by_case(trials):
        parts: dict[str, Json] = {}
        written = [
            {"trial": index, "exchanges": [_written(each, parts) for each in exchanges]} for index, exchanges in of_case
        ]
        document = {"case": case_id, "trials": written, "parts": parts}
        yield _write(_file_of(place, case_id), document, redact)


def _place(folder: Path, suite: str, variant: str) -> Path:
    return folder / shortened(file_name_of(suite)) / shortened(file_name_of(variant))


def _file_of(place: Path, case_id: str) -> Path:
    """Never the file about the run, whatever the case is called, also where upper and lower case are the same."""
    name = shortened(file_name_of(case_id))
    if f"{name}.json".lower() == ABOUT:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    return place / f"{name}.json"


def _write_about(folder: Path, about: RecordedRun, layout: str, redact: Callable[[Json], Json]) -> Path:
    place = _place(folder, about.suite, about.variant)
    place.mkdir(parents=True, exist_ok=True)
    notes = [note.model_dump(mode="json") for note in about.notes]
    head = {"suite": about.suite, "variant": about.variant, "run": about.run, "seed": about.seed}
    return _write(place / ABOUT, {**head, "layout": layout, "secret": about.secret, "notes": notes}, redact)


def _by_case(
    trials: Trials,
) -> Iterator[tuple[str, list[tuple[int, Sequence[Exchange]]]]]:
    found: dict[str, list[tuple[int, Sequence[Exchange]]]] = {}
    for case_id, index, exchanges in trials:
        if found and case_id not in found:
            yield from found.items()
            found = {}
        found.setdefault(case_id, []).append((index, exchanges))
    yield from found.items()


def _write(path: Path, document: Json, redact: Callable[[Json], Json]) -> Path:
    text = json.dumps(redact(document), ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


def _written(exchange: Exchange, parts: dict[str, Json]) -> dict[str, Json]:
    def keep(value: Json) -> str:
        name = hashlib.sha256(to_json(value)).hexdigest()[:16]
        parts[name] = value
        return name

    document: dict[str, Json] = exchange.model_dump(mode="json", exclude_defaults=True)
    return {**document, "request": divided(exchange.request, keep)} if "request" in document else document


def read_case_file(path: Path) -> tuple[str, dict[int, list[Exchange]]]:
    """The case, and what was recorded of it by trial."""
    document = _json(path)
    try:
        parts: Mapping[str, Json] = document["parts"]
        return str(document["case"]), {
            int(trial["trial"]): [
                Exchange.model_validate({**each, "request": whole(each.get("request"), parts)})
                for each in trial["exchanges"]
            ]
            for trial in document["trials"]
        }
    except ValidationError as error:
        raise UsageError(f"{path}: {explain(error)}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is not a recording: {error}") from None


def _json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise UsageError(f"{path} is not a recording")
    return document


# Recordings of workflow datasets: one exchange each, by an id that says which.


def write_workflow_files(
    folder: Path, about: RecordedRun, trials: Trials, redact: Callable[[Json], Json]
) -> Iterator[Path]:
    """The answer of a workflow is one exchange; beside it, its nodes have the recordings that its artifact names."""
    yield _write_about(folder, about, NODES, redact)
    store = RecordingStore(folder)
    for case_id, index, exchanges in trials:
        counted: Counter[str] = Counter()
        for exchange in exchanges:
            linked = _next_link(about, case_id, exchange.node, exchange.kind, index, counted)
            recordings = [_recording(linked, exchange, about.created_at)]
            for run in nodes_of_answer(exchange.reply) if exchange.kind == "answer" else ():
                linked = _next_link(about, case_id, run.node, exchange.kind, index, counted)
                recordings.append(_node_recording(linked, run, recordings[0]))
            for each in recordings:
                yield store.save(ProviderRecording.model_validate(redact(each.model_dump(mode="json", by_alias=True))))


def _next_link(
    about: RecordedRun, case_id: str, node: str, kind: str, index: int, counted: Counter[str]
) -> dict[str, Json]:
    """The event that names the next recording of a node."""
    number = counted[node]
    counted[node] += 1
    id_ = generate_recording_id(about.suite, case_id, about.variant, node_of_trial(node, index), number)
    return link(about.run_id, about.mode, node, number, kind, id_)


def _node_recording(linked: dict[str, Json], run: NodeRun, of: ProviderRecording) -> ProviderRecording:
    """For other tools, and for people; a replay reads the recording that it is a part of."""
    within: dict[str, Json] = {"type": "exchange", KEY: {WITHIN: of.id}}
    fault = RecordedFault(message=run.failed) if run.failed else None
    events = _numbered(linked, *run.events, within)
    return ProviderRecording(
        id=str(linked["recordingId"]), metadata=of.metadata, events=events, output=run.output, error=fault
    )


def _numbered(*events: dict[str, Json]) -> tuple[RecordedEvent, ...]:
    return tuple(RecordedEvent(seq=number, event=event) for number, event in enumerate(events, start=1))


def _recording(linked: dict[str, Json], exchange: Exchange, created_at: str) -> ProviderRecording:
    request = exchange.request if isinstance(exchange.request, dict) else {}
    model = request.get("model")
    metadata = RecordingMetadata(
        provider_type=exchange.kind,
        created_at=created_at,
        input_hash=exchange.digest,
        model=model if isinstance(model, str) else None,
    )
    known = exchange.model_dump(mode="json", exclude_defaults=True, exclude={"reply", "error"})
    fault = None if exchange.error is None else RecordedFault(message=exchange.error.message)
    kept = {**known, **({} if exchange.error is None else {"error": exchange.error.model_dump(mode="json")})}
    return ProviderRecording(
        id=str(linked["recordingId"]),
        metadata=metadata,
        events=_numbered(linked, {"type": "exchange", KEY: kept}),
        output=exchange.reply,
        error=fault,
    )


def _of_workflow(store: RecordingStore, suite: str, variant: str) -> dict[str, dict[int, list[Exchange]]]:
    """By case and trial. Recordings of other tools have no digest: they are matched by their order."""
    found: dict[str, dict[int, list[tuple[int, Exchange]]]] = {}
    if not store.folder.is_dir() or not any(store.folder.glob(f"{PREFIX}*.json")):
        return {}
    for recording_id in store.ids():
        parts = parse_recording_id(recording_id, suite)
        if parts is None or parts.dataset_id != suite or parts.variant_id != variant:
            continue
        recording = store.load(recording_id)
        assert recording is not None, "it was listed"
        if any(isinstance(each.event.get(KEY), dict) and WITHIN in each.event[KEY] for each in recording.events):
            continue
        node, index = _trial_of_node(parts.node_id)
        exchange = _exchange(recording, node)
        found.setdefault(parts.case_id, {}).setdefault(index, []).append((parts.invocation, exchange))
    return {
        case_id: {
            index: [each for _, each in sorted(exchanges, key=lambda pair: (pair[1].node, pair[0]))]
            for index, exchanges in trials.items()
        }
        for case_id, trials in found.items()
    }


def _trial_of_node(node: str) -> tuple[str, int]:
    name, at, number = node.rpartition("@")
    return (name, int(number)) if at and number.isdecimal() else (node, 0)


def _exchange(recording: ProviderRecording, node: str) -> Exchange:
    known = next((each.event[KEY] for each in recording.events if KEY in each.event), None)
    if isinstance(known, dict):
        try:
            return Exchange.model_validate({**known, "reply": recording.output})
        except ValidationError as error:
            raise UsageError(f"recording {recording.id}: {explain(error)}") from None
    events: list[Json] = [each.event for each in recording.events]
    fault = recording.error
    why = None if fault is None else ExchangeError(kind="TargetUnavailable", message=fault.message)
    reply: Json = {"output": recording.output, "events": events}
    return Exchange(node=node or TARGET, reply=reply, error=why)
