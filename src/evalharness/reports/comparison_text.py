"""Two runs compared, as people read it: the verdict in plain words first, then the numbers, then the cases.

Method, n and level stand beside each number, dimmed. Nothing is computed here.
"""

from __future__ import annotations

import shlex

from evalharness.domain.comparison import CaseChange, ComparedRun, Comparison, Difference
from evalharness.domain.plain_numbers import LARGEST_RATIO, change, count, digits
from evalharness.reports.comparison_words import figure_label, size_of
from evalharness.reports.screen import Screen
from evalharness.reports.wording import duration, money, naming
from evalharness.reports.words import say
from evalharness.stats.thresholds import SAME

COLOURS = {"REGRESSION": "red", "NO REGRESSION": "green", "IMPROVEMENT": "green", "INCONCLUSIVE": "yellow"}
LABELS = {"pass_rate": "pass rate", "critical": "critical"}
FIRST_CASES = 10
FIRST_IDS = 5
MOST_DECIMALS = 6
ENOUGH_SINGLE_TRIALS = 50
"""Cases of one trial each from which on the drop that is named is found as often as promised."""


class ComparisonReport:
    """`store` is the store the user named, if any: the next command has to name it too."""

    def __init__(self, screen: Screen, store: str | None = None) -> None:
        self._screen = screen
        self._store = store

    def show(self, comparison: Comparison) -> None:
        verdict = comparison.verdict
        self._screen.say()
        self._screen.say((verdict, f"bold {COLOURS[verdict]}"), f"  {say(comparison.why)}")
        if comparison.settle:
            by = f"(at level {comparison.alpha:g}, if all shares stay as they are)"
            self._screen.line("to settle it", say(comparison.settle), by)
        for note in comparison.notes:
            self._screen.line("note", say(note))
        self._screen.say()
        for number, run in enumerate(comparison.before):
            self._screen.line("" if number else "before", *_run_text(run))
        self._screen.line("now", *_run_text(comparison.new))
        self._screen.line("compared", compared_text(comparison))
        for name, difference in comparison.differences.items():
            self._difference(LABELS.get(name, name), difference, comparison)
            if name == "pass_rate" and comparison.critical:
                self._difference("critical", comparison.critical, comparison)
        self._cases(comparison)
        self._left_out(comparison)
        self._next(comparison)

    def _difference(self, label: str, found: Difference, comparison: Comparison) -> None:
        numbers = "   ".join(part for part in difference_text(found, comparison) if part)
        aside = decided_by(found, comparison)
        self._screen.line(label, numbers, f"({_verdict_text(found)}{f'; {aside}' if aside else ''})")
        self._screen.line("", "", _method_text(found, comparison))

    def _cases(self, comparison: Comparison) -> None:
        worse, better = comparison.worse, comparison.better
        flagged = sum(case.flagged for case in worse)
        if worse:
            number = f"{flagged:,}" if flagged else "none"
            clear = f"{number} of them clearly so by {'themselves' if flagged > 1 else 'itself'}"
            self._screen.line("worse", count(len(worse), "case"), f"({clear}; exact test per case, Benjamini–Hochberg)")
        for case in worse[:FIRST_CASES]:
            self._case(case)
        self._more(len(worse) - FIRST_CASES)
        if better:
            self._screen.line("better", count(len(better), "case"))
        for case in list(reversed(better))[:FIRST_IDS]:
            self._case(case)
        self._more(len(better) - FIRST_IDS)

    def _case(self, case: CaseChange) -> None:
        marks = [word for word, holds in (("critical", case.critical), ("clearly worse", case.flagged)) if holds]
        text = f"  {_case_text(case)}"
        is_tested = case.delta < 0 and case.p is not None  # the test is about passes, not about scores
        chance = f"   p {_p(case.p)}, q {_p(case.q)}" if is_tested else ""
        self._screen.say("  ", case.case_id, text, (f"   {', '.join(marks)}" if marks else "", "red"), (chance, "dim"))
        if case.divergence:
            self._screen.say((f"      {self._screen.one_line(say(case.divergence), 300)}", "dim"))

    def _more(self, hidden: int) -> None:
        if hidden > 0:
            self._screen.say(f"  … and {hidden:,} more")

    def _left_out(self, comparison: Comparison) -> None:
        for label, why, ids in (
            ("changed", "asked or judged differently now, so not compared", comparison.changed),
            ("only before", "not in the new run: not selected for it, or no longer in the suite", comparison.removed),
            ("only now", "not in the old run: not selected for it, or not yet in the suite", comparison.added),
            ("not judged", "no judged trial in one of the runs", comparison.unjudged),
        ):
            if ids:
                more = f" and {len(ids) - FIRST_IDS:,} more" if len(ids) > FIRST_IDS else ""
                self._screen.line(label, f"{', '.join(ids[:FIRST_IDS])}{more}", f"({why})")

    def _next(self, comparison: Comparison) -> None:
        worse = comparison.worse
        in_store = comparison.new.run_id and not comparison.new.source and self._store != ":memory:"
        if worse and in_store:
            name, case = map(shlex.quote, (comparison.new.run_name, worse[0].case_id))
            self._screen.line("next", f"{self._screen.command} show {name} {case}{naming(self._store)}")


