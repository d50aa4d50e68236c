"""Retrieved documents: the list of them in a JSON value, and the ranks of the expected ones in it.

A document is a text or a number, or a mapping in which a field has its id or its text. Ranks start at 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from evalharness.documents.http_messages import is_response
from evalharness.domain.case import as_text
from evalharness.stats.rank_figures import RankFigures, rank_figures
from evalharness.values.json_value import MISSING, Json, look_along, steps
from evalharness.values.text import shown

Match = Literal["exact", "contains"]

LISTS = (
    *("retrieved", "retrieveddocs", "retrieveddocuments", "retrievedcontexts", "retrievalcontext", "documents", "docs"),
    *("contexts", "context", "chunks", "passages", "results", "hits", "matches", "sourcedocuments", "sources"),
    *("sourcenodes", "nodes", "citations"),
)
"""Fields that have the retrieved documents, the likeliest first; here and below without regard to case and `_`."""
IDS = (
    *("id", "docid", "documentid", "chunkid", "source", "path", "filepath", "file", "filename", "url", "uri", "title"),
)
TEXTS = ("text", "content", "pagecontent", "passage", "chunk", "snippet", "body")
INSIDE = ("metadata", "document", "node")
"""Fields of a document in which its id or text may be."""


def documents_in(value: Json) -> Sequence[Json] | None:
    """The list of documents that a value is or has in an obvious field; None if there is none."""
    found = value["body"] if is_response(value) else value
    while isinstance(found, Mapping):
        fields = _by_name(found)
        found = next((fields[name] for name in LISTS if isinstance(fields.get(name), Mapping | list | tuple)), None)
    return found if isinstance(found, list | tuple) else None


def gains_of(written: Any) -> dict[str, float]:
    """What each expected document is worth: `written` is one, a list of them, or a mapping from each to its gain.

    Raises ValueError, saying why, if it is none of these.
    """
    listed = written if isinstance(written, list | tuple | Mapping) else (written,)
    gains: dict[str, float] = {}
    for document in listed:
        if not is_name(document) or not _one_line(as_text(document)):
            raise ValueError("must have text or a number for each document: its id or its text")
        gain = listed[document] if isinstance(listed, Mapping) else 1
        if not isinstance(gain, int | float) or isinstance(gain, bool) or not 0 < gain < math.inf:
            raise ValueError(f"must have gains above 0; the gain of {shown(as_text(document))} is {gain!r:.40}")
        gains[as_text(document)] = float(gain)
    if not gains:
        raise ValueError("is empty; list at least one document")
    return gains


class Comparison:
    """What is expected, and how a retrieved document is recognised as one of these.

    `expected` has what each document is worth. If `field` is empty, every field counts that usually has an id or a
    text; to find texts within texts, only those with a text.
    """

    def __init__(self, expected: Mapping[str, float], field: str = "", match: Match = "exact") -> None:
        self.expected = expected
        self._field = steps(field)
        self._match = match
        self._names = {_one_line(name): name for name in expected}

    def ranks(self, documents: Sequence[Json]) -> dict[str, int | None]:
        """Where each expected document is; a document that is retrieved again counts at its first rank only."""
        ranks: dict[str, int | None] = dict.fromkeys(self.expected)
        for rank, document in enumerate(documents, 1):
            for name in self._recognised(document):
                ranks[name] = ranks[name] or rank
        return ranks

    def figures(self, ranks: Mapping[str, int | None], retrieved: int, k: int | None) -> RankFigures:
        return rank_figures(list(self.expected.values()), list(ranks.values()), retrieved, k)

    def label(self, document: Json) -> str:
        """How a document is called in a report: by its id, else its text."""
        return next(self._texts(document, (*IDS, *TEXTS)), "") or as_text(document)

    def _recognised(self, document: Json) -> Iterator[str]:
        if self._match == "exact":
            known = (self._names.get(text) for text in self._texts(document, (*IDS, *TEXTS)))
            yield from (name for name in known if name is not None)
            return
        for text in self._texts(document, TEXTS):
            yield from (name for wanted, name in self._names.items() if wanted in text)

    def _texts(self, document: Json, fields: Sequence[str]) -> Iterator[str]:
        if not isinstance(document, Mapping):
            found = [document]
        elif self._field:
            found = [look_along(document, self._field)]
        else:
            outer = _by_name(document)
            inner = [_by_name(outer[name]) for name in INSIDE if isinstance(outer.get(name), Mapping)]
            found = [each.get(name) for each in (outer, *inner) for name in fields]
        yield from (_one_line(as_text(each)) for each in found if each is not MISSING and is_name(each))


def is_name(value: Json) -> bool:
    """Whether a value can be a document's id or text."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _one_line(text: str) -> str:
    """White space of any kind and length is one space, as chunking changes it."""
    return " ".join(text.split())


def _by_name(mapping: Mapping[str, Json]) -> dict[str, Json]:
    return {str(key).replace("_", "").lower(): value for key, value in mapping.items()}
