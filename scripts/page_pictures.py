"""Draws docs/images/page-*.png: reports of the examples in a real browser, on a desk and on a phone, light and dark.

    .venv/bin/python scripts/page_pictures.py

Needs Chromium (Debian: `apt-get install chromium`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
)
SIZES = {1280: 900, 390: 844}
SCENES = {
    "run": ("changed/after.html", ""),
    "trial": ("agent/report.html", "#case=last-of-the-list"),
    "compare": ("changed/compare.html", ""),
    "matrix": ("prompts/matrix.html", ""),
    "suite": ("changed/trend.html", ""),
}
"""File and place in it."""
COMMANDS = {
    "changed": (
        "run suite.yaml --target agent.py:before -q",
        "baseline set latest",
        "run suite.yaml --target agent.py:after -q -o after.html",
        "compare -2 -1 -q -o compare.html",
        "run suite.yaml --target agent.py:before -q",
        "run suite.yaml --target agent.py:before --seed 2 -q",
        "run suite.yaml --target agent.py:before --limit 10 -q",
        "run suite.yaml --target agent.py:before --seed 3 -q",
        "run suite.yaml --target agent.py:before --seed 4 -q",
        "trend sums --target agent.py:before -o trend.html",
    ),
    "prompts": ("run suite.yaml -q -o matrix.html",),
    "agent": ("run suite.json --trials 3 -q -o report.html",),
}


def main() -> None:
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = Path(folder)
        for example, commands in COMMANDS.items():
            shutil.copytree(ROOT / "examples" / example, made / example)
            (made / example / "pyproject.toml").touch()  # its own store
            if example == "agent":  # one of its tasks is to fail
                suite = made / example / "suite.json"
                suite.write_text(suite.read_text().replace("items[-1]", "items[0 - 1]"))
            for command in commands:
                words = [sys.executable, "-m", "evalharness", *command.split()]
                subprocess.run(words, cwd=made / example, check=False, stdout=subprocess.DEVNULL)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        for scene, (file, place) in SCENES.items():
            for width in SIZES:
                for scheme in ("light", "dark"):
                    _draw(browser, made / file, place, IMAGES / f"page-{scene}-{width}-{scheme}.png", width, scheme)
        browser.close()


def _draw(browser: Browser, file: Path, place: str, picture: Path, width: int, scheme: str) -> None:
    page = browser.new_page(
        viewport={"width": width, "height": SIZES[width]},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page.goto(f"{file.as_uri()}{place}")
    page.wait_for_selector("html[data-ready]", state="attached")
    if place:
        page.wait_for_selector("tr.opened .panel")
    page.screenshot(path=picture)
    page.close()


if __name__ == "__main__":
    main()
