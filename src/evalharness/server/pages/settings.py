"""The settings of the server, to be read: they are given by the flags of `serve`."""

from __future__ import annotations

import platform

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from evalharness.reports.pages.page_commands import REGISTER
from evalharness.reports.pages.run_page import FigureRow
from evalharness.server.context import Server
from evalharness.server.pages.site import Site
from evalharness.version import VERSION

router = APIRouter(include_in_schema=False)


@router.get("/settings")
def settings(server: Server, site: Site) -> HTMLResponse:
    """Never the token, nor any other secret."""
    options = server.options
    targets = [FigureRow(name, spec) for name, spec in options.targets.items()]
    groups = [
        (
            "Server",
            [
                FigureRow("version", VERSION),
                FigureRow("Python", platform.python_version()),
                FigureRow("address", f"{options.host}:{options.port}"),
                *([FigureRow("path behind the proxy", options.root_path)] if options.root_path else []),
                *([FigureRow("trusted hosts", ", ".join(options.trusted_hosts))] if options.trusted_hosts else []),
            ],
        ),
        (
            "What it reads and writes",
            [FigureRow("store", options.store), FigureRow("suites below", str(options.suites))],
        ),
        ("Registered targets", targets or [FigureRow("none", REGISTER)]),
        ("Limits", [FigureRow("runs at once", str(options.jobs), "further ones wait in a queue")]),
    ]
    return site.page("settings.html", "Settings", groups=groups)
