"""Two runs compared, as people read it: the answer in one line, then the two runs, the worst cases and what next.

Methods, single tests and every case are for those who ask for more (`verbosity`). Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from evalharness.domain.comparison import LOST, CaseChange, ComparedRun, Comparison, Difference
from evalharness.domain.finding import Finding
from evalharness.domain.plain_numbers import count
from evalharness.domain.reported_run import Verbosity
from evalharness.reports.terminal.difference import (
    decided_by,
    method_text,
    numbers,
    p_text,
    smallest_loss,
    verdict_text,
)
from evalharness.reports.terminal.screen import MARKS, Part, Screen
from evalharness.reports.wording import from_here, naming, one_line, show_command
from evalharness.reports.words.comparisons import figure_label, size_of
from evalharness.reports.words.say import say

COLOURS = {"REGRESSION": "red", "NO REGRESSION": "green", "IMPROVEMENT": "green", "INCONCLUSIVE": "yellow"}
SAID_BY_THE_NUMBERS = ("comparison.regression", "comparison.improvement", "comparison.other_figure")
"""Reasons that only repeat what the first line says in numbers, or the line of another figure."""
ALWAYS_SHOWN = ("comparison.quarantined", "comparison.regraded", LOST)
"""Notes that are always shown, though they do not warn."""
LABEL_WIDTH = 9
GAP = "   "
FIRST_CASES = 10
FIRST_IDS = 5
LEAST_ANSWER = 10
"""Columns: an answer that is cut to less says nothing."""


class ComparisonReport:
    """`store` is the store the user named, if any: the next command has to name it too.

    `verbosity` below 0 is the first line alone, above 0 everything.
    """

    def __init__(self, screen: Screen, store: str | None = None, verbosity: Verbosity = 0) -> None:
        self._screen = screen
        self._store = store
        self._is_brief = verbosity < 0
        self._is_verbose = verbosity > 0

    def show_all(self, comparisons: Sequence[Comparison], more: Sequence[tuple[str, str]] = ()) -> None:
        """Several follow each other, each with the name of its run in its first line.

        `more` are further labelled lines about all of them, which stand before the last command.
        """
        for position, comparison in enumerate(comparisons):
            if position and not self._is_brief:
                self._screen.say()
            is_last = position == len(comparisons) - 1
            self.show(comparison, more if is_last else (), with_name=len(comparisons) > 1)

    def show(self, comparison: Comparison, more: Sequence[tuple[str, str]] = (), *, with_name: bool = False) -> None:
        verdict, name = comparison.verdict, [comparison.new.run_name] if with_name else []
        self._groups([(verdict, f"bold {COLOURS[verdict]}"), GAP], [*headline(comparison), *name])
        if self._is_brief:
            return
        self._screen.say()
        said = list(reasons(comparison, in_full=self._is_verbose))
        for text in said:
            self._screen.entry([], text)
        if comparison.settle:
            self.line("decide", say(comparison.settle))
        if said or comparison.settle:
            self._screen.say()
        self._runs(comparison)
        self._cases(comparison)
        self._caveats(comparison, more)
        self._look(comparison)

    def line(self, label: str, text: str, style: str = "") -> None:
        self._screen.entry([(label.ljust(LABEL_WIDTH), "dim")], (text, style))

    def _groups(self, head: Sequence[Part], groups: Sequence[str]) -> None:
        """Texts that belong together stay on one line as long as they fit."""
        taken = sum(len(part if isinstance(part, str) else part[0]) for part in head)
        room = self._screen.console.width - taken
        lines: list[str] = []
        for group in groups:
            if lines and len(lines[-1]) + len(GAP) + len(group) <= room:
                lines[-1] += GAP + group
            else:
                lines.append(group)
        for number, line in enumerate(lines):
            self._screen.entry([" " * taken] if number else head, line)

    def _runs(self, comparison: Comparison) -> None:
        rows = [_run_cells(comparison, run) for run in comparison.before]
        if len(rows) > 1 and not self._is_verbose:
            name, *others = rows[0]
            rows = [[f"{name} and {len(rows) - 1:,} more", *others]]
        now = comparison.new
        rows.append([now.run_name, now.variant, _from_here(now.source) or _shape(comparison, now)])
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for number, (name, variant, rest) in enumerate(rows):
            label = "now" if number == len(rows) - 1 else "" if number else "before"
            cells = [name.ljust(widths[0]), *([variant.ljust(widths[1])] if widths[1] else []), rest]
            self._groups([(label.ljust(LABEL_WIDTH), "dim")], cells)

    def _cases(self, comparison: Comparison) -> None:
        """The worst first; where none is worse, those that got better, the best first."""
        worse, better = comparison.worse, comparison.better[::-1]
        shown = [*worse, *better] if self._is_verbose else (worse or better)[:FIRST_CASES]
        if not shown:
            return
        self._screen.say()
        widest = max(20, self._screen.console.width // 2)
        ids = [one_line(case.case_id, widest) for case in shown]
        moves = [_moved(case) for case in shown]
        columns = max(map(len, ids)), max(map(len, moves))
        for case, case_id, moved in zip(shown, ids, moves, strict=True):
            self._case(case, case_id.ljust(columns[0]), moved.ljust(columns[1]))
        if self._is_verbose:
            self._screen.entry(["  "], (_tests_text(worse, better), "dim"))
        elif hidden := _hidden_text(worse, better):
            self._screen.say((f"  {hidden} (-v)", "dim"))

    def _case(self, case: CaseChange, case_id: str, moved: str) -> None:
        mark, colour = MARKS[_state_now(case)]
        start = f" {case_id}{GAP}{moved}"
        if details := _details(case) if self._is_verbose else ["critical"] * case.critical:
            start += f"{GAP}{', '.join(details)}"
        room = self._screen.console.width - len(mark + start + GAP)
        if self._is_verbose or case.divergence is None or room < 2 * LEAST_ANSWER:
            self._screen.say((mark, colour), start.rstrip())
        else:
            self._screen.say((mark, colour), start, (f"{GAP}{_answers(case, self._screen, room)}", "dim"))
        if self._is_verbose and case.divergence is not None:
            self._screen.entry(["      "], (self._screen.one_line(say(case.divergence), 300), "dim"))

    def _caveats(self, comparison: Comparison, more: Sequence[tuple[str, str]]) -> None:
        """What is unusual: other figures that got worse, cases that were left out, warnings. With -v, all there is."""
        figures = dict(_all_figures(comparison) if self._is_verbose else _unusual_figures(comparison))
        notes = [
            note
            for note in comparison.notes
            if note != comparison.lost and (self._is_verbose or note.severity != "info" or note.code in ALWAYS_SHOWN)
        ]
        if figures or notes or more or comparison.left_out or self._is_verbose:
            self._screen.say()
        width = max([LABEL_WIDTH, *(len(label + GAP) for label in figures)])
        for label, found in figures.items():
            groups = [*numbers(found, comparison), verdict_text(found)]
            self._groups([(label.ljust(width), "dim")], groups)
            if self._is_verbose:
                self._screen.entry([" " * width], (method_text(found, comparison), "dim"))
        if comparison.left_out or self._is_verbose:
            self.line("cases", compared_text(comparison) if self._is_verbose else say(comparison.left_out))
        if self._is_verbose:
            self._left_out(comparison)
        for label, text in (*more, *(("note", say(note)) for note in notes)):
            self.line(label, text)

    def _left_out(self, comparison: Comparison) -> None:
        for what, ids in (
            ("changed since, so not compared", comparison.changed),
            ("only in the old run (not selected for the new one, or no longer in the suite)", comparison.removed),
            ("only in the new run (not selected for the old one, or new in the suite)", comparison.added),
            ("not judged in one of the runs", comparison.unjudged),
        ):
            if ids:
                more = f" and {len(ids) - FIRST_IDS:,} more" if len(ids) > FIRST_IDS else ""
                self.line("", f"{what}: {', '.join(ids[:FIRST_IDS])}{more}")

    def _look(self, comparison: Comparison) -> None:
        worse = comparison.worse
        in_store = comparison.new.run_id and not comparison.new.source and self._store != ":memory:"
        if worse and in_store:
            new, case_id = comparison.new.run_name, worse[0].case_id
            command = show_command(self._screen.command, new, naming(self._store), case_id)
            self._screen.say()
            self._screen.say(("look".ljust(LABEL_WIDTH), "dim"), command)


def headline(comparison: Comparison, *, with_p: bool = True) -> list[str]:
    """`90 % → 74 %`, `−16 points (95 % CI −28 to −4)`, `p = 0.001`: of the figure that the verdict rests on."""
    found = deciding_figure(comparison)
    label = [] if found.metric == "pass_rate" else [figure_label(found.metric)]
    return [*label, *numbers(found, comparison, with_p=with_p)]


def baseline_line(comparison: Comparison) -> str:
    """What a run's own report says of it: `REGRESSION   90 % → 74 %   −16 points (95 % CI −28 to −4)   baseline B`."""
    found = deciding_figure(comparison)
    parts = [comparison.verdict, *headline(comparison, with_p=False), _from_here(comparison.against)]
    if comparison.verdict == "INCONCLUSIVE":
        parts.append(smallest_loss(found) if _says_what_shows(comparison) else say(found.why))
    elif comparison.verdict == "NO REGRESSION":
        parts.append(_ruled_out(found, comparison))
    parts += [decided_by(found, comparison), say(comparison.left_out)]
    return GAP.join(part for part in parts if part)


