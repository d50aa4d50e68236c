"""Plots: well-formed SVG that says the same in words, whatever the numbers are."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from evalharness.reports.pages.plots import (
    PlotMark,
    StripRun,
    bar,
    difference_plot,
    heat_map_row,
    interval_plot,
    sparkline,
    strip,
)


def drawn(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def test_an_interval_is_drawn_from_its_low_to_its_high_end() -> None:
    svg = drawn(interval_plot("pass rate", 0.5, (0.25, 0.75), [PlotMark("baseline", 0.9, "baseline", "90 %")]))
    band = next(each for each in svg.iter("rect") if each.get("class") == "band")
    assert (band.get("x"), band.get("width")) == ("25.00%", "50.00%")
    assert svg.get("aria-label") == "pass rate 50 %; interval 25 % to 75 %; baseline 90 %"
    assert svg.findtext("title") == "pass rate"


def test_a_difference_has_zero_in_the_middle_and_room_for_its_interval() -> None:
    svg = drawn(difference_plot("pass rate", -0.16, (-0.28, -0.04)))
    zero = next(each for each in svg.iter("line") if each.get("class") == "threshold")
    assert zero.get("x1") == "50.00%"
    assert [each.text for each in svg.iter("text")] == ["−40", "−20", "0", "+20", "+40"]
    assert svg.get("aria-label") == "pass rate −16.0 points; interval −28.0 to −4.0"


@pytest.mark.parametrize("value", [-3.0, -1.0, 0.0, 1.0, 2.5])
def test_numbers_out_of_range_stay_in_the_picture(value: float) -> None:
    for svg in (interval_plot("x", value, (value - 1, value + 1)), difference_plot("x", value, None), bar("x", value)):
        for each in drawn(svg).iter():
            for name in ("x", "x1", "x2", "cx", "width"):
                place = each.get(name, "0")
                assert 0 <= float(place.removesuffix("%")) <= 100


def test_labels_are_escaped() -> None:
    assert drawn(bar('<b>"&', 0.5)).get("aria-label") == '<b>"& 50 %'


def test_a_strip_has_a_point_and_a_whisker_for_each_run_and_a_mark_in_each_gap() -> None:
    runs = [
        StripRun("first: 50 %", 0.5, (0.25, 0.75), is_baseline=True),
        StripRun("INVALID", None, gap="error"),
        StripRun("third: 100 %", 1.0, None, is_partial=True, is_change=True),
    ]
    svg = drawn(strip("pass rate", runs, "2026-01-01", "2026-01-03"))
    kinds = [each.get("class") for each in svg.iter()]
    assert (kinds.count("point"), kinds.count("partial"), kinds.count("whisker"), kinds.count("change")) == (1, 1, 1, 1)
    assert kinds.count("path") == 0, "no line across a gap"
    texts = [each.text for each in svg.iter("text")]
    assert texts == ["0 %", "50 %", "100 %", "▲", "!", "2026-01-01", "2026-01-03"]
    assert svg.get("aria-label") == "pass rate of 3 runs; newest: third: 100 %"


def test_the_newest_run_is_on_the_right_even_if_it_is_the_only_one() -> None:
    for number in (1, 2, 30):
        svg = drawn(strip("pass rate", [StripRun("x", 0.5)] * number, "a", "b"))
        places = [float(str(each.get("cx")).removesuffix("%")) for each in svg.iter("circle")]
        assert places == sorted(places)
        assert (len(places), places[-1]) == (number, 97)


def test_a_sparkline_reaches_from_zero_to_its_largest_value() -> None:
    svg = drawn(sparkline("cost", [0.0, None, 2.0], "cost $0 → $2"))
    heights = [float(str(each.get("cy"))) for each in svg.iter("circle")]
    assert heights == [34, 6]
    assert drawn(sparkline("cost", [0.0, 0.0], "cost $0")) is not None


def test_a_heat_map_row_has_a_cell_with_a_mark_for_each_run_that_asked_the_case() -> None:
    svg = drawn(heat_map_row("passed in 2 of 3 runs", ["passed", "absent", "failed", "passed"]))
    assert [(group.get("class"), len(group.findall("rect")), group.findtext("text")) for group in svg.iter("g")] == [
        ("cell is-passed", 2, "✓✓"),
        ("cell is-failed", 1, "✗"),
    ]
    assert [rect.get("x") for rect in svg.iter("rect")] == ["0%", "75%", "50%"]
