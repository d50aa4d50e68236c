"""Panels in chunks: what the browser unpacks is what was added, and no chunk is larger than promised."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import zlib

from evalharness.reports.pages.packed_panels import CHUNK_BYTES, PackedPanels

_CHUNK = re.compile(r'<script type="application/json" id="chunk-(\d+)">(.*?)</script>')


def unpacked(written: str) -> list[bytes]:
    """As the page's script does it."""
    return [zlib.decompress(base64.b64decode(json.loads(packed))) for _, packed in _CHUNK.findall(written)]


def test_every_panel_is_found_where_the_index_says() -> None:
    stream = io.StringIO()
    packed = PackedPanels(stream)
    texts = {f"case {n}": f"<p>{'né ' * n * 37}</p>" for n in range(400)}
    assert all(packed.add(key, html) for key, html in texts.items())
    packed.finish()
    whole = b"".join(unpacked(stream.getvalue()))
    start = 0
    for key, length in packed.lengths.items():
        assert whole[start : start + length].decode() == texts[key]
        start += length
    chunks = unpacked(stream.getvalue())
    assert len(chunks) > 3
    assert {len(chunk) for chunk in chunks[:-1]} == {CHUNK_BYTES}


def test_no_chunk_is_over_256_kb_even_where_nothing_can_be_packed() -> None:
    stream = io.StringIO()
    packed = PackedPanels(stream)
    noise = random.Random(1)
    packed.add("noise", "".join(chr(noise.randrange(33, 127)) for _ in range(700_000)))
    packed.finish()
    sizes = [len(text) for _, text in _CHUNK.findall(stream.getvalue())]
    assert len(sizes) == 4
    assert max(sizes) <= 256 * 1024


def test_panels_beyond_the_limit_are_left_out_whole() -> None:
    stream = io.StringIO()
    packed = PackedPanels(stream, most_bytes=300_000)
    noise = random.Random(2)
    added = [packed.add(str(n), noise.randbytes(40_000).hex()) for n in range(40)]
    packed.finish()
    assert 1 < sum(added) < 40
    assert added == sorted(added, reverse=True)
    assert set(packed.lengths) == {str(n) for n, was_added in enumerate(added) if was_added}
    assert len(stream.getvalue()) < 300_000 + 2 * CHUNK_BYTES


def test_a_panel_far_larger_than_what_is_left_does_not_take_the_room_of_others() -> None:
    packed = PackedPanels(io.StringIO(), most_bytes=500_000)
    assert not packed.add("huge", "x" * 5_000_000)
    assert packed.add("small", "x")
