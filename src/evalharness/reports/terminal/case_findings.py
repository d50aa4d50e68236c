"""What a report says about cases rather than their target, as labelled lines: flaky ones, quarantined ones, those that
separate nobody, and what to do next. Only words: what was found is decided elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.report import FLAKY_FROM, CaseItem, FlakyCase, Recommendation, Report
from evalharness.reports.terminal.figures import FigureLine
from evalharness.reports.words.say import say

NAMED = 3
MOST_ADVICE = 6
"""One of every kind there is."""
MOST_ITEMS = 10
FLAGS = {
    "negative discrimination": "weak targets pass it more often than strong ones: its key may be wrong",
    "everyone fails": "no target passes it: it may be too hard, or its key may be wrong",
    "everyone passes": "every target passes it: it does not separate targets",
}
"""The most telling first."""


def flaky(report: Report) -> Iterator[FigureLine]:
    """Those that flip often, and those that flip less often; none that never does."""
    held = report.gate.quarantined if report.gate else ()
    often = [case for case in report.flaky if case.counts_as_flaky]
    seldom = [case for case in report.flaky if not case.counts_as_flaky]
    parts = [_cases(cases, sign) for cases, sign in ((often, "≥"), (seldom, "<")) if cases]
    new, kept = sum(case.new for case in often), len({case.case_id for case in report.flaky} & set(held))
    parts += [f"{number:,} {word}" for number, word in ((new, "new"), (kept, "quarantined")) if number]
    if report.flaky:
        runs = max(case.runs for case in report.flaky)
        basis = "this run" if runs == 1 else f"up to {runs} comparable runs"
        few = "; over 50 % because there are few trials" if report.flaky[0].flip_rate > 0.5 else ""
        small = f"(chance that two trials of a case disagree, unbiased, over {basis}{few})"
        yield FigureLine("flaky", " – ".join(parts), small)


def quarantined(report: Report) -> Iterator[FigureLine]:
    held = report.gate.quarantined if report.gate else ()
    if held:
        yield FigureLine("quarantined", f"{count(len(held), 'case')} that the gate does not count: {_listed(held)}")


def _cases(cases: Sequence[FlakyCase], sign: str) -> str:
    listed = _listed([f"{case.case_id} {percent(case.flip_rate, 0)} ({_seen(case)})" for case in cases])
    return f"{count(len(cases), 'case')} (flip rate {sign} {percent(FLAKY_FROM)}): {listed}"


def items(report: Report) -> Iterator[FigureLine]:
    """Only the cases that deserve a look."""
    found = report.items
    if found is None:
        return
    flagged = sorted(found.flagged, key=lambda case: list(FLAGS).index(case.flag))
    targets = count(len(found.runs), "target")
    looks = f"{count(len(flagged), 'case')} may deserve a look" if flagged else "no case stands out"
    reliability = "not known" if found.reliability is None else f"{found.reliability:.2f}"
    small = f"(Cronbach's alpha {reliability}, newest run of each that tried most cases)"
    yield FigureLine("items", f"{targets} tried these cases: {looks}", small)
    yield from (FigureLine("", _item(case)) for case in flagged[:MOST_ITEMS])
    if len(flagged) > MOST_ITEMS:
        yield FigureLine("", f"… and {count(len(flagged) - MOST_ITEMS, 'more case')}")


def advice(report: Report) -> Iterator[FigureLine]:
    for position, found in enumerate(_first_of_all_kinds(report.recommendations)):
        yield FigureLine(
            "" if position else "advice", say(found.finding), f"({_listed(found.cases)})" if found.cases else ""
        )
    if len(report.recommendations) > MOST_ADVICE:
        yield FigureLine("", f"… and {len(report.recommendations) - MOST_ADVICE:,} more in --json")


def selftested(report: Report) -> Iterator[FigureLine]:
    """The mark of an unsound suite; that it is sound is no news."""
    unsound = report.selftest.unsound if report.selftest else ()
    if unsound:
        number = len({str(found.params.get("case")) for found in unsound})
        yield FigureLine("selftest", f"UNSOUND: {count(number, 'case')} cannot be relied on: {say(unsound[0])}")
    yield from (FigureLine("", say(found)) for found in unsound[1:NAMED])
    if len(unsound) > NAMED:
        yield FigureLine("", f"… and {len(unsound) - NAMED:,} more in --json")


def _first_of_all_kinds(given: Sequence[Recommendation]) -> list[Recommendation]:
    """As many as there is room for, in their order: none of a kind twice where another would not be seen for it."""
    seen: Counter[str] = Counter()
    ranks = []
    for found in given:
        ranks.append(seen[found.kind])
        seen[found.kind] += 1
    chosen = sorted(range(len(given)), key=lambda place: (ranks[place], place))[:MOST_ADVICE]
    return [given[place] for place in sorted(chosen)]


def _item(case: CaseItem) -> str:
    passed = f"{percent(case.difficulty, 0)} pass" if 0 < case.difficulty < 1 else ""
    text = (
        "" if case.discrimination is None else f"discrimination {case.discrimination:.2f} over {case.targets} targets"
    )
    figures = ", ".join(part for part in (passed, text) if part)
    return f"{case.case_id}: {FLAGS[case.flag]}" + (f" ({figures})" if figures else "")


def _seen(case: FlakyCase) -> str:
    return f"{case.passed} of {count(case.trials, 'trial')} passed"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