def baseline_line(comparison: Comparison) -> str:
    """What a run's own report says of it: `-6 points   95 % interval -13.5 to +1.5   INCONCLUSIVE: …`."""
    found = _decisive(comparison)
    _, moved, interval = difference_text(found, comparison)
    if found.metric != "pass_rate":
        moved = f"{figure_label(found.metric)} {moved}"
    finds = ""
    if comparison.verdict == "INCONCLUSIVE":
        shows = _shows(found) if _says_what_shows(comparison) else say(found.why)
        settle = f"to settle it: {say(comparison.settle)}" if comparison.settle else ""
        finds = f": {'; '.join(part for part in (shows, settle) if part)}"
    elif comparison.verdict == "NO REGRESSION":
        finds = f" of {size_of(comparison.margin, found.unit)} or more"
    aside = decided_by(found, comparison)
    verdict = f"{comparison.verdict}{finds}{f' ({aside})' if aside else ''}"
    source = f"against {comparison.against}"
    return "   ".join(part for part in (moved, interval, verdict, source, say(comparison.left_out)) if part)


def baseline_basis(comparison: Comparison) -> str:
    """What that line rests on; where it is of critical cases, what became of all."""
    found = _decisive(comparison)
    if found.metric != "critical":
        method = _method_text(found, comparison, is_shown=_says_what_shows(comparison))
        return f"{compared_text(comparison)}; {method}"
    rate = comparison.differences["pass_rate"]
    _, moved, interval = difference_text(rate, comparison)
    some = f"{count(found.n_cases, 'critical case')} ({_trials_text(found)})"
    every = f"{count(comparison.n_cases, 'case')} ({_trials_text(rate)})"
    return f"{some}; {_method_text(found, comparison)}; of all {every}: {moved}, {interval}"


def _says_what_shows(comparison: Comparison) -> bool:
    """Whether the line of a run's own report says which loss could be seen."""
    found = _decisive(comparison)
    return comparison.verdict == "INCONCLUSIVE" and found.metric != "critical" and not found.incomparable


def compared_text(comparison: Comparison) -> str:
    """`3 of 50 cases changed; compared on 47`, and how many trials that are."""
    trials = _trials_text(comparison.differences["pass_rate"])
    return f"{say(comparison.left_out) or count(comparison.n_cases, 'case')} ({trials})"


def _trials_text(found: Difference) -> str:
    return f"{count(found.n_trials_old, 'trial')} before, {found.n_trials_new:,} now"


def difference_text(found: Difference, comparison: Comparison) -> tuple[str, str, str]:
    """(`64 % → 52 %`, `-12 points`, `95 % interval -20 to -4`), no finer than the interval deserves."""
    if found.unit == "ratio":
        word = duration if found.metric == "latency" else money
        ends, moved = " → ".join(map(word, found.ends)), f"{_signed(found.value, digits(found.half_width))} %"
        moves = (("rose from 0", found.risen if found.from_nothing else 0), ("fell to 0", len(found.to_nothing)))
        apart = "; ".join(
            f"{what} in {number:,} of {count(comparison.n_cases, 'case')}" for what, number in moves if number
        )
        if found.from_nothing and not found.old:
            return ends if found.new else "", apart, ""
        return ends, f"{apart}; in the others {moved}" if apart else moved, _interval(found, " %")
    if not found.n_cases:
        return "", "no case has it in both runs", ""
    size, ends = change(*found.ends, found.half_width)
    sign = "" if not found.value else "-" if found.value < 0 else "+"
    return ends, f"{sign}{size}", _interval_of_these(found, comparison.alpha) or _interval(found, "")


def decided_by(found: Difference, comparison: Comparison) -> str:
    """What decided, where the interval printed beside the verdict seems to say something else; else empty."""
    if found.low is None or found.high is None:
        return ""
    is_ratio = found.unit == "ratio"
    least, most = (found.low, found.high) if is_ratio else (-found.high, -found.low)
    bound = found.at_worst
    margin = 100 * comparison.margin - SAME
    seems_open = max(100 * most, round(100 * most, digits(found.half_width))) >= margin
    if found.gated and found.verdict == "NO REGRESSION" and bound is not None and seems_open:
        decimals = 1
        while decimals < MOST_DECIMALS and round(100 * abs(bound), decimals) >= margin:
            decimals += 1
        return f"by the one-sided bound: at worst {_signed(bound, decimals)} {'%' if is_ratio else 'points'}"
    if found.verdict == "REGRESSION" and found.from_nothing:
        return "by the test, in which rises from 0 count; the interval leaves them out"
    if found.verdict == "REGRESSION" and least <= 0 and found.these_cases is None:
        return "by the test, which looks at these cases alone; the interval is about cases like these"
    if found.verdict != "REGRESSION" and least > SAME and (found.p_adjusted or found.p or 0.0) > comparison.alpha:
        return "the interval leaves 0 out, but the test decides, and by it this may be chance"
    return ""


