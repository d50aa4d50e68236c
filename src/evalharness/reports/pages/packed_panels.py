"""The panels of all cases inside one HTML file: packed in small chunks, each unpacked by the browser when it is needed.

The panels follow each other as one text. A chunk is a piece of that text of fixed size, deflated and written as base64
in a `<script type="application/json">`; how long each panel is, in bytes, is in the index.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from typing import IO, Any

CHUNK_BYTES = 190_000
"""Unpacked. Even a chunk that does not compress stays below 256 kB as base64."""
MOST_PACKED_BYTES = 20_000_000
MOST_PANELS = 100_000
LEVEL = 4
"""Of zlib: twice as quick as the default, and a tenth larger."""


class PackedPanels:
    """Writes chunks to the stream as they fill."""

    def __init__(self, stream: IO[str], most_bytes: int = MOST_PACKED_BYTES) -> None:
        self.lengths: dict[str, int] = {}
        """How long each panel is, in bytes, by its key and in the order of the text."""
        self._stream = stream
        self._left = most_bytes
        self._pending = bytearray()
        self._chunks = 0

    @property
    def is_full(self) -> bool:
        return self._left <= 0 or len(self.lengths) >= MOST_PANELS

    def add(self, key: str, html: str) -> bool:
        """Whether there was room for it. Two ids may read the same when secrets are out: the first has the panel."""
        text = html.encode("utf-8", errors="replace")
        if key in self.lengths or self.is_full or not self._has_room(len(text)):
            return False
        self.lengths[key] = len(text)
        self._pending += text
        while len(self._pending) >= CHUNK_BYTES:
            self._write(bytes(self._pending[:CHUNK_BYTES]))
            del self._pending[:CHUNK_BYTES]
        return True

    def _has_room(self, length: int) -> bool:
        """One panel alone may be larger than what is left, however well it packs; half is never kept."""
        return length <= CHUNK_BYTES or length // 2 <= self._left

    def finish(self) -> None:
        if self._pending:
            self._write(bytes(self._pending))
            self._pending.clear()

    def _write(self, piece: bytes) -> None:
        packed = packed_text(piece)
        self._left -= len(packed)
        self._stream.write(script_element(f"chunk-{self._chunks}", packed))
        self._chunks += 1


def packed_json(value: Any) -> str:
    return packed_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", errors="replace"))


def packed_text(text: bytes) -> str:
    """As a JSON string: letters, digits, `+`, `/` and `=` in quotes, so nothing in it can end the element."""
    return f'"{b64encode(zlib.compress(text, LEVEL)).decode("ascii")}"'


def script_element(name: str, packed: str) -> str:
    return f'<script type="application/json" id="{name}">{packed}</script>\n'
