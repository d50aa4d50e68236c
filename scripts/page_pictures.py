"""Draws the pages in docs/images in a real browser, on a desk and on a phone, light and dark: page-*.png are reports of
the examples in files, served-*.png the pages of a server.

    .venv/bin/python scripts/page_pictures.py

Needs Chromium (Debian: `apt-get install chromium`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from evalharness.actions.invite_reviewers import invite_reviewer
from evalharness.actions.rate_answers import lease_item, submit_review
from evalharness.actions.show_overview import show_progress
from evalharness.harness import Harness

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
SERVED = {
    "home": "/",
    "suite": "/suites/sums",
    "run": "/runs/{after}",
    "trial": "/runs/{agent}/cases/last-of-the-list",
    "compare": "/compare?a={before}&b={after}",
    "matrix": "/matrix/{matrix}",
}
"""Addresses on the server; the ids of runs are filled in."""
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


SERVED_COMMANDS = (
    "run agent/suite.json --trials 3 -q",
    "run prompts/suite.yaml -q",
    *(f"run changed/suite.yaml --target changed/agent.py:before --seed {seed} -q" for seed in range(1, 5)),
    "run changed/suite.yaml --target changed/agent.py:before -q",
    "baseline set latest",
    *(f"run changed/suite.yaml --target changed/agent.py:after --seed {seed} -q" for seed in range(1, 4)),
    "run changed/suite.yaml --target changed/agent.py:after -q",
)
RUN_IDS = {"after": "-1", "before": "default", "agent": "latest:agent-tasks", "matrix": "latest:tickets"}
"""How the runs on the pictures are found."""


QUESTIONS = {
    "Where is my parcel?": "It left our warehouse this morning. Thank you for your patience!",
    "My lamp arrived broken. What now?": "We are sorry. Send us a photo, and we will send you another one.",
    "Can I change my address?": "Yes, as long as the parcel has not left: in your account, under Orders.",
    "How long is the guarantee?": "Two years from the day on which you got it. Keep the invoice.",
    "Do you deliver to islands?": "We do, and it takes two days longer.",
    "Who pays for a return?": "We do. The label is in your account.",
    "Is the blue one in stock?": "Not now. We expect it next week.",
    "Can I pay by invoice?": "Yes, within fourteen days.",
}
RATINGS = {"ann": (8, (4, 4, 5)), "ben": (8, (2, 4, 5)), "cem": (3, (4, 5))}
"""How many answers each has rated, and how."""


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        draw_reports(browser)
        draw_served(browser)
        draw_reviews(browser)
        browser.close()


def draw_reviews(browser: Browser) -> None:
    """The page of a reviewer in the middle of a suite, and what its owner sees of three reviewers."""
    with TemporaryDirectory() as folder:
        made = Path(folder)
        (made / "suite.json").write_text(json.dumps(_rated_suite()), encoding="utf-8")
        (made / "agent.py").write_text(
            f"ANSWERS = {QUESTIONS!r}\n\ndef answer(question):\n    return ANSWERS[question]\n"
        )
        (made / "pyproject.toml").touch()  # its own store
        _run(made, "run suite.json -q")
        with Harness.open(made / ".evalharness" / "store.db") as harness:
            tokens = {name: harness.call(invite_reviewer, name).token for name in RATINGS}
            _rate(harness)
            run = harness.runs()[0].id
        words = [sys.executable, "-m", "evalharness", "serve", "--port", "0"]
        with subprocess.Popen(words, cwd=made, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            base = address.partition("/?")[0]
            scenes = {
                "review": (f"{base}/review?token={tokens['cem']}", "/review"),
                "reviews": (address, f"/runs/{run}/reviews"),
            }
            for (scene, (entry, path)), width, scheme in product(scenes.items(), SIZES, ("light", "dark")):
                page = _page(browser, width, scheme)
                page.goto(entry)
                page.goto(base + path)
                _save(page, IMAGES / f"served-{scene}-{width}-{scheme}.png")
            server.terminate()


def _rated_suite() -> dict[str, Any]:
    scale = {
        "type": "likert",
        "range": [1, 5],
        "labels": {"1": "Poor", "5": "Excellent"},
        "criteria": [
            {"name": "The output is accurate", "description": "Everything it says is right."},
            {"name": "The output is complete", "description": "It answers all that was asked."},
        ],
    }
    rubric = "Rate the answer as a customer would.\n\nPolite words do not make up for a wrong answer."
    cases = []
    for at, question in enumerate(QUESTIONS):
        people = {"min_required": 2 if at < 2 else 3, "max_allowed": 2 if at < 2 else 3}
        grader = {"human": {"rating_scale": scale, "rubric": rubric, "evaluators": people}}
        cases.append({"id": f"question-{at + 1}", "input": question, "graders": [grader]})
    return {"name": "customers", "target": "agent.py:answer", "test_cases": cases}


def _rate(harness: Harness) -> None:
    """Ann and Ben rate everything, and disagree about one answer; Cem has begun."""
    for name, (most, numbers) in RATINGS.items():
        for _ in range(most):
            leased = harness.call(lease_item, name)
            assert leased is not None
            number = numbers[[*QUESTIONS].index(str(leased.item.question)) % len(numbers)]
            rating = {each.name: number for each in leased.item.criteria}
            comment = "It does not say when." if number == 2 else ""
            harness.call(submit_review, name, leased.item.id, rating, comment)


def draw_served(browser: Browser) -> None:
    with TemporaryDirectory() as folder:
        made = Path(folder) / "examples"
        for example in COMMANDS:
            shutil.copytree(ROOT / "examples" / example, made / example)
        _fail_one(made / "agent" / "suite.json")
        (made / "pyproject.toml").touch()  # its own store
        for command in SERVED_COMMANDS:
            _run(made, command)
        with Harness.open(made / ".evalharness" / "store.db") as harness:
            found = {name: harness.call(show_progress, reference).run for name, reference in RUN_IDS.items()}
        ids = {name: run.matrix_id if name == "matrix" else run.line.id for name, run in found.items()}
        words = [sys.executable, "-m", "evalharness", "serve", "--port", "0"]
        with subprocess.Popen(words, cwd=made, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]
            base = address.partition("/?")[0]
            for scene, path in SERVED.items():
                for width, scheme in product(SIZES, ("light", "dark")):
                    page = _page(browser, width, scheme)
                    page.goto(address)
                    page.goto(base + path.format(**ids))
                    _save(page, IMAGES / f"served-{scene}-{width}-{scheme}.png")
            server.terminate()


def _fail_one(suite: Path) -> None:
    """One of the agent's tasks is to fail."""
    suite.write_text(suite.read_text().replace("items[-1]", "items[0 - 1]"))


