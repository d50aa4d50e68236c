"""The page of a case: what was asked, and its trials; or its panel alone, for the table that it is opened in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from evalharness.actions.open_case import OpenedCase, open_case
from evalharness.domain.case_line import CaseQuery
from evalharness.domain.review import Remark
from evalharness.reports.pages.case_panel import CasePanel, PanelMaker
from evalharness.reports.pages.case_rows import row_of_line
from evalharness.server.context import Server, ServerContext
from evalharness.server.failures import Refusal
from evalharness.server.pages.site import PageSite, Site

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class CasePage:
    id: str
    suite: str
    run_id: str
    run_name: str
    state: str
    share: str
    number: int
    total: int
    before: str
    """The address of the case before it in the suite; so is `after` of the one behind it."""
    after: str


@router.get("/runs/{reference}/cases")
@router.get("/runs/{reference}/cases/{name:path}")
def case(
    server: Server, site: Site, reference: str, name: str, trial: int = 0, message: int = 0, part: str = ""
) -> HTMLResponse:
    """The first way in is for ids that browsers would change in a path. `trial` counts from 1."""
    opened = server.harness.call(open_case, reference, name)
    panel = _panel(opened, site, trial, message) if opened.trials else None
    if part:
        if panel is None:
            raise Refusal(404, f"no trial of {name} is finished yet")
        return site.part("case_panel.html", panel=replace(panel, is_alone=False))
    return site.page("case.html", "Runs", page=_page(server, site, opened), panel=panel)


def _page(server: ServerContext, site: PageSite, opened: OpenedCase) -> CasePage:
    line, run = opened.line, opened.run.line
    first = max(0, line.position - 1)
    beside = server.harness.context.store.case_page(run.id, CaseQuery(offset=first, limit=3))
    ids = {each.position: each.case_id for each in beside.lines}
    row = row_of_line(line)

    def at(position: int) -> str:
        return site.link(run=run.id, case=ids[position]) if position in ids else ""

    return CasePage(
        id=line.case_id,
        suite=run.suite_name,
        run_id=run.id,
        run_name=run.name,
        state=row.state,
        share=row.share,
        number=line.position + 1,
        total=beside.total,
        before=at(line.position - 1),
        after=at(line.position + 1),
    )


def _remarks(remarks: Iterable[Remark]) -> dict[tuple[int, str], list[str]]:
    found: dict[tuple[int, str], list[str]] = {}
    for each in remarks:
        said = f"{each.reviewer} {'agrees' if each.agrees else 'disagrees'}"
        text = f"{said}: {each.comment}" if each.comment else said
        found.setdefault((each.trial_index + 1, each.grader), []).append(text)
    return found


def _panel(opened: OpenedCase, site: PageSite, trial: int, message: int) -> CasePanel:
    run = opened.run.line
    made = PanelMaker().panel(
        opened.case,
        opened.graders,
        opened.trials,
        command=site.commands.show(run.name, opened.line.case_id),
        key=opened.line.case_id,
        before=opened.before,
    )
    chosen = _holding(trial, (each.numbers for each in made.trials))
    return replace(
        made,
        run=run.id,
        is_alone=True,
        remark_at=f"{site.link(run=run.id)}/remarks",
        remarks=_remarks(opened.remarks),
        here=message if message > 0 and (chosen is not None or not trial) else 0,
        opened=made.opened if chosen is None else chosen,
    )


def _holding(trial: int, groups: Iterable[Iterable[int]]) -> int | None:
    return next((at for at, numbers in enumerate(groups) if trial in numbers), None)
