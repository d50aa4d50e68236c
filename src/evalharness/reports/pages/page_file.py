"""A page as one file: the page itself, then the packed panels of its cases and their index, then the script."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO, Any

from markupsafe import Markup

from evalharness.domain.reported_run import Presentation
from evalharness.reports.pages.case_panel import CasePanel
from evalharness.reports.pages.packed_panels import CHUNK_BYTES, PackedPanels, packed_json, script_element
from evalharness.reports.pages.page_templates import Frame, PageTemplates, content_policy, page_source

BEGINNING = "<!doctype html>\n<!-- evalharness report -->"
DATA = Markup("<!-- packed data -->")
"""Where the data go; no text of a run can contain it, since `<` is escaped."""


class PageFile:
    """Writes one page; `templates` are those of this report, with its secrets."""

    def __init__(self, stream: IO[str], presentation: Presentation) -> None:
        self.templates = PageTemplates(presentation.redact, frame=_frame())
        self._stream = stream

    def write(
        self,
        template: str,
        panels: Iterable[tuple[str, Callable[[], str]]] = (),
        index: dict[str, Any] | None = None,
        **values: Any,
    ) -> None:
        """`panels` are made one by one, the most important first: those behind the size limit are left out."""
        before, after = self.templates.render(template, **values).split(DATA)
        self._stream.write(before)
        lengths = self._write_panels(panels)
        known = {**(index or {}), "chunk": CHUNK_BYTES, "panels": list(lengths.items())}
        self._stream.write(script_element("index", packed_json(known)))
        self._stream.write(after)

    def panel(self, panel: CasePanel | None) -> str:
        return self.templates.render("case_panel.html", panel=panel) if panel else ""

    def _write_panels(self, panels: Iterable[tuple[str, Callable[[], str]]]) -> dict[str, int]:
        packed = PackedPanels(self._stream)
        for key, make in panels:
            if packed.is_full:
                break
            if html := make():
                packed.add(key, html)
        packed.finish()
        return packed.lengths


def _frame() -> Frame:
    script, style = page_source("script.js"), page_source("style.css")
    policy = content_policy(script, style)
    return Frame(
        beginning=Markup(BEGINNING),
        head=Markup(
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f'<meta name="referrer" content="no-referrer">\n<style>{style}</style>'
        ),
        foot=Markup(f"{DATA}\n<script>{script}</script>"),
    )