def _run(folder: Path, command: str) -> None:
    words = [sys.executable, "-m", "evalharness", *command.split()]
    subprocess.run(words, cwd=folder, check=False, stdout=subprocess.DEVNULL)


def draw_reports(browser: Browser) -> None:
    with TemporaryDirectory() as folder:
        made = Path(folder)
        for example, commands in COMMANDS.items():
            shutil.copytree(ROOT / "examples" / example, made / example)
            (made / example / "pyproject.toml").touch()  # its own store
            if example == "agent":
                _fail_one(made / example / "suite.json")
            for command in commands:
                _run(made / example, command)
        for scene, (file, place) in SCENES.items():
            for width, scheme in product(SIZES, ("light", "dark")):
                page = _page(browser, width, scheme)
                page.goto(f"{(made / file).as_uri()}{place}")
                if place:
                    page.wait_for_selector("tr.opened .panel")
                _save(page, IMAGES / f"page-{scene}-{width}-{scheme}.png")


def _page(browser: Browser, width: int, scheme: str) -> Page:
    return browser.new_page(
        viewport={"width": width, "height": SIZES[width]},
        color_scheme="dark" if scheme == "dark" else "light",
    )


def _save(page: Page, picture: Path) -> None:
    page.wait_for_selector("html[data-ready]", state="attached")
    page.screenshot(path=picture)
    page.close()


if __name__ == "__main__":
    main()
