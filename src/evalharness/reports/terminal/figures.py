"""A report's figures as labelled lines: the number first, its interval beside it; how it was found only on request."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evalharness.domain.case import DIFFICULTIES, observation
from evalharness.domain.case_result import CaseResult
from evalharness.domain.measurement import RETRIEVAL_FIGURES, Measurement
from evalharness.domain.plain_numbers import count, digits, percent
from evalharness.domain.report import Group, Report, TrialCounts
from evalharness.reports.terminal.sequential import outcome_of
from evalharness.reports.wording import duration, extra_digits, interval_of, judging_text, money, with_interval
from evalharness.stats.thresholds import SAME

LEAST_LEVEL = 0.9
HIGH_SCORE = 0.9
"""Of a failed case: it needs a word of explanation."""
SCALE = 19
"""Columns of a drawn interval, from 0 to 100 %."""
WIDE = 0.15
FEW_CASES = 30
"""Below this number of cases, an interval that reaches further to a side than `WIDE` is explained by them."""


BRIEF_RETRIEVAL = ("recall", "mrr", "ndcg")


class FigureLine(NamedTuple):
    """`small` is less important than the text: it is dimmed, and follows on a line of its own where room is short."""

    label: str
    text: str
    small: str = ""


def figures(report: Report, *, verbose: bool = False) -> Iterator[FigureLine]:
    """What is set or unusual; with `verbose`, everything there is, with methods."""
    yield from _pass_rate(report, verbose=verbose)
    if verbose:
        yield FigureLine("trials", states_text(report.summary.trials))
    yield from _score(report, verbose=verbose)
    yield from _retrieval(report, verbose=verbose)
    yield from _first_answers(report, verbose=verbose)
    yield from _tries(report) if verbose else _all_of_k(report)
    yield from _taped(report)
    if report.sequential is not None:
        text, basis = outcome_of(report.sequential)
        yield FigureLine("sequential", text, basis if verbose else "")
    yield from _errors(report)
    yield from _awaited(report)
    if report.reviews is not None:
        from evalharness.reports.terminal.review_figures import review_figures  # slow to load: few runs ask people

        yield from (FigureLine(*line) for line in review_figures(report.reviews, verbose=verbose))
    if verbose:
        yield from _groups("category", report.summary.by_category)
        yield from _groups("difficulty", _easiest_first(report.summary.by_difficulty))
        yield from _latency(report)
    yield from _cost(report, verbose=verbose)
    if verbose:
        yield from _judges(report)


def _taped(report: Report) -> Iterator[FigureLine]:
    """What a replay did not do, and what it did not find."""
    taped = report.metadata.taped
    if taped is None:
        return
    if taped.mode == "record":
        yield FigureLine("mode", "record: every call is stored")
        return
    said = [f"{count(taped.exchanges, 'recorded call')} used"]
    said += ["answers replayed, target not executed"] if taped.answers else []
    said += [f"{count(taped.differing, 'tool result')} differed, recorded ones were used"] * bool(taped.differing)
    said += [f"{count(taped.unasked, 'recorded call')} not asked for"] * bool(taped.unasked)
    said += [f"{count(taped.missed, 'trial')} asked for what was not recorded"] * bool(taped.missed)
    recording = taped.recording_name or taped.recording or "nothing"
    yield FigureLine("mode", f"{taped.mode} of {recording}: {'; '.join(said)}")


def _pass_rate(report: Report, *, verbose: bool) -> Iterator[FigureLine]:
    rate = report.measurements.get("pass_rate")
    if rate is None:
        trials = report.summary.trials
        why = "every judged case has weight 0" if trials.passed + trials.failed else "no trial was judged"
        yield FigureLine("pass rate", f"none: {why}")
        return
    value = with_interval(rate)[0]
    if rate.low is None or rate.high is None:
        yield FigureLine("pass rate", value, "no interval")
    else:
        drawn = drawn_interval(rate.low, rate.value, rate.high)
        yield FigureLine("pass rate", f"{value}  {drawn}  {interval_of(rate)}", _few_cases(rate))
    if verbose:
        by_weight = _by_weight(report) if report.sequential is None else []  # one that may stop early counts trials
        yield FigureLine("", "", f"({', '.join([*by_weight, _basis(rate)])})")


def drawn_interval(low: float, value: float, high: float) -> str:
    """`····├──●──┤········` from 0 to 100 %, its ends rounded outwards: it never looks surer than it is."""
    last = SCALE - 1
    first, point, end = math.floor(low * last + SAME), round(value * last), math.ceil(high * last - SAME)
    line = ["·"] * first + ["─"] * (end - first + 1) + ["·"] * (last - end)
    line[first], line[end], line[point] = "├", "┤", "●"
    return "".join(line)


def _few_cases(rate: Measurement) -> str:
    if (rate.half_width or 0) <= WIDE or rate.n_cases >= FEW_CASES:
        return ""
    return f"{count(rate.n_cases, 'case')} {'is' if rate.n_cases == 1 else 'are'} too few to say more"


def rate_text(found: Measurement) -> str:
    """`33 % (1–96)`."""
    return f"{with_interval(found)[0]} {_ends(found)}"


def _ends(found: Measurement) -> str:
    return f"({interval_of(found).removesuffix(' %')})"


def _apart(found: Measurement) -> str:
    """As a line of its own: `33 %  (1–96)`."""
    return f"{with_interval(found)[0]}  {_ends(found)}"


def states_text(trials: TrialCounts) -> str:
    """`9 planned = 7 passed + 2 failed`: always adds up."""
    parts = [f"{number:,} {state}" for state, number in trials if state != "planned" and number]
    return f"{trials.planned:,} planned = {' + '.join(parts) or 'none'}"


def _by_weight(report: Report) -> list[str]:
    return ["cases by weight"] if len({case.weight for case in report.cases}) > 1 else []


def _score(report: Report, *, verbose: bool) -> Iterator[FigureLine]:
    """Where it adds something to the pass rate: a passing case may score less than everything."""
    rate, score = report.measurements.get("pass_rate"), report.measurements.get("score")
    if rate is None or score is None or with_interval(score) == with_interval(rate):
        return
    if not verbose and not any(case.state == "passed" and _is_partial(case.score) for case in report.cases):
        return
    basis = ["mean over cases", *_by_weight(report), _basis(score)]
    lacking = f" ({count(score.lacking, 'judged trial')} without a complete score)" if score.lacking else ""
    if any(case.state == "failed" and (case.score or 0) >= HIGH_SCORE for case in report.cases):
        basis.append("includes scores of failed cases; assertions count in the pass rate")
    text = f"{_mean_score(score)}  {_ends(score)}{lacking}"
    yield FigureLine("score", text, f"({', '.join(basis)})" if verbose else "")


def _retrieval(report: Report, *, verbose: bool) -> Iterator[FigureLine]:
    """The three that say most; with `verbose`, all of them."""
    known = {name: report.measurements[name] for name in RETRIEVAL_FIGURES if name in report.measurements}
    if not known:
        return
    texts = {name: f"{RETRIEVAL_FIGURES[name]} {_with_ends(found)}" for name, found in known.items()}
    yield FigureLine("retrieval", "   ".join(texts[name] for name in BRIEF_RETRIEVAL if name in texts))
    if verbose:
        basis = ["mean over cases", *_by_weight(report), _basis(next(iter(known.values())))]
        others = "   ".join(text for name, text in texts.items() if name not in BRIEF_RETRIEVAL)
        yield FigureLine("", others, f"({', '.join(basis)})")


def _with_ends(found: Measurement) -> str:
    """That of a run that may stop early has no interval."""
    return _mean_score(found) if found.low is None else f"{_mean_score(found)} {_ends(found)}"


def _is_partial(score: float | None) -> bool:
    return score is not None and score < 1 - SAME


def _mean_score(found: Measurement) -> str:
    """No finer than its interval, and still neither 100 % for less than all nor 0 % for more than nothing."""
    decimals = digits(found.half_width)
    step = 10.0 ** -(2 + decimals)
    if SAME < found.value < step / 2:
        return f"below {percent(step, decimals)}"
    if SAME < 1 - found.value < step / 2:
        return f"above {percent(1 - step, decimals)}"
    return with_interval(found)[0]


def _first_answers(report: Report, *, verbose: bool) -> Iterator[FigureLine]:
    rate, first = report.measurements.get("pass_rate"), report.measurements.get("pass_at_1")
    if rate is None or first is None or with_interval(first) == with_interval(rate):
        return
    retried = ["only first answers count here"] if report.metadata.retry_failed else []
    basis = [*_by_weight(report), _basis(first)] if verbose else []
    parts = "; ".join([*retried, *basis])
    yield FigureLine("pass@1", _apart(first), f"({parts})" if parts else "")


def _basis(found: Measurement) -> str:
    if not (found.n_eff and found.n_trials > found.n_cases > 1) or found.n_eff >= found.n_trials:
        return _sample(found)
    effect = found.n_trials / found.n_eff
    return (
        f"{_sample(found)}, design effect {effect:.1f}"
        if effect < 1e6
        else f"{_sample(found)}, design effect above 1e6"
    )


def _sample(found: Measurement) -> str:
    method = [f"{found.level * 100:.0f} % interval: {found.method}"] if found.method else []
    return ", ".join([*method, count(found.n_cases, "case"), count(found.n_trials, "trial")])


def _measured_k(report: Report) -> list[int]:
    return sorted(int(name.removeprefix("pass_at_")) for name in report.metrics if name.startswith("pass_at_"))


def _all_of_k(report: Report) -> Iterator[FigureLine]:
    """The chance that all of the most trials pass that it can be measured for."""
    tried = [k for k in _measured_k(report) if k > 1]
    if not tried or "pass_rate" not in report.measurements:
        return
    found = report.measurements.get(f"pass_hat_{tried[-1]}")
    text = _apart(found) if found else f"not known: {_unknown(report, tried[-1])}"
    yield FigureLine(f"pass^{tried[-1]}", text)


def _tries(report: Report) -> Iterator[FigureLine]:
    """Per k: the chance that one of k trials passes, and that all do. That nothing was judged is said already."""
    if "pass_rate" not in report.measurements:
        return
    for k in _measured_k(report):
        at, hat = report.measurements.get(f"pass_at_{k}"), report.measurements.get(f"pass_hat_{k}")
        if at is None or hat is None:
            yield FigureLine(f"in {k} tries" if k > 1 else "pass@1", f"not known: {_unknown(report, k)}")
        elif k > 1:
            text = f"at least one passes {rate_text(at)}   all pass {rate_text(hat)}"
            yield FigureLine(f"in {k} tries", text, f"(pass@{k}, pass^{k}, unbiased; {_sample(at)})")


def _unknown(report: Report, k: int) -> str:
    """Why there is no pass@k: by how many of the cases that count."""
    counted = [case for case in report.cases if case.weight > 0 and case.state != "skipped"]
    if report.cases and not counted:
        return "every case has weight 0"
    short = sum(case.trials < k for case in counted)
    if not short:  # a report without its cases
        return "a case has too few judged trials"
    fewer = "no judged trial" if k == 1 else f"fewer than {k} judged trials"
    return f"{short:,} of {count(len(counted), 'case')} {'has' if short == 1 else 'have'} {fewer}"


def _errors(report: Report) -> Iterator[FigureLine]:
    bounds = report.error_bounds
    if bounds is None:
        return
    trials = f"{count(bounds.trials, 'trial')} could not be judged"
    if "pass_rate" not in report.measurements:
        yield FigureLine("errors", f"{trials}: the pass rate is unknown")
        return
    low, high = percent(bounds.pass_rate_if_failed), percent(bounds.pass_rate_if_passed)
    each = "it" if bounds.trials == 1 else "all"
    yield FigureLine("errors", f"{trials}: had {each} failed, the pass rate would be {low}; had {each} passed, {high}")


def _awaited(report: Report) -> Iterator[FigureLine]:
    if report.summary.trials.awaiting:
        whose = {"model": "a model's", "human": "a person's"}
        grades = [f"{whose[kind]} grade is pending" for kind in report.awaited if kind in whose]
        trials = count(report.summary.trials.awaiting, "trial")
        yield FigureLine("awaiting", f"{trials}: {', '.join(grades)}" if grades else trials)


def _groups(label: str, groups: Mapping[str, Group]) -> Iterator[FigureLine]:
    for position, (name, group) in enumerate(groups.items() if len(groups) > 1 else ()):
        cases = f"{group.passed} of {count(group.total, 'case')} passed"
        rate, basis = "–" if group.pass_rate is None else percent(group.pass_rate), ""
        if group.measurement is not None:
            rate, basis = rate_text(group.measurement), f"({_basis(group.measurement)})"
        yield FigureLine(label if position == 0 else "", f"{name}: {cases}, pass rate {rate}", basis)


def _easiest_first(groups: Mapping[str, Group]) -> dict[str, Group]:
    """Words of one's own come after those of the format."""
    known = [name for name in DIFFICULTIES if name in groups]
    return {name: groups[name] for name in (*known, *(each for each in groups if each not in known))}


