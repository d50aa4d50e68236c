"""The lines of a run's cases in plain Python: what a store says in its own words has to come to the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from evalharness.domain.case_line import (
    TRIAL_MARKS,
    URGENCY,
    CaseLine,
    CasePage,
    CaseQuery,
    CaseTally,
    case_state,
    search_text,
)
from evalharness.domain.run import Run
from evalharness.domain.trial import GRADED


def line_of(run: Run, position: int, rows: Sequence[Mapping[str, Any]]) -> CaseLine:
    """`rows` are the columns of the case's finished trials, in order."""
    case, states = run.suite.cases[position], Counter(row["state"] for row in rows)
    graded = [row for row in rows if row["state"] in GRADED]
    scores = [0.0 if row["score"] is None and row["state"] == "failed" else row["score"] for row in rows]
    counts = (states["passed"], len(graded), states["error"], states["awaiting"], run.lock.trials - len(rows))
    tokens = [(row["input_tokens"], row["output_tokens"]) for row in rows]
    known = [sum(number or 0 for number in pair) for pair in tokens if pair != (None, None)]
    costs = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    return CaseLine(
        position=position,
        case_id=case.id,
        name=case.name,
        category=run.suite.category_of(case) or case.category,
        tags=case.tags,
        state=case_state(*counts, run.suite.case_threshold),
        trials=run.lock.trials,
        marks="".join(TRIAL_MARKS[row["state"]] for row in rows),
        passed=states["passed"],
        graded=len(graded),
        score=_mean(scores),
        latency_s=_mean([row["duration_s"] for row in graded]),
        cost_usd=_mean([row["cost_usd"] for row in graded]),
        spent_usd=sum(costs) if costs else None,
        tokens=sum(known) if known else None,
        tool_calls=sum(row["tool_calls"] for row in rows) if rows else None,
        first_not_passed=next((row["trial_index"] for row in rows if row["state"] != "passed"), None),
    )


def _mean(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return fmean(known) if known else None


def tallies_of(lines: Sequence[CaseLine]) -> tuple[CaseTally, ...]:
    found: dict[tuple[str, str], list[CaseLine]] = {}
    for line in sorted(lines, key=lambda line: (line.category, line.state)):
        found.setdefault((line.category, line.state), []).append(line)
    return tuple(
        CaseTally(category, some[0].state, len(some), sum(line.score or 0.0 for line in some), _scored(some))
        for (category, _), some in found.items()
    )


def _scored(lines: Sequence[CaseLine]) -> int:
    return sum(line.score is not None for line in lines)


def page_of(lines: Sequence[CaseLine], query: CaseQuery) -> CasePage:
    found = [line for line in lines if _meets(line, query)]
    found.sort(key=lambda line: line.position)
    keyed = [(_sorted_by(line, query), line) for line in found]
    known = sorted(((key, line) for key, line in keyed if key is not None), key=_first, reverse=query.descending)
    ordered = [line for _, line in known] + [line for key, line in keyed if key is None]
    return CasePage(ordered[query.offset : query.offset + query.limit], len(found))


def _first(pair: tuple[Any, CaseLine]) -> Any:
    return pair[0]


def _meets(line: CaseLine, query: CaseQuery) -> bool:
    states = {"": True, "not_passed": line.state != "passed", "flaky": line.is_flaky}
    return (
        states.get(query.state, line.state == query.state)
        and query.category in ("", line.category)
        and (not query.tag or query.tag in line.tags)
        and query.words in search_text(f"{line.case_id}\n{line.name}")
    )


def _sorted_by(line: CaseLine, query: CaseQuery) -> Any:
    return {
        "position": line.position,
        "urgency": URGENCY.index("flaky" if line.is_flaky else line.state),
        "id": line.case_id,
        "name": line.name,
        "score": line.score,
        "rate": line.rate,
        "cost": line.cost_usd,
        "latency": line.latency_s,
    }[query.sort]
