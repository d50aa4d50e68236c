"""What all pages share: templates, assets, addresses, how commands name the store. `site: Site` gives it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from evalharness.domain.reported_run import Presentation
from evalharness.harness import named_store
from evalharness.reports.pages.page_commands import PageCommands
from evalharness.reports.pages.page_templates import Frame, PageTemplates, page_source
from evalharness.server.context import ServerContext
from evalharness.server.links import Links

ASSETS = {"style": "css", "script": "js", "review": "js", "icon": "svg"}


class PageSite:
    """One for each server: templates are compiled once."""

    def __init__(self, context: ServerContext) -> None:
        options = context.options
        self.link = Links(options.root_path)
        self.store = None if options.store == named_store(None) else options.store
        """As commands have to name it."""
        self.commands = PageCommands(self.store)
        self.presentation = Presentation(context.harness.redact, store=self.store)
        self._templates = PageTemplates(context.harness.redact, self.link, _frame(self.link, options.root_path))
        self._templates.compile_all()

    def page(self, template: str, place: str = "", status: int = 200, **values: Any) -> HTMLResponse:
        """`place` is the main page that it belongs to."""
        return HTMLResponse(self._templates.render(template, place=place, **values), status)

    def part(self, template: str, **values: Any) -> HTMLResponse:
        """A part of a page, which its script asked for."""
        return HTMLResponse(self._templates.render(template, **values))

    def markup(self, template: str, **values: Any) -> Markup:
        return Markup(self._templates.render(template, **values))


def _site_of(request: Request) -> PageSite:
    site: PageSite = request.app.state.site
    return site


Site = Annotated[PageSite, Depends(_site_of)]


def _frame(link: Links, root: str) -> Frame:
    style, script, icon = (f"{root}/assets/{asset_name(name)}" for name in ("style", "script", "icon"))
    head = Markup('<link rel="icon" href="{}">\n<link rel="stylesheet" href="{}">\n<script src="{}"></script>').format(
        icon, style, script
    )
    return Frame(beginning=Markup("<!doctype html>"), head=head, places=link.places())


@cache
def asset_name(name: str) -> str:
    """With a hash of what is in it: a browser keeps it until there is another one."""
    source = page_source(f"{name}.{ASSETS[name]}")
    return f"{name}-{hashlib.sha256(source.encode()).hexdigest()[:16]}.{ASSETS[name]}"


def shown_folder(folder: Path) -> str:
    """Relative to the current folder where it is below it."""
    here = Path.cwd()
    path = folder.resolve()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