def baseline_basis(comparison: Comparison) -> str:
    """What that line rests on, for those who ask; where it is of critical cases, what became of all."""
    found = deciding_figure(comparison)
    settle = f"; to settle it: {say(comparison.settle)}" if comparison.settle else ""
    if found.metric != "critical":
        method = method_text(found, comparison, is_shown=_says_what_shows(comparison))
        return f"{compared_text(comparison)}; {method}{settle}"
    rate = comparison.differences["pass_rate"]
    some = f"{count(found.n_cases, 'critical case')} ({_trials_text(found)})"
    every = f"{count(comparison.n_cases, 'case')} ({_trials_text(rate)})"
    of_all = ", ".join(numbers(rate, comparison))
    return f"{some}; {method_text(found, comparison)}; of all {every}: {of_all}{settle}"


def _says_what_shows(comparison: Comparison) -> bool:
    """Whether the line of a run's own report says which loss could be seen."""
    found = deciding_figure(comparison)
    return comparison.verdict == "INCONCLUSIVE" and found.metric != "critical" and not found.incomparable


def reasons(comparison: Comparison, *, in_full: bool) -> Iterator[str]:
    """What the numbers of the first line do not say by themselves."""
    found, why = deciding_figure(comparison), comparison.why
    if why.code == "comparison.no_regression" and why.params.get("accepted") is None and not in_full:
        yield _ruled_out(found, comparison)
    elif in_full or not is_said_by(SAID_BY_THE_NUMBERS, why):
        yield say(why)
    if aside := decided_by(found, comparison):
        yield aside
    says_so = why.code == "comparison.too_small" and found.limited_by != "runs" and not in_full
    if comparison.verdict in ("NO REGRESSION", "INCONCLUSIVE") and not found.incomparable and not says_so:
        yield smallest_loss(found)


