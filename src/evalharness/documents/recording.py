"""Recordings as workflow datasets know them: what a provider said for one invocation of a node, in two files.

`recording-<id>.json` has metadata, output and error; `recording-<id>.jsonl` one event per line.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from evalharness.domain.invalid_values import explain
from evalharness.domain.record import Record
from evalharness.errors import UsageError
from evalharness.values.json_value import Json

PREFIX = "recording-"
LONGEST_NAME = 200
"""A file system takes names of 255 bytes, and this one gets a prefix and an ending."""
DIGITS = 16
CUT = 4
"""Bytes that a character may have: a name that was shortened lacks less than that."""
DEFAULT_FOLDER = "recordings"


class _Document(Record):
    model_config = ConfigDict(alias_generator=to_camel, extra="allow")


class RecordingMetadata(_Document):
    """`input_hash` is the digest of the request that it replies to."""

    provider_type: str = ""
    created_at: str = ""
    input_hash: str = ""
    model: str | None = None
    tags: tuple[str, ...] | None = None


class RecordedEvent(_Document):
    seq: int
    timestamp: float = 0
    event: dict[str, Json] = Field(default_factory=dict)


class RecordedFault(_Document):
    code: str = "EXECUTION_ERROR"
    message: str = ""


class ProviderRecording(_Document):
    """`output` is what the provider replied; with an `error`, why it did not."""

    id: str
    metadata: RecordingMetadata = RecordingMetadata()
    events: tuple[RecordedEvent, ...] = ()
    output: Json = None
    error: RecordedFault | None = None


class RecordingStore:
    """Recordings in a folder, each in two files. Nothing is created before something is saved."""

    def __init__(self, folder: str | Path = DEFAULT_FOLDER) -> None:
        self.folder = Path(folder)

    def save(self, recording: ProviderRecording | Mapping[str, Any]) -> Path:
        """Replaces an earlier one with this id; the file with the events is complete before the other appears."""
        if not isinstance(recording, ProviderRecording):
            recording = ProviderRecording.model_validate(recording)
        self.folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(each.model_dump(mode="json", by_alias=True), sort_keys=True) for each in recording.events]
        _replace(self._path(recording.id, ".jsonl"), "".join(f"{line}\n" for line in lines))
        left_out = {"events"} if recording.error is not None else {"events", "error"}
        document = recording.model_dump(mode="json", by_alias=True, exclude_none=False, exclude=left_out)
        path = self._path(recording.id, ".json")
        _replace(path, json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
        return path

    def load(self, recording_id: str) -> ProviderRecording | None:
        """None where there is none. Raises UsageError for a file that is not one."""
        path = self._path(recording_id, ".json")
        if not path.is_file():
            return None
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
            events = self._path(recording_id, ".jsonl")
            lines = events.read_text(encoding="utf-8").splitlines() if events.is_file() else []
            about = {"id": recording_id, "events": [json.loads(line) for line in lines if line.strip()]}
            return ProviderRecording.model_validate({**written, **about})
        except ValidationError as error:
            raise UsageError(f"{path}: {explain(error)}") from None
        except (ValueError, TypeError) as error:
            raise UsageError(f"{path} is not a recording: {error}") from None

    def list(self, *, provider_type: str = "", input_hash: str = "") -> list[RecordingMetadata]:
        """The metadata of all recordings, or of those that match, in the order of their ids."""
        found = (self.load(recording_id) for recording_id in self.ids())
        return [
            each.metadata
            for each in found
            if each is not None
            and provider_type in ("", each.metadata.provider_type)
            and input_hash in ("", each.metadata.input_hash)
        ]

    def ids(self) -> Iterator[str]:
        if self.folder.is_dir():
            for path in sorted(self.folder.glob(f"{PREFIX}*.json")):
                name = path.name.removeprefix(PREFIX).removesuffix(".json")
                yield _id_in(path, name) if _is_shortened(name) else name

    def _path(self, recording_id: str, ending: str) -> Path:
        if not recording_id or "/" in recording_id or "\0" in recording_id:
            raise UsageError(f"'{recording_id}' cannot be the id of a recording")
        return self.folder / f"{PREFIX}{shortened(recording_id)}{ending}"


def _replace(path: Path, text: str) -> None:
    """All of it or nothing."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)  # noqa: PTH105 - atomic


def shortened(name: str) -> str:
    """A name that a file can have. What it was is said in the file."""
    if len(name.encode(errors="replace")) <= LONGEST_NAME:
        return name
    digest = f"~{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:DIGITS]}"
    return name.encode(errors="replace")[: LONGEST_NAME - len(digest)].decode(errors="ignore") + digest


def _is_shortened(name: str) -> bool:
    return len(name.encode(errors="replace")) > LONGEST_NAME - CUT and name[-DIGITS - 1 : -DIGITS] == "~"


def _id_in(path: Path, name: str) -> str:
    """The id in a file whose name may be a shortened one."""
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
        return str(written["id"]) if shortened(str(written["id"])) == name else name
    except (ValueError, TypeError, KeyError):
        return name  # whoever loads it is told what is wrong with it


def file_name_of(name: str) -> str:
    """A name as one of a file, which reads back the same."""
    return quote(name, safe=" @+,=()[]{}'!~^&;") if name not in (".", "..") else name.replace(".", "%2E")
