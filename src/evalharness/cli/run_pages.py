"""Where the runs of a command can be looked at in a browser: on the server of their store, else in an HTML report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from json import loads
from pathlib import Path
from urllib.parse import urlsplit

from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.server_address import ServerAddress
from evalharness.harness import MEMORY, Harness, named_store
from evalharness.reports.terminal.screen import Screen

REPORTS = "reports"
PATIENCE_S = 5.0


class RunPages:
    def __init__(self, harness: Harness, store: str | None, *, opens: bool) -> None:
        self._harness = harness
        self._store = store
        self._opens = opens
        self._report: Path | None = None

    @cached_property
    def _server(self) -> ServerAddress | None:
        store = named_store(self._store)
        if store == MEMORY:
            return None
        from evalharness.actions.find_server import find_server  # slow to load, and a store in memory has no server

        return self._harness.call(find_server, store)

    def run_started(self, run: Run) -> None:
        """The first one: its page shows how it goes on."""
        if self._opens and self._server is not None:
            from evalharness.cli.browser import open_page_meanwhile

            open_page_meanwhile(self._server.page(f"/runs/{run.id}", _ticket(self._server)))

    def say(self, runs: Sequence[Run], screen: Screen, width: int) -> None:
        if self._server is not None and runs:
            path = f"/runs/{runs[0].id}" if len(runs) == 1 else f"/matrix/{runs[0].matrix_id}"
            screen.labelled("page", self._server.page(path), width=width)

    def reports(self, reported: Sequence[ReportedRun]) -> Iterable[Path]:
        """The HTML report that has to be written, if any."""
        if self._opens and self._server is None and reported:
            store = named_store(self._store)
            folder = Path.cwd() if store == MEMORY else Path(store).parent / REPORTS
            folder.mkdir(parents=True, exist_ok=True)
            self._report = folder / f"{reported[0].report.metadata.run_name}.html"
            yield self._report

    def open_report(self) -> None:
        if self._report is not None and self._report.exists():
            from evalharness.cli.browser import open_page

            open_page(self._report.as_uri())


def _ticket(server: ServerAddress) -> str:
    """In place of the token: what a browser is started with can be seen by other users of the machine."""
    from http.client import HTTPConnection, HTTPException  # slow to load: few commands open a browser

    parts = urlsplit(server.url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_S)
    try:
        connection.request("POST", f"{parts.path}/api/tickets", headers={"authorization": f"Bearer {server.token}"})
        return str(loads(connection.getresponse().read())["ticket"])
    except (OSError, HTTPException, ValueError, LookupError):
        return ""
    finally:
        connection.close()
