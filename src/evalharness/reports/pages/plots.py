"""Plots as inline SVG: the one place that draws. Colours come from the stylesheet, by class.

Positions are percentages of the width, so that a plot fills its place on any screen and its texts keep their size.
Each plot has a title and a description for those who do not see it. Labels are our own words, never text from a run:
a plot is finished HTML, which is not redacted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup, escape

from evalharness.domain.plain_numbers import percent
from evalharness.reports.terminal.screen import MARKS

NEAR_AN_END = 12
"""Percent of the width: a label this close to an end is written towards the middle."""
STEPS_OF_POINTS = (0.1, 0.2, 0.4, 0.6, 1.0)
STRIP_FROM, STRIP_TO = 14, 97
"""Percent of the width: left of the runs are the labels of the axis."""
STRIP_TOP, STRIP_BOTTOM = 24, 144
SPARK_TOP, SPARK_BOTTOM = 6, 34
WIDEST_CELL = 32


class PlotMark(NamedTuple):
    """Something to compare with, drawn below the axis."""

    label: str
    value: float
    kind: str
    """`baseline` or `threshold`."""
    text: str
    """The value in words."""


class StripRun(NamedTuple):
    """One run of a strip chart: its value and the ends of its interval, or the state whose mark fills the gap."""

    label: str
    value: float | None
    ends: tuple[float, float] | None = None
    gap: str = ""
    is_partial: bool = False
    is_baseline: bool = False
    is_change: bool = False
    """Whether the suite had changed since the run before."""


def interval_plot(label: str, value: float, ends: tuple[float, float] | None, marks: Iterable[PlotMark] = ()) -> Markup:
    """A share with its interval, from 0 to 100 %."""
    drawn = [_axis([(share, percent(share, 0)) for share in (0, 0.25, 0.5, 0.75, 1)], 0, 1)]
    drawn += _interval(_at(value, 0, 1), [_at(end, 0, 1) for end in ends or ()])
    below = list(marks)
    for row, mark in enumerate(below):
        drawn.append(_mark(mark, row))
    shown = [f"{label} {percent(value)}"]
    shown += [f"interval {percent(ends[0])} to {percent(ends[1])}"] if ends else []
    shown += [f"{mark.label} {mark.text}" for mark in below]
    return _svg(label, "; ".join(shown), 48 + 20 * len(below), drawn)


def difference_plot(label: str, value: float, ends: tuple[float, float] | None) -> Markup:
    """A difference of shares with its interval; 0 is in the middle."""
    reach = max(abs(part) for part in (value, *(ends or ())))
    most = next((step for step in STEPS_OF_POINTS if step >= reach), reach)
    ticks = [(share, f"{share * 100:+g}".replace("-", "−") if share else "0") for share in _ticks(most)]
    drawn = [_axis(ticks, -most, most)]
    zero = _at(0, -most, most)
    drawn.append(_line("threshold", zero, 20, 48))
    drawn += _interval(_at(value, -most, most), [_at(end, -most, most) for end in ends or ()])
    text = f"{label} {value * 100:+.1f} points"
    text += f"; interval {ends[0] * 100:+.1f} to {ends[1] * 100:+.1f}" if ends else ""
    return _svg(label, text.replace("-", "−"), 48, drawn)


def bar(label: str, value: float, ends: tuple[float, float] | None = None) -> Markup:
    """A share as a bar, its interval over it."""
    drawn = ['<rect class="room" x="0" y="4" width="100%" height="8" rx="4"/>']
    drawn.append(f'<rect class="point" x="0" y="4" width="{_percent(_at(value, 0, 1))}" height="8" rx="4"/>')
    if ends:
        low, high = (_at(end, 0, 1) for end in ends)
        drawn.append(f'<line class="range" x1="{_percent(low)}" x2="{_percent(high)}" y1="8" y2="8"/>')
        drawn += [_line("range", end, 3, 13) for end in (low, high)]
    return _svg(label, f"{label} {percent(value)}", 16, drawn)


def strip(label: str, runs: Sequence[StripRun], first: str, last: str) -> Markup:
    """A share over several runs, each with its interval, newest right; `first` and `last` are written below the ends.

    Baselines are marked below the axis, changes of the suite by a line before the run; a run without a value is a gap.
    """
    places = _places(len(runs))
    drawn = []
    for share in (0, 0.5, 1):
        y = _height(share, 1, STRIP_TOP, STRIP_BOTTOM)
        drawn.append(f'<line class="grid" x1="0" x2="100%" y1="{y:g}" y2="{y:g}"/>')
        drawn.append(f'<text x="0" y="{y - 4:g}">{percent(share, 0)}</text>')
    drawn += [
        _line("change", _before(places, number), 12, STRIP_BOTTOM) for number, run in enumerate(runs) if run.is_change
    ]
    drawn += _joined(places, [run.value for run in runs], 1, STRIP_TOP, STRIP_BOTTOM)
    drawn += map(_strip_run, runs, places)
    below = STRIP_BOTTOM + 40
    drawn.append(f'<text x="{_percent(STRIP_FROM)}" y="{below}">{escape(first)}</text>' if first != last else "")
    drawn.append(f'<text x="100%" y="{below}" text-anchor="end">{escape(last)}</text>')
    known = [run for run in runs if run.value is not None]
    shown = "; ".join(run.label for run in known[-1:])
    return _svg(label, f"{label} of {len(runs)} runs; newest: {shown}", below + 8, drawn)


def sparkline(label: str, values: Sequence[float | None], described: str) -> Markup:
    """A figure over several runs, from 0 to its largest value, newest right."""
    places = _places(len(values), 2, 98)
    most = max((value for value in values if value is not None), default=0.0) or 1.0
    drawn = [f'<line class="grid" x1="0" x2="100%" y1="{SPARK_BOTTOM}" y2="{SPARK_BOTTOM}"/>']
    drawn += _joined(places, values, most, SPARK_TOP, SPARK_BOTTOM)
    last = max((number for number, value in enumerate(values) if value is not None), default=None)
    for number, (place, value) in enumerate(zip(places, values, strict=True)):
        if value is not None:
            y = _height(value, most, SPARK_TOP, SPARK_BOTTOM)
            size = 4 if number == last else 2
            drawn.append(f'<circle class="point" cx="{_percent(place)}" cy="{y:g}" r="{size}"/>')
    return _svg(label, described, 40, drawn)


def heat_map_row(label: str, states: Sequence[str]) -> Markup:
    """What became of one case in several runs, newest right: a cell for each, with the mark of its state."""
    wide = 100 / len(states)
    drawn = []
    for state in dict.fromkeys(state for state in states if state in MARKS):  # others: the run did not ask it
        places = [number * wide for number, each in enumerate(states) if each == state]
        cells = "".join(f'<rect x="{_short(place)}" y="1" width="{_short(wide)}" height="22"/>' for place in places)
        middles = " ".join(_short(place + wide / 2) for place in places)  # one for each mark
        marks = f'<text x="{middles}" y="17" text-anchor="middle">{MARKS[state][0] * len(places)}</text>'
        drawn.append(f'<g class="cell is-{state}">{cells}{marks}</g>')
    return _svg("runs, oldest to newest", label, 24, drawn, width=str(WIDEST_CELL * len(states)))


def _places(number: int, first: float = STRIP_FROM + 4, last: float = STRIP_TO) -> list[float]:
    """In percent of the width; a single run is where the newest is."""
    return [last - (last - first) * (number - 1 - each) / max(number - 1, 1) for each in range(number)]


def _before(places: Sequence[float], number: int) -> float:
    return (places[number - 1] + places[number]) / 2 if number else places[0] - 2


def _height(value: float, most: float, top: int, bottom: int) -> float:
    return round(bottom - (bottom - top) * min(max(value / most, 0), 1), 1)


def _joined(
    places: Sequence[float], values: Sequence[float | None], most: float, top: int, bottom: int
) -> Iterator[str]:
    """Lines between neighbours; none across a gap."""
    for (x1, one), (x2, other) in pairwise(zip(places, values, strict=True)):
        if one is not None and other is not None:
            y1, y2 = (_height(value, most, top, bottom) for value in (one, other))
            yield f'<line class="path" x1="{_percent(x1)}" x2="{_percent(x2)}" y1="{y1:g}" y2="{y2:g}"/>'


def _strip_run(run: StripRun, place: float) -> str:
    parts = [f"<title>{escape(run.label)}</title>"]
    if run.value is None:
        mark, _ = MARKS[run.gap]
        y = STRIP_BOTTOM - 6
        text = f'<text x="{_percent(place)}" y="{y}" text-anchor="middle">{mark}</text>'
        parts.append(f'<g class="cell is-{run.gap}">{text}</g>')
    else:
        if run.ends:
            low, high = (_height(end, 1, STRIP_TOP, STRIP_BOTTOM) for end in run.ends)
            parts.append(_line("whisker", place, high, low))
        kind, height = "partial" if run.is_partial else "point", _height(run.value, 1, STRIP_TOP, STRIP_BOTTOM)
        parts.append(f'<circle class="{kind}" cx="{_percent(place)}" cy="{height:g}" r="4"/>')
    if run.is_baseline:
        y = STRIP_BOTTOM + 16
        parts.append(f'<text class="strong" x="{_percent(place)}" y="{y}" text-anchor="middle">▲</text>')
    return f"<g>{''.join(parts)}</g>"


def _ticks(most: float) -> list[float]:
    return [-most, -most / 2, 0, most / 2, most]


def _at(value: float, low: float, high: float) -> float:
    """In percent of the width; what lies outside is drawn at the edge."""
    return 100 * (min(max(value, low), high) - low) / (high - low)


def _percent(place: float) -> str:
    return f"{place:.2f}%"


def _short(place: float) -> str:
    """The same where there are thousands of them."""
    return f"{round(place, 2):g}%"


def _axis(ticks: Sequence[tuple[float, str]], low: float, high: float) -> str:
    lines = ['<line class="axis" x1="0" x2="100%" y1="34" y2="34"/>']
    for value, text in ticks:
        place = _at(value, low, high)
        lines.append(f'<line class="axis" x1="{_percent(place)}" x2="{_percent(place)}" y1="30" y2="38"/>')
        lines.append(f'<text x="{_percent(place)}" y="14" text-anchor="middle">{escape(text)}</text>')
    return "".join(lines)


def _interval(place: float, ends: Sequence[float]) -> list[str]:
    drawn = []
    if ends:
        low, high = ends
        drawn.append(f'<rect class="band" x="{_percent(low)}" y="28" width="{_percent(high - low)}" height="12"/>')
        drawn += [_line("end", end, 28, 40) for end in (low, high)]
    return [*drawn, f'<circle class="point" cx="{_percent(place)}" cy="34" r="6"/>']


def _mark(mark: PlotMark, row: int) -> str:
    place = _at(mark.value, 0, 1)
    y = 62 + 20 * row
    if mark.kind == "threshold":
        sign = _line("threshold", place, 20, y - 12)
    else:
        sign = f'<line class="axis" x1="{_percent(place)}" x2="{_percent(place)}" y1="40" y2="{y - 12}"/>'
    anchor = "start" if place < NEAR_AN_END else "end" if place > 100 - NEAR_AN_END else "middle"
    text = f"{mark.label} {mark.text}"
    return f'{sign}<text class="strong" x="{_percent(place)}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _line(kind: str, place: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{_percent(place)}" x2="{_percent(place)}" y1="{top}" y2="{bottom}"/>'


def _svg(title: str, description: str, height: int, drawn: Iterable[str], width: str = "100%") -> Markup:
    head = f'<svg role="img" width="{width}" height="{height}" aria-label="{escape(description)}">'
    return Markup(f"{head}<title>{escape(title)}</title><desc>{escape(description)}</desc>{''.join(drawn)}</svg>")
