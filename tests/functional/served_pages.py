"""A server with a project for tests of its pages: suites whose runs wait for a file, and runs that are there before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from browsing import Watched, browsing
from driving import start, wait_until, write
from hostile_texts import HOSTILE
from playwright.sync_api import Browser, expect

from evalharness import Answer, Case, Harness, Suite

AGENT = """
import os, time
from pathlib import Path
from evalharness import Answer

HERE = Path(__file__).parent

def answer(question):
    if question.startswith("wait for "):
        name = question.removeprefix("wait for ")
        (HERE / f"{name}.pid").write_text(str(os.getpid()))
        for _ in range(6000):
            if (HERE / f"{name}.go").exists():
                return "done"
            time.sleep(0.01)
        return "waited too long"
    worse = (HERE / "worse").exists()
    if "Peru" in question:
        city = "Cusco" if worse else "Lima"
        messages = [
            {"role": "user", "content": question},
            {"role": "assistant", "content": "I will look it up."},
            {"role": "tool", "name": "search", "content": "Machu Picchu"},
            {"role": "assistant", "content": city},
        ]
        return Answer(output=city, messages=tuple(messages))
    return "Paris"
"""
GATED = """
name: {name}
target: agent.py:answer
test_cases:
  - {{id: peru, input: "What is the capital of Peru?", expected: Lima, category: geo}}
  - {{id: france, input: "What is the capital of France?", expected: Paris, category: geo, tags: [easy]}}
  - {{id: last, input: "wait for {name}", expected: done}}
config: {{max_workers: 1}}
"""
SUITES = ("by-mouse", "by-keyboard", "killed", "cancelled", "without-script", "in-terminal")
MANY = 250


@dataclass
class Served:
    folder: Path
    url: str
    """With the token."""

    @property
    def base(self) -> str:
        return self.url.partition("/?")[0]

    def open_gate(self, name: str) -> None:
        (self.folder / f"{name}.go").touch()

    def run_id(self, suite: str, nth: int = -1) -> str:
        """Of a suite's runs, oldest first."""
        with Harness.open(self.folder / "store.db", to_read=True) as harness:
            lines = harness.context.store.list_runs(100, suite)
        return lines[::-1][nth].id


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """A real server on a free port, with runs of every kind in its store."""
    write(folder, agent_py=AGENT, **{f"{name}_yaml": GATED.format(name=name) for name in SUITES})
    _make_runs(folder)
    log = folder / "serve.log"
    with (
        log.open("wb") as printed,
        start(folder, "serve", "--port", "0", "--store", "store.db", stdout=printed.fileno(), stderr=printed.fileno()),
    ):
        wait_until(lambda: "stop" in log.read_text())
        found = re.search(r"http://\S+", log.read_text())
        assert found is not None, log.read_text()
        try:
            yield Served(folder, found[0])
        finally:
            for name in SUITES:
                (folder / f"{name}.go").touch()


def _make_runs(folder: Path) -> None:
    def right(question: str) -> str:
        return question

    def worse(question: str) -> str:
        return "wrong" if question.endswith(("3", "7")) else question

    def hostile(question: str) -> Answer:
        return Answer(
            output=question,
            messages=({"role": question, "content": question},),
            tool_calls=({"name": question, "arguments": {question: question}, "result": question},),
            files={"a.txt": question},
        )

    many = Suite(
        name="many",
        cases=tuple(
            Case(id=f"case-{at}", input=str(at), expected=str(at), category="even" if at % 2 == 0 else "odd")
            for at in range(MANY)
        ),
    )
    everywhere = ("id", "name", "description", "input", "category")
    evil = Suite(
        name=HOSTILE[1],
        cases=tuple(
            Case(**dict.fromkeys(everywhere, text), tags=(text,), expected={"contains": f"not {text}"})
            for text in HOSTILE
        ),
    )
    dots = Suite(
        name="dots",
        cases=tuple(Case(id=name, input="x", expected="x") for name in ("..", "a/../b", "a b?#", "two\nlines")),
    )
    with Harness.open(folder / "store.db") as harness:
        harness.baseline(harness.run(many, {"function": right, "name": "right"}).id)
        harness.run(many, {"function": worse, "name": "worse"})
        for name in HOSTILE[:2]:
            harness.run(evil, {"function": hostile, "name": name})
        harness.run(dots, right)
        harness.run(Suite(name="tried", trials=4, cases=(Case(id="odd", input="0", expected="0"),)), _in_turn())
        for name in SUITES:
            (folder / f"{name}.go").touch()
            harness.baseline(harness.run(folder / f"{name}.yaml").id)
            (folder / f"{name}.go").unlink()
            (folder / f"{name}.pid").unlink()  # of this process
    (folder / "worse").touch()


def _in_turn() -> Callable[[str], str]:
    """A target that answers rightly every other time."""
    answers = cycle(("0", "1"))
    return lambda question: next(answers)


@contextmanager
def signed_in(browser: Browser, served: Served, path: str = "/", **options: object) -> Iterator[Watched]:
    """A page of the server, as somebody sees it who opened the printed address."""
    with browsing(browser, **options) as watched:
        watched.page.goto(served.url)
        if path != "/":
            watched.page.goto(f"{served.base}{path}")
        if options.get("java_script_enabled", True):
            watched.page.wait_for_selector("html[data-ready]", state="attached")
        yield watched
        assert watched.complaints == [], watched.complaints
        assert all(url.startswith(served.base) for url in watched.requests), watched.requests


def finished(watched: Watched, verdict: str) -> None:
    expect(watched.page.locator(".verdict")).to_contain_text(verdict, timeout=60_000)
