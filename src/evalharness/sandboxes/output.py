"""The head and the tail of a stream of any length, in bounded memory.

It holds bytes and knows nothing of pipes or processes.
"""

from __future__ import annotations

_LONGEST_CHARACTER = 4


class BoundedOutput:
    """Keeps the first and the last `keep_bytes` of what is added, and counts all of it."""

    def __init__(self, keep_bytes: int) -> None:
        self.total = 0
        self._keep_bytes = keep_bytes
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._keep_bytes - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: max(0, len(self._tail) - self._keep_bytes)]

    @property
    def is_cut(self) -> bool:
        return self.total > 2 * self._keep_bytes

    def value(self) -> bytes:
        """Everything, or head and tail with a line between them that counts the missing bytes."""
        if not self.is_cut:
            return bytes(self._head + self._tail)
        head, tail = _without_split_end(self._head), _without_split_start(self._tail)
        missing = self.total - len(head) - len(tail)
        # The … stand right where it was cut: there, what is left of a secret is looked for.
        return bytes(head) + f"…\n[{missing} bytes cut]\n…".encode() + bytes(tail)


def _without_split_end(data: bytearray) -> bytearray:
    """`data` without the beginning of a UTF-8 character whose rest is missing."""
    for length in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        first = data[-length]
        if first < 0x80:
            return data
        if first >= 0xC0:
            needed = 2 + (first >= 0xE0) + (first >= 0xF0)
            return data[:-length] if needed > length else data
    return data


def _without_split_start(data: bytearray) -> bytearray:
    """`data` without the rest of a UTF-8 character whose beginning is missing."""
    start = 0
    while start < min(_LONGEST_CHARACTER - 1, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]