def is_said_by(codes: Collection[str], why: Finding) -> bool:
    """Whether a reason, or each of several joined in one, has one of these codes. That a loss is accepted is news."""
    parts = why.params["findings"] if why.code == "joined" else [why]
    findings = [part for part in parts if isinstance(part, Finding)] if isinstance(parts, list) else []
    return all(part.code in codes and part.params.get("accepted") is None for part in findings)


def _ruled_out(found: Difference, comparison: Comparison) -> str:
    loss = "rise" if found.unit == "ratio" else "drop"
    return f"a {loss} of {size_of(comparison.margin, found.unit)} or more is ruled out"


def _all_figures(comparison: Comparison) -> Iterator[tuple[str, Difference]]:
    for name, found in comparison.differences.items():
        yield figure_label(name), found
        if name == "pass_rate" and comparison.critical:
            yield "critical", comparison.critical


def _unusual_figures(comparison: Comparison) -> Iterator[tuple[str, Difference]]:
    """Beside the one that decided: what a gate would stop at, what is clearly worse; always the pass rate."""
    decisive, rate = deciding_figure(comparison), comparison.differences["pass_rate"]
    for label, found in _all_figures(comparison):
        is_bad = found.verdict != "NO REGRESSION" if found.gated else found.verdict == "REGRESSION"
        repeats = found.metric == "score" and (found.ends, found.value) == (rate.ends, rate.value)
        if found is not decisive and ((is_bad and not repeats) or found is rate):
            yield label, found


def compared_text(comparison: Comparison) -> str:
    """`3 of 50 cases changed; compared on 47`, and how many trials that are."""
    trials = _trials_text(comparison.differences["pass_rate"])
    return f"{say(comparison.left_out) or count(comparison.n_cases, 'case')} ({trials})"


def _trials_text(found: Difference) -> str:
    return f"{count(found.n_trials_old, 'trial')} before, {found.n_trials_new:,} now"


