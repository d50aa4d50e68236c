"""Recording ids: `eval__<dataset>__<case>__<variant>__<node>__inv<n>`, one for each invocation of a node in a case.

What would make an id ambiguous or unfit for a file name is written as `%` and hexadecimal digits: doubled, leading and
trailing underscores, slashes, control characters and `%` itself. Every other id stands in it as it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

_SEPARATOR = "__"
_ESCAPED = re.compile(r"(?<![^_])_|_(?![^_])|[%/\\\x00-\x1f\x7f\ud800-\udfff]")
_INVOCATION = re.compile(r"inv([0-9]{1,18})")


class RecordingParts(NamedTuple):
    dataset_id: str
    case_id: str
    variant_id: str
    node_id: str
    invocation: int


def generate_recording_id(dataset_id: str, case_id: str, variant_id: str, node_id: str, invocation: int) -> str:
    """`parse_recording_id` gives the same parts back. The first invocation is number 0."""
    ids = (dataset_id, case_id, variant_id, node_id)
    if invocation < 0:
        raise ValueError(f"invocation must be at least 0, not {invocation}")
    if not all(ids):
        raise ValueError("every id needs at least one character")
    return _SEPARATOR.join(["eval", *map(_escape, ids), f"inv{invocation}"])


def parse_recording_id(recording_id: str) -> RecordingParts | None:
    """None when it is not the id of a recording. Ids with a plain slash, as other tools write them, are understood."""
    pieces = recording_id.split(_SEPARATOR)
    number = _INVOCATION.fullmatch(pieces[-1])
    if len(pieces) != 6 or pieces[0] != "eval" or number is None or not all(pieces):
        return None
    try:
        dataset, case, variant, node = (unquote(id_, errors="surrogatepass") for id_ in pieces[1:5])
    except UnicodeDecodeError:
        return None
    return RecordingParts(dataset, case, variant, node, int(number[1]))


def _escape(id_: str) -> str:
    return _ESCAPED.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")), id_
    )