def _latency(report: Report) -> Iterator[FigureLine]:
    found = report.measurements.get("latency_s")
    if found is not None and found.n_cases > 1:
        timed = [case for case in report.cases if case.duration_s is not None]
        yield FigureLine("latency", _median(found, duration), _basis_of_median(found, timed))
    slow = [f"{t.case_id}#{t.index + 1} {duration(t.duration_s)}" for t in report.slowest]
    if slow:
        yield FigureLine("slowest", "   ".join(slow), f"(whole run {duration(report.metadata.duration_seconds)})")


def _cost(report: Report, *, verbose: bool) -> Iterator[FigureLine]:
    found, trials = report.measurements.get("cost_usd"), report.summary.trials
    judged = trials.passed + trials.failed
    unstated = judged - (found.n_trials if found else 0)
    but = f" ({unstated:,} of {count(judged, 'judged trial')} report none)" if unstated else ""
    parts = [f"{money(report.cost_usd)}{but}"] if report.cost_usd is not None else []
    priced = [took.cost_usd for took in report.judging if took.cost_usd]
    parts += [f"judges {money(sum(priced))}"] if priced else []
    if verbose and report.input_tokens is not None:
        parts.append(f"{report.input_tokens:,} tokens in, {report.output_tokens or 0:,} out")
    basis = ""
    if verbose and found is not None and found.n_cases > 1:
        parts.append(f"a trial: {_median(found, money)}")
        basis = _basis_of_median(found, [case for case in report.cases if case.cost_usd is not None])
    if parts:
        yield FigureLine("cost", "   ".join(parts), basis)


def _judges(report: Report) -> Iterator[FigureLine]:
    for position, took in enumerate(report.judging):
        yield FigureLine("judges" if position == 0 else "", judging_text(took))


def is_sure(found: Measurement) -> bool:
    """Of very few values even the outermost two make no interval worth the name."""
    return found.low is not None and found.level >= LEAST_LEVEL


def _basis_of_median(found: Measurement, cases: Sequence[CaseResult]) -> str:
    """`cases` are those that it is the median of, where the report has them."""
    method = found.method if is_sure(found) else "too few for an interval"
    clusters = len({observation(case.case_id, case.cluster) for case in cases})
    size = f" in {count(clusters, 'cluster')}" if clusters < len(cases) else ""
    return f"({count(found.n_cases, 'case')}{size}, {method})"


def _median(found: Measurement, worded: Callable[[float, int], str]) -> str:
    if found.low is None or found.high is None or not is_sure(found):
        return f"median {worded(found.value, 0)}"
    finer = extra_digits(found.low, found.high, worded)
    value, low, high = (worded(each, finer) for each in (found.value, found.low, found.high))
    return f"median {value}   {found.level * 100:.0f} % interval {low} to {high}"
