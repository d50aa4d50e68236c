"""Results of recorded sessions compared with earlier ones, by the rule of docker-agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

from evalharness.documents.session_checks import state_of
from evalharness.documents.session_results import NOT_RUN, EvalRun, Result, Summary
from evalharness.domain.session_comparison import EvalChange, EvalState, SessionComparison, SessionFigure

_EXACT = 1e-9
_STATES: dict[str, EvalState] = {"passed": "pass", "failed": "fail", "error": "fail"}


def compare_sessions(before: EvalRun, now: EvalRun, tolerance: float) -> SessionComparison:
    """A quality that fell by more than `tolerance` is a regression, and so is each eval that passed and fails now."""
    figures, new = dict(_figures(before.summary)), dict(_figures(now.summary))
    shared = [name for name in figures if name in new]
    was, becomes = states_by_eval(before.results), states_by_eval(now.results)
    changes = [
        EvalChange(name=name, before=was.get(name, "absent"), now=becomes.get(name, "absent"))
        for name in {**was, **becomes}
        if was.get(name, "absent") != becomes.get(name, "absent")
    ]
    return SessionComparison(
        baseline=before.name,
        tolerance=tolerance,
        figures=tuple(_compared(name, figures[name], new[name], max(0.0, tolerance)) for name in shared),
        changes=tuple(sorted(changes, key=lambda change: (not change.regressed, change.name))),
    )


def _compared(name: str, before: float, now: float, tolerance: float) -> SessionFigure:
    is_informational = name in ("cost", "pass@k", "pass^k")
    loss = now - before if name == "failure rate" else before - now
    regressed = not is_informational and loss > tolerance + _EXACT
    return SessionFigure(name=name, before=before, now=now, regressed=regressed, informational=is_informational)


def _figures(summary: Summary) -> Iterator[tuple[str, float]]:
    """Those for which there is something to count."""
    shares = {
        "failure rate": (summary.failed_evals, summary.total_evals),
        "sizes": (summary.sizes_passed, summary.sizes_total),
        "tool calls": (summary.tools_f1_sum, summary.tools_count),
        "relevance": (summary.relevance_passed, summary.relevance_total),
        "assertions": (summary.assertions_passed, summary.assertions_total),
    }
    yield from ((name, reached / total) for name, (reached, total) in shares.items() if total)
    yield "cost", summary.total_cost
    if summary.repeats is not None:
        yield "pass@k", summary.repeats.pass_at_k
        yield "pass^k", summary.repeats.pass_hat_k


def states_by_eval(results: Iterable[Result]) -> dict[str, EvalState]:
    """Any failure among repeats counts; what was not judged is no state."""
    found: dict[str, EvalState] = {}
    for result in results:
        state = _STATES.get(state_of(result))
        name = PurePath(result.input_path).name
        if state is not None and name and result.error != NOT_RUN:
            found[name] = "fail" if "fail" in (state, found.get(name)) else "pass"
    return found
