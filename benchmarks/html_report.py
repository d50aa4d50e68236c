"""An HTML report of 100,000 trials: written, opened in a real browser, scrolled, searched and filtered."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from benchmarks.timing import cost_of
from evalharness import Case, Harness, Suite

CASES, TRIALS = 10_000, 10
WORDS = ("river", "mountain", "ocean", "forest", "city", "street", "house", "garden", "window", "table", "letter")
WRITTEN_S, LARGEST_MB, PAINTED_S, LONGEST_TASK_MS = 10.0, 30, 2.0, 200
CHROMIUM = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
)
LONG_TASKS = """
window.longTasks = [];
new PerformanceObserver((seen) => { for (const each of seen.getEntries()) window.longTasks.push(each.duration); })
  .observe({ type: "longtask", buffered: true });
"""


async def answer(question: str) -> str:
    """Twenty words; a tenth of the cases goes wrong most of the time."""
    rng = random.Random()
    goes_wrong = int(question) % 10 == 0 and rng.random() < 0.7
    return " ".join([*rng.choices(WORDS, k=19), "wrong" if goes_wrong else "right"])


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    cases = options.scaled(CASES)
    suite = Suite(
        name="large",
        trials=TRIALS,
        cases=tuple(
            Case(id=f"case-{n:05d}", input=str(n), expected={"ends_with": "right"}, category=f"kind {n % 5}")
            for n in range(cases)
        ),
    )
    with TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        with Harness.open(Path(folder, "store.db")) as harness:
            run = harness.run(suite, answer)
            name = run.name
            del run
            taken = cost_of(lambda: harness.write_report(name, path))
        megabytes = path.stat().st_size / 1e6
        what = f"HTML report of {cases * TRIALS:,} trials ({cases:,} cases × {TRIALS})"
        budget_s, most_mb = WRITTEN_S * cases / CASES, LARGEST_MB * cases / CASES
        written = f"{taken.cpu_s:.1f} s CPU, {taken.wall_s:.1f} s wall"
        yield Row(f"{what}, written", written, budget=f"≤ {budget_s:g} s", kept=taken.cpu_s <= budget_s)
        yield Row(f"{what}, size", f"{megabytes:.1f} MB", budget=f"≤ {most_mb:g} MB", kept=megabytes <= most_mb)
        painted_s, tasks = _used(path)
    yield Row(f"{what}, first paint", f"{painted_s:.2f} s", budget=f"< {PAINTED_S:g} s", kept=painted_s < PAINTED_S)
    for doing, longest_ms in tasks.items():
        yield Row(
            f"{what}, longest task while {doing}",
            f"{longest_ms:.0f} ms" if longest_ms else "below 50 ms",
            budget=f"≤ {LONGEST_TASK_MS} ms",
            kept=longest_ms <= LONGEST_TASK_MS,
        )


def _used(path: Path) -> tuple[float, dict[str, float]]:
    """Seconds until something is seen, and the longest task of each kind of use in milliseconds."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(LONG_TASKS)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        painted_s = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
        _longest(page)
        for _ in range(40):
            page.mouse.wheel(0, 2000)
            page.wait_for_timeout(25)
        tasks = {"scrolling": _longest(page)}
        page.locator("#filters input").press_sequentially("case-0123", delay=40)
        page.wait_for_timeout(500)
        tasks["searching"] = _longest(page)
        page.fill("#filters input", "")
        page.select_option("#filters select[name=show]", "failed")
        page.wait_for_timeout(500)
        tasks["filtering"] = _longest(page)
        page.click("th button[data-sort=latency]")
        page.wait_for_timeout(500)
        tasks["sorting"] = _longest(page)
        page.locator("#cases tbody a").first.click()
        page.wait_for_selector("tr.opened .panel")
        tasks["opening a case"] = _longest(page)
        browser.close()
    return painted_s, tasks


def _longest(page: Page) -> float:
    """Since the last call; the browser reports tasks from 50 ms on."""
    return max(page.evaluate("window.longTasks.splice(0)"), default=0.0)
