"""Where the server of a store is, for whoever may use it: kept in a file beside the store that only its owner reads."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlencode

from evalharness.domain.job import ProcessMark
from evalharness.domain.record import Record

STORE_FOLDER, STORE_FILE = ".evalharness", "store.db"
ADDRESS_FILE = "server.json"


class ServerAddress(Record):
    url: str
    """Without a slash at its end."""
    token: str
    process: ProcessMark
    """The last server of this store, which need not be running any more."""

    def page(self, path: str = "/", token: str = "") -> str:
        """The address of a page; a browser that has opened one with the token once needs it no more."""
        return f"{self.url}{quote(path)}{token and '?' + urlencode({'token': token})}"


def address_file(store: str, project: Path) -> Path:
    """Beside a store that is a file; two stores in one folder have two. That of any other store is in the project."""
    path = Path(store)
    if not path.is_absolute():  # NAME:PLACE, and the place may hold a password
        return project / STORE_FOLDER / f"{store.partition(':')[0]}-{ADDRESS_FILE}"
    return path.with_name(ADDRESS_FILE if path.name == STORE_FILE else f"{path.name}-{ADDRESS_FILE}")
