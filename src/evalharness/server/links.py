"""Where the pages are: the `link()` of the templates on a server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, urlencode

PLACES = {
    "Home": "/",
    "Runs": "/runs",
    "Compare": "/compare",
    "Reviews": "/reviews",
    "Baselines": "/baselines",
    "Settings": "/settings",
}
"""The main pages, in the order of the navigation."""
NO_SEGMENT = ("", ".", "..")
"""What browsers take out of a path."""
_CONTROL = re.compile(r"[\x00-\x1f]")


class Links:
    """`root` is the path under which a proxy shows the server."""

    def __init__(self, root: str = "") -> None:
        self._root = root

    def __call__(
        self,
        *,
        page: str = "",
        suite: str = "",
        run: str = "",
        matrix: str = "",
        old: str = "",
        new: str = "",
        case: str = "",
        **more: object,
    ) -> str:
        """`more` goes into the query, except for `key`, which a file needs."""
        query = {name: str(value) for name, value in more.items() if value and name != "key"}
        if page:
            return self._at(f"/{page}", {"suite": suite, **query})
        if run and case:
            address = self._named(f"/runs/{quote(run, safe='')}/cases", case, query)
            return f"{address}#here" if "message" in query else address
        if old or new:
            return self._at("/compare", {"a": old, "b": new, "case": case, **query})
        if suite:
            return self._named("/suites", suite, query)
        if run:
            return self._at(f"/runs/{quote(run, safe='')}", query)
        if matrix:
            return self._at(f"/matrix/{quote(matrix, safe='')}", query)
        return self._at("/", query)

    def places(self) -> list[tuple[str, str]]:
        return [(title, self._at(path, {})) for title, path in PLACES.items()]

    def _named(self, folder: str, name: str, query: Mapping[str, str]) -> str:
        """By the path where browsers and routers let it be, else by the query: a name may be `..`, or of two lines."""
        if _CONTROL.search(name) or any(segment in NO_SEGMENT for segment in name.split("/")):
            return self._at(folder, {"name": name, **query})
        return self._at(f"{folder}/{quote(name, errors='replace')}", query)

    def _at(self, path: str, query: Mapping[str, str]) -> str:
        given = urlencode({name: value for name, value in query.items() if value}, errors="replace")
        return f"{self._root}{path}{f'?{given}' if given else ''}"
