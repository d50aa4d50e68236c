"""The trend of one target: its runs put side by side. Pure: outlines in, figures out; no trial is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from evalharness.domain.case_result import CaseResult
from evalharness.domain.report import FlakyCase, Report
from evalharness.domain.stored import RunOutline
from evalharness.domain.trend import CaseMoment, CaseTrend, SuiteChange, TargetTrend, TrendRun

JUDGED = ("passed", "failed")


def is_gap(report: Report | None) -> bool:
    """Whether a run broke or was not finished, so that its figures say nothing of the target."""
    return report is None or report.is_broken or report.verdict == "INTERRUPTED"


def target_trend(
    target: str,
    outlines: Sequence[RunOutline],
    baselines: Mapping[str, tuple[str, ...]],
    present: Collection[str],
    flaky: Sequence[FlakyCase],
    before: Sequence[RunOutline] = (),
) -> TargetTrend:
    """Of runs oldest first.

    `baselines`: by run, their names; `present`: the cases that the suite has now, if known; `flaky`: those of the
    newest run that counts; `before`: earlier runs, of which only what they asked is of interest.
    """
    changes, left_out = _suite_changes([*before, *outlines], present)
    reports = [None if is_gap(outline.report) else outline.report for outline in outlines]
    now_failing, fixed = _moved([report for report in reports if report is not None])
    return TargetTrend(
        target=target,
        runs=tuple(
            _run(outline, changes[number], left_out[number], baselines.get(outline.id, ()))
            for number, outline in enumerate(outlines, len(before))
        ),
        cases=_cases([outline.report for outline in outlines]),
        now_failing=now_failing,
        fixed=fixed,
        flaky=tuple(case for case in flaky if case.counts_as_flaky),
    )


def _run(outline: RunOutline, change: SuiteChange | None, left_out: int, baselines: tuple[str, ...]) -> TrendRun:
    report = outline.report
    about = {
        "run_id": outline.id,
        "run_name": outline.name,
        "started_at": outline.created_at,
        "baselines": baselines,
        "change": change,
        "left_out": left_out,
    }
    if report is None:
        return TrendRun(**about, verdict="", is_gap=True)
    found = report.measurements
    return TrendRun(
        **about,
        verdict=report.verdict,
        is_gap=is_gap(report),
        pass_rate=found.get("pass_rate"),
        latency_s=found["latency_s"].value if "latency_s" in found else None,
        cost_usd=found["cost_usd"].value if "cost_usd" in found else None,
        cases=report.summary.total_evals,
    )


def _suite_changes(
    outlines: Sequence[RunOutline], present: Collection[str]
) -> tuple[list[SuiteChange | None], list[int]]:
    """For each run, how the suite had changed, and how many of its cases were not asked.

    A case that is missing was removed if nobody asks it any more; otherwise the run was one of selected cases.
    """
    asked = [_keys(outline) for outline in outlines]
    last = {case_id: number for number, keys in enumerate(asked) for case_id in keys}
    last |= dict.fromkeys(present, len(asked))
    known: dict[str, str] = {}
    changes: list[SuiteChange | None] = []
    left_out: list[int] = []
    for number, keys in enumerate(asked):
        if not keys:  # stored by a version that did not keep cases, or never came to a stop
            changes.append(None)
            left_out.append(0)
            continue
        gone = [case_id for case_id in known if last[case_id] < number]
        change = SuiteChange(
            changed=sum(known[case_id] != key for case_id, key in keys.items() if case_id in known),
            added=sum(case_id not in known for case_id in keys),
            removed=len(gone),
        )
        changes.append(change if known and change != SuiteChange() else None)
        for case_id in gone:
            del known[case_id]
        known |= keys
        left_out.append(len(known) - len(keys))
    return changes, left_out


def _keys(outline: RunOutline) -> dict[str, str]:
    return {case.case_id: case.key for case in outline.report.cases} if outline.report else {}


def _moved(reports: Sequence[Report]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cases of the newest run that passed when they were last judged and fail now, and the other way round."""
    if not reports:
        return (), ()
    before: dict[str, CaseResult] = {}
    for report in reports[:-1]:
        before |= {case.case_id: case for case in report.cases if case.state in JUDGED}
    now_failing: list[str] = []
    fixed: list[str] = []
    for case in reports[-1].cases:
        earlier = before.get(case.case_id)
        if earlier is None or earlier.key != case.key or case.state not in JUDGED or earlier.state == case.state:
            continue
        (fixed if case.state == "passed" else now_failing).append(case.case_id)
    return tuple(now_failing), tuple(fixed)


def _cases(reports: Sequence[Report | None]) -> tuple[CaseTrend, ...]:
    """Of a run that broke, the cases that ended in an error: its other results say nothing of the target."""
    rows: dict[str, list[CaseMoment]] = {}
    for number, report in enumerate(reports):
        for case in _telling(report):
            rows.setdefault(case.case_id, ["absent"] * len(reports))[number] = _moment(case)
    return tuple(CaseTrend(case_id=case_id, moments=tuple(moments)) for case_id, moments in rows.items())


def _telling(report: Report | None) -> Sequence[CaseResult]:
    if report is None:
        return ()
    if not is_gap(report):
        return report.cases
    return [case for case in report.cases if report.is_broken and case.state == "error"]


def _moment(case: CaseResult) -> CaseMoment:
    if case.state in JUDGED and 0 < case.passed < case.trials:
        return "flaky"
    return case.state  # type: ignore[return-value]  # written as text, so that many are read quickly
