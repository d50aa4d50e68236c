"""What is shown before a run starts: on a terminal each image in turn, elsewhere one plain line."""

from __future__ import annotations

import io

from rich.console import Console

from evalharness.domain.finding import finding
from evalharness.reports.terminal.live_progress import ERASE, LiveProgress
from evalharness.reports.terminal.progress import PlainProgress
from evalharness.reports.terminal.screen import Screen


def test_images_for_containers() -> None:
    live, plain = io.StringIO(), io.StringIO()
    screens = [Screen(Console(file=stream, width=60, color_system=None)) for stream in (live, plain)]
    for progress in (LiveProgress(screens[0]), PlainProgress(screens[1])):
        progress.preparing(finding("run.preparing_images", images=2))
        for number, (image, files) in enumerate((("debian:12", 0), ("python:3.13", 2)), 1):
            found = finding("run.preparing_image", number=number, images=2, image=image, files=files)
            progress.preparing(found, is_passing=True)
    assert plain.getvalue() == "preparing 2 images for containers\n"
    shown = ["preparing image 1 of 2: debian:12", "preparing image 2 of 2: python:3.13 with 2 files"]
    assert [line.strip() for line in live.getvalue().split(ERASE) if line.strip()] == [plain.getvalue().strip(), *shown]
