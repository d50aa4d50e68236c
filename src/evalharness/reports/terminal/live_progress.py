"""Progress as one line at the bottom of a terminal, drawn again and again; everything else is printed above it.

Each case that goes wrong is named as it happens, unless the run is over so soon that its report says the same at once.
"""

from __future__ import annotations

import time
from collections import Counter
from threading import RLock

from rich.text import Text

from evalharness.domain.finding import Finding
from evalharness.domain.plain_numbers import count, percent
from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.reports.terminal.progress import announce
from evalharness.reports.terminal.screen import MARKS, Part, Screen
from evalharness.reports.wording import duration, from_here, money
from evalharness.reports.words.say import say

ERASE = "\r\x1b[2K"
REDRAW_S = 0.1
FAILURES_AFTER_S = 1.0
LEAST_BAR = 8
LEFT_FREE = 4
"""Columns at the end: a terminal writes `^C` there at each press, and what wraps would not be erased."""
SHOWN = {"passed": "passed", "failed": "failed", "error": "errors", "skipped": "skipped", "awaiting": "awaiting"}


class LiveProgress:
    """Done of planned, a bar, states so far, their pass rate, what it cost, and the time that is left."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lock = RLock()
        self._is_drawn = False
        self._run: Run | None = None
        self._begin(None, 0)

    def _begin(self, run: Run | None, finished_before: int) -> None:
        self._run, self._before = run, finished_before
        self._states: Counter[str] = Counter()
        self._cost_usd = 0.0
        self._seen: set[str] = set()
        self._held: list[list[Part]] = []
        self._started = time.monotonic()
        self._drawn_at = 0.0

    def preparing(self, found: Finding, *, is_passing: bool = False) -> None:
        """What is passing takes the place of the line of progress."""
        with self._lock:
            self._erase()
            if not is_passing:
                self._screen.entry([], say(found))
                return
            line = Text(self._screen.one_line(say(found)))
            line.truncate(self._screen.console.width - LEFT_FREE, overflow="ellipsis")
            self._show(line)

    def run_started(self, run: Run, finished_before: int) -> None:
        with self._lock:
            self._erase()
            self._begin(run, finished_before)
            announce(self._screen, run, finished_before)
            self._draw()

    def trial_finished(self, trial: Trial) -> None:
        with self._lock:
            self._states[trial.state] += 1
            self._cost_usd += trial.cost_usd or 0.0
            if trial.state in ("failed", "error") and trial.case_id not in self._seen:
                self._seen.add(trial.case_id)
                case, reason = self._screen.one_line(trial.case_id), self._screen.one_line(from_here(trial.reason), 300)
                self._held.append([MARKS[trial.state], f" {case}   trial {trial.index + 1}   ", reason])
            self.tick()

    def tick(self) -> None:
        """Draws the line again, if it is old enough."""
        with self._lock:
            now = time.monotonic()
            if self._run is None or now - self._drawn_at < REDRAW_S:
                return
            if self._held and now - self._started >= FAILURES_AFTER_S:
                self._erase()
                for mark, case, reason in self._held:
                    self._screen.entry([mark, case], reason)
                self._held.clear()
            self._draw()

    def above(self, line: str) -> None:
        """Something that others print."""
        with self._lock:
            self._erase()
            self._screen.say(line)
            self._draw()

    def run_ended(self, run: Run) -> None:  # noqa: ARG002
        self.stop()

    def stop(self) -> None:
        with self._lock:
            self._erase()
            self._run = None

    def _erase(self) -> None:
        if self._is_drawn:
            self._write(ERASE)
            self._is_drawn = False

    def _draw(self) -> None:
        if self._run is None:
            return
        self._drawn_at = time.monotonic()
        self._show(self._line(self._run))

    def _show(self, line: Text) -> None:
        with self._screen.console.capture() as drawn:
            self._screen.console.print(line, end="", soft_wrap=True)
        self._write(f"{ERASE}{drawn.get()}")
        self._is_drawn = True

    def _write(self, text: str) -> None:
        """Nobody may be there any more to see it: the run goes on."""
        console = self._screen.console
        if console.quiet:
            return
        try:
            console.file.write(text)
            console.file.flush()
        except OSError:
            console.quiet = True

    def _line(self, run: Run) -> Text:
        planned, done = run.planned_trials, self._before + self._states.total()
        begin, end = f"{done:,}/{planned:,}", Text("  ").join(Text(text, style) for text, style in self._parts(planned))
        width = self._screen.console.width - LEFT_FREE
        bar = width - len(begin) - 4 - end.cell_len
        filled = bar * min(done, planned) // planned if planned else bar
        drawn = Text.assemble(("━" * filled, "green"), ("─" * (bar - filled), "dim"), "  ")
        line = Text.assemble(begin, "  ", drawn if bar >= LEAST_BAR else "", end)
        line.truncate(width, overflow="ellipsis")
        return line

    def _parts(self, planned: int) -> list[tuple[str, str]]:
        parts = [
            (count(number, "error") if state == "error" else f"{number:,} {word}", MARKS[state][1])
            for state, word in SHOWN.items()
            if (number := self._states[state]) or state == "passed"
        ]
        judged = self._states["passed"] + self._states["failed"]
        parts += [(percent(self._states["passed"] / judged, 0), "")] if judged else []
        parts += [(money(self._cost_usd), "")] if self._cost_usd else []
        finished, left = self._states.total(), planned - self._before - self._states.total()
        took_s = time.monotonic() - self._started
        left_s = max(1.0, took_s / max(finished, 1) * left)
        parts += [(f"{duration(round(left_s))} left", "dim")] if finished and left > 0 else []
        return parts