def _state_now(case: CaseChange) -> str:
    return "passed" if case.new_passed == case.new_trials else "flaky" if case.new_passed else "failed"


def _hidden_text(worse: Sequence[CaseChange], better: Sequence[CaseChange]) -> str:
    """`15 more worse, 8 better`: what is not listed."""
    listed, others = (worse, [("better", len(better))]) if worse else (better, [])
    more = (f"more {'worse' if worse else 'better'}", len(listed) - FIRST_CASES)
    return ", ".join(f"{number:,} {what}" for what, number in (more, *others) if number > 0)


def _tests_text(worse: Sequence[CaseChange], better: Sequence[CaseChange]) -> str:
    flagged = sum(case.flagged for case in worse)
    clear = f"{flagged or 'none'} clearly by {'themselves' if flagged > 1 else 'itself'}"
    of_tests = " (p: exact test per case; q: after Benjamini–Hochberg)"
    return f"{len(worse):,} worse, {clear}{of_tests}; {len(better):,} better" if worse else f"{len(better):,} better"


def _details(case: CaseChange) -> list[str]:
    words = [word for word, is_so in (("critical", case.critical), ("clearly worse", case.flagged)) if is_so]
    is_tested = case.delta < 0 and case.p is not None  # the test is about passes, not about scores
    return [*words, *([f"p {p_text(case.p)}", f"q {p_text(case.q)}"] if is_tested else [])]


def _moved(case: CaseChange) -> str:
    """`4/4 → 1/4`; where as many pass as before, the score."""
    if not case.delta and case.old_score is not None and case.new_score is not None:
        return f"score {case.old_score:.3g} → {case.new_score:.3g}"
    return f"{case.old_passed}/{case.old_trials} → {case.new_passed}/{case.new_trials}"


def _answers(case: CaseChange, screen: Screen, room: int) -> str:
    """`70 → 60`, or the first step that differs; both sides are cut where they do not fit."""
    found = case.divergence
    assert found is not None
    before, now = (str(found.params.get(name, "")) for name in ("before", "now"))
    if found.code == "divergence.answer":
        before, now = before.removeprefix('"').removesuffix('"'), now.removeprefix('"').removesuffix('"')
    elif found.code == "divergence.step":
        before = f"step {found.params.get('step')}: {before}"
    elif found.code == "divergence.unknown":
        before = before.removeprefix("answer ").removeprefix('"').removesuffix('"')
        now = f"no answer: {from_here(str(found.params.get('reason')))}"
    else:
        return screen.one_line(say(found), room)
    sides = [screen.clean(side) for side in (before or '""', now or '""')]
    spare = room - len(" → ")
    first = spare - min(len(sides[1]), spare // 2)
    kept = one_line(sides[0], max(first, LEAST_ANSWER))
    return f"{kept} → {one_line(sides[1], max(spare - len(kept), LEAST_ANSWER))}"


def _run_cells(comparison: Comparison, run: ComparedRun) -> list[str]:
    """Its name, its target, and where it comes from; its size only where that differs."""
    shapes = [_shape(comparison, each) for each in (run, comparison.new)]
    several = len(comparison.before) > 1 or shapes[0] == shapes[1]
    rest = [part for part in (_from_here(run.source), "" if several else shapes[0]) if part]
    return [run.run_name, run.variant, ", ".join(rest)]


def _from_here(source: str) -> str:
    """A file below the current folder by its path from there, as its reader typed it."""
    return source.removeprefix(f"{Path.cwd()}/")


def _shape(comparison: Comparison, run: ComparedRun) -> str:
    """`30 cases × 4 trials`; `30 cases, 118 trials` where not all have as many."""
    rate = comparison.differences["pass_rate"]
    cases, trials = comparison.n_cases, rate.n_trials_new if run is comparison.new else rate.n_trials_old
    if cases and trials % cases == 0:
        return f"{count(cases, 'case')} × {count(trials // cases, 'trial')}"
    return f"{count(cases, 'case')}, {count(trials, 'trial')}"


def deciding_figure(comparison: Comparison) -> Difference:
    """The difference that the verdict rests on; of several, that of the critical cases, else the pass rate's."""
    named = comparison.decisive
    if not named or (named[0] != "critical" and "pass_rate" in named):  # older reports do not say
        return comparison.differences["pass_rate"]
    found = comparison.critical if named[0] == "critical" else comparison.differences[named[0]]
    assert found is not None  # the verdict rests on it
    return found
