"""A real browser for tests: one Chromium for each process, and pages that report whatever goes wrong in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from missing_parts import missing
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def real_browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        missing("Chromium", "apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(QUIET))
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, and everything that a page must never do."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def browsing(browser: Browser, *, width: int = 1280, **options: Any) -> Iterator[Watched]:
    """An empty page of a visitor of its own."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    watched = Watched(page)
    page.on("console", lambda said: watched.complaints.append(f"console {said.type}: {said.text}"))
    page.on("pageerror", lambda error: watched.complaints.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (watched.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: watched.requests.append(request.url))
    yield watched
    context.close()


@contextmanager
def opened(browser: Browser, file: Path, fragment: str = "", *, width: int = 1280, **options: Any) -> Iterator[Watched]:
    """The page of a file, ready to be used."""
    with browsing(browser, width=width, **options) as watched:
        watched.page.goto(f"{file.as_uri()}{fragment}")
        if options.get("java_script_enabled", True):
            watched.page.wait_for_selector("html[data-ready]", state="attached")
        yield watched
