"""The look of the pages, as far as a program can see it: size, contrast, and nothing that the browser would refuse."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from evalharness.reports.pages.page_templates import content_policy, page_source

FOLDER = files("evalharness.reports.pages")
COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", page_source("style.css"))
}
STATES = ("passed", "failed", "flaky", "error", "awaiting")


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read(theme: int) -> None:
    pairs = [(name, ground) for name in ("text", "muted", "accent") for ground in ("bg", "surface")]
    pairs += [(state, ground) for state in STATES for ground in ("bg", "surface", f"{state}-tint")]
    pairs += [("text", f"{state}-tint") for state in STATES] + [("muted", f"{state}-tint") for state in STATES]
    for name, ground in pairs:
        assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 4.5, (name, ground)
    for ground in ("bg", "surface"):
        assert contrast(COLOURS["control"][theme], COLOURS[ground][theme]) >= 3


def test_script_and_style_together_are_small() -> None:
    assert len(page_source("script.js").encode()) + len(page_source("style.css").encode()) < 60_000


def test_nothing_is_fetched_and_no_attribute_is_a_style_or_a_handler() -> None:
    for path in FOLDER.joinpath("templates").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\sstyle=|\son\w+=|https?:|\|safe", text), path
    assert "innerHTML" in page_source("script.js")
    assert not re.search(r"https?:|import\s|eval\(", page_source("script.js"))


def test_a_report_may_connect_to_nothing_though_its_script_knows_servers() -> None:
    policy = content_policy("", "")
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
