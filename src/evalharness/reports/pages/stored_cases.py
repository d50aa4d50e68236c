"""The cases and trials of a run as pages read them: from the store, or, of a report file, what it tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.reports.pages.case_panel import CasePanel, PanelMaker
from evalharness.reports.pages.run_page import show_command


class StoredCases:
    def __init__(self, run: ReportedRun, presentation: Presentation) -> None:
        self._run = run
        self._presentation = presentation
        self._asked = {case.id: case for case in run.asked()}
        self._written = _by_case(run) if run.run is None else {}

    def trials(self, case_id: str) -> list[Trial]:
        return self._written.get(case_id, []) if self._run.run is None else list(self._run.trials_of(case_id))

    def panel(
        self, case_id: str, maker: PanelMaker, *, key: str = "", whose: str = "", is_brief: bool = False
    ) -> CasePanel | None:
        """None where nothing is known of the case but its figures."""
        trials, run = self.trials(case_id), self._run
        if not trials:
            return None
        case = self._asked.get(case_id) or Case(id=case_id, input="")
        panel = maker.panel(
            case,
            run.run.suite.graders_for(case) if run.run else (),
            trials,
            command=show_command(run, self._presentation, case_id) if run.run else "",
            key=key or case_id,
            whose=whose,
            before=list(run.before.trials_of(case_id)) if run.before else (),
            is_brief=is_brief,
        )
        return replace(panel, run=run.report.metadata.run_id)


def _by_case(run: ReportedRun) -> dict[str, list[Trial]]:
    found: dict[str, list[Trial]] = {}
    for written in run.trials() or ():
        trial = written if isinstance(written, Trial) else _trial(written)
        found.setdefault(trial.case_id, []).append(trial)
    return found


def _trial(written: Mapping[str, Any]) -> Trial:
    """What a report file has of a trial: the head of its output, its grades and their reasons."""
    output = written.get("output")
    attempt = Attempt(
        state=written["state"],
        score=written.get("score"),
        reason=written.get("reason") or "",
        duration_s=written.get("duration_s") or 0.0,
        grades=_grades(written.get("grades") or ()),
        transcript=None if output is None else Transcript(output=output),
    )
    return Trial(case_id=written["case_id"], index=written["index"], seed=written.get("seed") or 0, attempts=(attempt,))


def _grades(written: Sequence[Mapping[str, Any]]) -> tuple[Grade, ...]:
    known = Grade.model_fields.keys()
    return tuple(Grade.model_validate({key: value for key, value in each.items() if key in known}) for each in written)
