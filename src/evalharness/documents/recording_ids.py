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
_DOCUMENTED = re.compile(r"eval__(.+)__(.+)__(.+)__(.+)__inv([0-9]{1,18})", re.DOTALL)
_AFTER_DATASET = re.compile(r"(.+)__(.+)__(.+)__inv([0-9]{1,18})", re.DOTALL)
_MOST_INVOCATIONS = 10**18


class RecordingParts(NamedTuple):
    dataset_id: str
    case_id: str
    variant_id: str
    node_id: str
    invocation: int


def generate_recording_id(dataset_id: str, case_id: str, variant_id: str, node_id: str, invocation: int) -> str:
    """`parse_recording_id` gives the same parts back, so what it could not read raises ValueError.

    The first invocation is number 0.
    """
    ids = (dataset_id, case_id, variant_id, node_id)
    if not isinstance(invocation, int) or isinstance(invocation, bool):
        raise ValueError(f"invocation must be a whole number, not {invocation!r}")
    if invocation < 0:
        raise ValueError("invocation must be at least 0")
    if invocation >= _MOST_INVOCATIONS:
        raise ValueError("invocation must have at most 18 digits")
    if not all(isinstance(id_, str) and id_ for id_ in ids):
        raise ValueError("every id is a text of at least one character")
    return _SEPARATOR.join(["eval", *map(_escape, ids), f"inv{invocation}"])


def parse_recording_id(recording_id: str, dataset_id: str = "") -> RecordingParts | None:
    """None when it is not the id of a recording.

    Ids as other tools write them are understood too: with plain slashes and underscores as they are. Underscores that
    may belong to several parts go to the first of them: to the dataset, or to the case where the dataset is known.
    """
    if not isinstance(recording_id, str):
        return None
    start = f"eval{_SEPARATOR}{dataset_id}{_SEPARATOR}"
    if dataset_id and recording_id.startswith(start):
        found = _AFTER_DATASET.fullmatch(recording_id.removeprefix(start))
        if found is not None:
            return _parts(_escape(dataset_id), *found.groups())
    found = _DOCUMENTED.fullmatch(recording_id)
    return None if found is None else _parts(*found.groups())


def _parts(*written: str) -> RecordingParts | None:
    try:
        dataset, case, variant, node = (unquote(id_, errors="surrogatepass") for id_ in written[:4])
    except UnicodeDecodeError:
        return None
    return RecordingParts(dataset, case, variant, node, int(written[4]))


def _escape(id_: str) -> str:
    return _ESCAPED.sub(
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")), id_
    )
