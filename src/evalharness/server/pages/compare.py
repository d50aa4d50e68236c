"""Two runs side by side: any two can be chosen, and swapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from markupsafe import Markup

from evalharness.actions.list_runs import list_runs
from evalharness.domain.stored import RunLine
from evalharness.errors import HarnessError, UnknownName
from evalharness.reports.pages.compare_page import TITLES
from evalharness.server.comparisons import comparison_of, panel_of
from evalharness.server.context import Server, ServerContext
from evalharness.server.failures import Refusal
from evalharness.server.pages.site import PageSite, Site

router = APIRouter(include_in_schema=False)
OFFERED_RUNS = 100


@dataclass(frozen=True, slots=True)
class Chooser:
    """What the form at the head offers: value and words of each run, and which are chosen."""

    runs: Sequence[tuple[str, str]]
    old: str
    new: str
    swapped: str
    """The address with the two the other way round."""
    command: str


@router.get("/compare")
def compare(server: Server, site: Site, a: str = "", b: str = "", case: str = "", part: str = "") -> HTMLResponse:
    """`a` is what was before, `b` what is now: runs, or baselines."""
    if not (a and b):
        chooser = _chooser(server, site, a, b)
        return site.page("compare_choice.html", "Compare", chooser=chooser, problem="")
    try:
        kept = comparison_of(server, site.presentation, a, b)
    except UnknownName:
        raise
    except HarnessError as error:  # they do not fit together, which is said beside the choice
        chooser = _chooser(server, site, a, b)
        problem = server.harness.redact(error.message)
        return site.page("compare_choice.html", "Compare", 400, chooser=chooser, problem=problem)
    panel = panel_of(server, site.presentation, kept, case) if case else None
    if part:
        if panel is None:
            raise Refusal(404, f"nothing more is known of case {case}")
        return site.part("compare_panel.html", panel=panel)
    old, new = kept.head.old, kept.head.new
    opened = site.markup("compare_panel.html", panel=panel) if panel else Markup()
    return site.page(
        "compare.html",
        "Compare",
        comparisons=[kept.shown],
        titles=TITLES,
        chooser=_chooser(server, site, old.run_id or a, new.run_id or b, (old.run_name, new.run_name)),
        opened=opened,
        opened_id=case,
    )


def _chooser(
    server: ServerContext, site: PageSite, old: str, new: str, names: tuple[str, str] = ("RUN", "RUN")
) -> Chooser:
    finished = [line for line in server.harness.call(list_runs, OFFERED_RUNS, None).lines if line.finished_at]
    offered = dict(map(_offered, finished))
    swapped = site.link(old=new, new=old) if old and new else ""
    if not (old or new):
        old, new = _newest_pair(finished)
    for chosen, name in ((old, names[0]), (new, names[1])):
        if chosen and chosen not in offered:
            offered = {chosen: name if name != "RUN" else chosen, **offered}
    words = [offered[chosen].partition(" ")[0] if chosen else "" for chosen in (old, new)]
    return Chooser(
        runs=list(offered.items()),
        old=old,
        new=new,
        swapped=swapped,
        command=site.commands.compare(*words),
    )


def _offered(line: RunLine) -> tuple[str, str]:
    parts = (f"{line.name} · {line.suite_name}", line.variant, line.verdict)
    return line.id, " · ".join(part for part in parts if part)


def _newest_pair(lines: Sequence[RunLine]) -> tuple[str, str]:
    """The newest run with one of its suite before it: what one most likely wants to compare."""
    for place, newest in enumerate(lines):
        for before in lines[place + 1 :]:
            if before.suite_name == newest.suite_name:
                return before.id, newest.id
    return (lines[-1].id, lines[0].id) if lines else ("", "")
