"""Draws statistics.svg: how sure "all passed" is, and the three verdicts. `python docs/images/draw_statistics.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from evalharness.stats.intervals import bootstrap_plus_one_case

PICTURE = Path(__file__).with_name("statistics.svg")
WIDTH, HEIGHT = 760, 500
LEFT, RIGHT = 190, 650
GREY, BLUE, RED, GREEN, AMBER = "#57606a", "#0969da", "#cf222e", "#1a7f37", "#9a6700"
CASES = (3, 10, 50, 200)
MARGIN = -5
VERDICTS = (
    ("REGRESSION", RED, -12.0, -19.0, -5.0, "worse, by more than chance"),
    ("NO REGRESSION", GREEN, -0.5, -3.5, 2.5, "5 points worse is ruled out"),
    ("INCONCLUSIVE", AMBER, -4.0, -11.0, 3.0, "both are still possible"),
)
"""Invented differences in points, with their intervals."""


def draw() -> str:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="14" role="img">',
        "<title>Intervals when every case passed, and the three verdicts of a comparison</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *_all_passed(),
        *_three_verdicts(),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _all_passed() -> Iterator[str]:
    place = _scale(0, 100)
    yield _text(24, 32, "Every case passed: 100 %. How sure is that?", size=17, weight="bold")
    yield from _axis(place, range(0, 101, 20), top=50, bottom=196, unit=" %")
    for row, cases in enumerate(CASES):
        found = bootstrap_plus_one_case([1.0] * cases, cases)
        assert found is not None
        y = 70 + 34 * row
        yield _text(LEFT - 14, y + 5, f"{cases} of {cases} cases", anchor="end")
        yield _bar(place(100 * found.low), place(100), y, BLUE)
        yield _dot(place(100), y, BLUE)
        yield _text(RIGHT + 14, y + 5, f"{100 * found.low:.0f}–100 %", colour=BLUE)


def _three_verdicts() -> Iterator[str]:
    place = _scale(-20, 10)
    yield _text(24, 270, "New run minus baseline: three verdicts", size=17, weight="bold")
    yield f'<rect x="{place(-20):.1f}" y="290" width="{place(MARGIN) - place(-20):.1f}" height="128" fill="#ffebe9"/>'
    yield from _axis(place, range(-20, 11, 5), top=290, bottom=418, unit="")
    yield _line(place(0), 290, 418, "#1f2328", 1.5)
    yield _line(place(MARGIN), 290, 418, RED, 1.5, dashes="5 4")
    for row, (verdict, colour, value, low, high, meaning) in enumerate(VERDICTS):
        y = 314 + 40 * row
        yield _text(LEFT - 14, y - 1, verdict, anchor="end", colour=colour, weight="bold")
        yield _text(LEFT - 14, y + 15, meaning, anchor="end", size=11, colour=GREY)
        yield _bar(place(low), place(high), y, colour)
        yield _dot(place(value), y, colour)
    yield _text(place(0), 456, "no change", anchor="middle", size=12)
    yield _text(place(MARGIN), 456, "margin", anchor="middle", size=12, colour=RED)
    yield _text(place(-20), 456, "← worse", size=12, colour=GREY)
    yield _text(place(10), 456, "better →", anchor="end", size=12, colour=GREY)
    yield _text(
        24,
        486,
        "dot: what was measured; bar: what it may truly be (95 % interval); scale in points",
        size=12,
        colour=GREY,
    )


def _scale(low: float, high: float) -> Callable[[float], float]:
    return lambda value: LEFT + (value - low) / (high - low) * (RIGHT - LEFT)


def _axis(place: Callable[[float], float], ticks: range, top: int, bottom: int, unit: str) -> Iterator[str]:
    for tick in ticks:
        yield _line(place(tick), top, bottom, "#d0d7de", 1)
        written = f"{tick:+d}".replace("-", "−") if not unit and tick else f"{tick}{unit}"
        yield _text(place(tick), bottom + 18, written, anchor="middle", size=12, colour=GREY)


def _bar(start: float, end: float, y: float, colour: str) -> str:
    return (
        f'<rect x="{start:.1f}" y="{y - 5}" width="{end - start:.1f}" height="10" rx="3" '
        f'fill="{colour}" fill-opacity="0.35"/>'
    )


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y}" r="6" fill="{colour}"/>'


def _line(x: float, top: int, bottom: int, colour: str, width: float, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="M{x:.1f} {top}V{bottom}" stroke="{colour}" stroke-width="{width}"{dashed}/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 14,
    colour: str = "#1f2328",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}">{text}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
