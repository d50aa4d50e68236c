"""What can be done with a run from its page, each with the command that does the same."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.job import Job
from evalharness.domain.run import Run
from evalharness.domain.stored import RunOverview
from evalharness.reports.pages.page_actions import PageAction, PageActions
from evalharness.reports.words.job_command import rerun_of
from evalharness.server.pages.baselines import promotion
from evalharness.server.pages.site import PageSite


class RunActions:
    def __init__(self, site: PageSite, run_id: str, name: str) -> None:
        self._site, self._run_id, self._name = site, run_id, name

    def to(self, what: str) -> str:
        return f"{self._site.link(run=self._run_id)}/{what}"

    def cancel(self, job: Job) -> PageAction:
        command = self._site.commands.cancel(job.process.pid if job.process else None)
        return PageAction("Cancel", self.to("cancel"), command, "What is finished is kept.")

    def resume(self) -> PageAction:
        about = "Run what is pending, and again what ended in error."
        return PageAction("Resume", self.to("resume"), self._site.commands.resume(self._name), about)

    def rerun(self, run: Run, *, only_failed: bool) -> PageAction | None:
        """None for a run that cannot be named again: it was started from Python."""
        asked = rerun_of(run, run.name if only_failed else None)
        if not asked.suite:
            return None
        command = self._site.commands.run(asked)
        if only_failed:
            about = "A new run of the cases that did not pass."
            return PageAction("Rerun failed", self.to("rerun"), command, about, {"failed": "yes"})
        return PageAction("Rerun", self.to("rerun"), command, "A new run of the same suite on the same target.")

    def delete(self) -> PageAction:
        """From the page of the run; it asks first."""
        command = self._site.commands.delete(self._name)
        return PageAction("Delete", self.to("delete"), command, "The run with all its trials.", asks=True)

    def delete_now(self) -> PageAction:
        return PageAction("Delete the run", self.to("delete"), self._site.commands.delete(self._name))


def waiting_actions(site: PageSite, job: Job) -> PageActions:
    """Of a run that is not stored yet."""
    actions = RunActions(site, job.run_id, job.run_id)
    if job.is_active:
        return PageActions(first=actions.cancel(job), listed=[actions.cancel(job)])
    return PageActions(first=actions.resume(), listed=[actions.resume(), actions.delete()])


def actions_of(site: PageSite, overview: RunOverview, run: Run, job: Job | None, *, has_siblings: bool) -> PageActions:
    """`run` is the run without its cases."""
    line = overview.line
    actions = RunActions(site, line.id, line.name)
    if job is not None and job.is_active:
        return PageActions(first=actions.cancel(job), listed=[actions.cancel(job)])
    listed = list(_listed(site, actions, overview, run))
    order = ("Resume", "Rerun failed", "Rerun")
    first = next((each for title in order for each in listed if each.title == title), None)
    return PageActions(list(_links(site, overview, has_siblings=has_siblings)), first, listed)


def _links(site: PageSite, overview: RunOverview, *, has_siblings: bool) -> Iterator[tuple[str, str]]:
    if has_siblings:
        yield "Matrix", site.link(matrix=overview.matrix_id)
    if overview.report is not None:
        comparison = overview.report.comparison
        yield "Compare", site.link(old=comparison.old.run_id if comparison else "", new=overview.line.id)


def _listed(site: PageSite, actions: RunActions, overview: RunOverview, run: Run) -> Iterator[PageAction]:
    report = overview.report
    if report is None or report.summary.pending or report.summary.trials.error or report.summary.trials.awaiting:
        yield actions.resume()
    if report is not None and overview.line.finished_at:
        yield promotion(overview.line.id, overview.line.name, site)
    kinds = (True, False) if report is not None and report.failures else (False,)
    for only_failed in () if run.regrade_of else kinds:
        if again := actions.rerun(run, only_failed=only_failed):
            yield again
    yield actions.delete()