def _interval_of_these(found: Difference, alpha: float) -> str:
    """Beside a loss that the test of these cases found, where the interval for others like them includes 0."""
    if found.these_cases is None or found.verdict != "REGRESSION" or found.high is None or found.high < 0:
        return ""
    low, high = found.these_cases
    decimals = max(_needed(end, digits((high - low) / 2)) for end in (low, high))
    level = f"{100 * (1 - 2 * alpha):g} % interval"
    # At p = alpha it ends at 0, which the test has just ruled out.
    end = _signed(high, decimals) if high < -SAME else "below 0"
    return f"{level} {_signed(low, decimals)} to {end} for these cases"


def _interval(found: Difference, unit: str) -> str:
    if found.low is None or found.high is None:
        return ""
    decimals = max(_needed(end, digits(found.half_width)) for end in (found.low, found.high))
    return f"{100 * found.level:g} % interval {_signed(found.low, decimals)} to {_signed(found.high, decimals)}{unit}"


def _signed(value: float, decimals: int) -> str:
    """In percent; never -0 or +0 for more than nothing."""
    if value > LARGEST_RATIO:
        return f"over +{100 * LARGEST_RATIO:,}"
    return "0" if abs(value) <= SAME else f"{100 * value:+.{_needed(value, decimals)}f}"


def _needed(value: float, decimals: int) -> int:
    """As many decimals as it takes to show on which side of 0 a percentage lies."""
    while abs(value) > SAME and float(f"{100 * value:.{decimals}f}") == 0:
        decimals += 1
    return decimals


def _verdict_text(found: Difference) -> str:
    if found.gated:
        return found.verdict
    return f"{'clearly worse' if found.verdict == 'REGRESSION' else 'not clearly worse'}; for information only"


def _method_text(found: Difference, comparison: Comparison, *, is_shown: bool = False) -> str:
    """For those who want to know exactly. `is_shown`: which loss could be seen has been said."""
    shows = f"power {comparison.power:g}" if is_shown else f"{_shows(found)} (power {comparison.power:g})"
    if not found.n_cases:
        return f"nothing to test; {shows}"
    parts = []
    if found.p is not None:
        adjusted = f", Holm {_p(found.p_adjusted)}" if found.p_adjusted not in (None, found.p) else ""
        seed = f", seed {found.seed}" if found.seed is not None else ""
        parts.append(f"{found.method}: one-sided p {_p(found.p)}{adjusted}{seed}")
    parts.append(f"interval: {found.interval_method}, {count(found.n_cases, 'case')}")
    parts.append(shows)
    return "; ".join(parts)


def _shows(found: Difference) -> str:
    """The smallest loss that can be seen; where there is none, why, and what would help."""
    loss = "rise" if found.unit == "ratio" else "drop"
    if found.detectable is not None:
        about = "about " if _is_rough(found) else ""
        return f"shows {loss}s from {about}{size_of(found.detectable, found.unit)} on"
    none = f"no {loss} can be detected"
    if not found.n_cases:
        return f"{none}: no case has a {found.metric} in both runs"
    is_rate = found.metric in ("pass_rate", "critical")
    if is_rate and not found.old:
        return f"{none}: no trial passed before"
    if found.limited_by == "runs":
        return f"{none}: the runs of the baseline vary too much, more of them would help"
    units = "clusters" if found.limited_by == "clusters" else "cases"
    more = "cases or trials" if found.limited_by == "trials" else units
    if found.unit == "points" and found.value <= -1 + SAME:
        return f"too few {units} to tell this from chance, more {more} would help"
    if found.unit == "points":
        none = f"{none} with this power, not even if every trial failed"
    return f"{none}: too few {units} that could get worse, more {more} would help"


def _is_rough(found: Difference) -> bool:
    """Single trials of few cases hardly tell chance from cases that differ, and so which drop would be found."""
    is_single = found.n_trials_old == found.n_trials_new == found.n_cases
    return is_single and found.n_cases < ENOUGH_SINGLE_TRIALS and found.metric in ("pass_rate", "critical")


def _case_text(case: CaseChange) -> str:
    if not case.delta and case.old_score is not None and case.new_score is not None:
        return f"score {case.old_score:.3g} → {case.new_score:.3g}"
    before, now = f"{case.old_passed} of {case.old_trials}", f"{case.new_passed} of {case.new_trials}"
    return f"{before} passed before, now {now}"


def _run_text(run: ComparedRun) -> tuple[str, str]:
    details = [run.suite_name, run.variant, run.timestamp.replace("T", " ")[:16], run.source]
    return run.run_name, f"({', '.join(part for part in details if part)})"


def _decisive(comparison: Comparison) -> Difference:
    """The difference that the verdict rests on; of several, that of the critical cases, else the pass rate's."""
    named = comparison.decisive
    if not named or (named[0] != "critical" and "pass_rate" in named):  # older reports do not say
        return comparison.differences["pass_rate"]
    found = comparison.critical if named[0] == "critical" else comparison.differences[named[0]]
    assert found is not None  # the verdict rests on it
    return found


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}" if value < 0.995 else "1"
