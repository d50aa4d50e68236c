"""docs/api.md: every request on it is made, in order; status and shape of the answers are those on the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from capitals import capitals_project
from driving import succeed, wait_until
from served import Served, serving

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
REQUEST = re.compile(
    r"^```http (?P<status>\d+)\n(?P<method>[A-Z]+) (?P<path>\S+)\n(?P<body>.*?)```\n(```json\n(?P<answer>.*?)```)?",
    re.MULTILINE | re.DOTALL,
)


TONE = """
name: tone
target: echo
test_cases:
  - {id: refund, input: Where is my money?, graders: [{contains: money}, {human: {rubric: Is it polite?}}]}
  - {id: broken, input: My lamp is broken., graders: [{human: {rubric: Is it polite?}}]}
"""


def missing(shown: Any, given: Any, place: str = "") -> list[str]:
    """What the page has and the answer has not: keys, and kinds of values."""
    if isinstance(shown, dict) and isinstance(given, dict):
        lost = [f"{place}.{key}" for key in shown if key not in given]
        both = [key for key in shown if key in given]
        return lost + [each for key in both for each in missing(shown[key], given[key], f"{place}.{key}")]
    if isinstance(shown, list) and isinstance(given, list):
        return missing(shown[0], given[0], f"{place}[0]") if shown and given else []
    kinds = {bool: bool, str: str, int: (int, float), float: (int, float), dict: dict, list: list}
    fits = shown is None or given is None or isinstance(given, kinds[type(shown)])
    return [] if fits else [f"{place} is {given!r}"]


def started(served: Served) -> bool:
    """Nothing is under way: a request that waits for a quiet server can be made."""
    return all(run["state"] not in ("queued", "running") for run in served.ask("/api/eval/runs?suite=capitals").json)


def test_every_request_on_the_page_is_answered_as_shown(tmp_path: Path) -> None:
    folder = capitals_project(tmp_path)
    succeed(folder, "run", "suite.yaml", "--run-name", "first", code=1)
    (folder / "tone.yaml").write_text(TONE, encoding="utf-8")
    succeed(folder, "run", "tone.yaml", "--run-name", "tone", code=4)
    asked = list(REQUEST.finditer(PAGE.read_text(encoding="utf-8")))
    with serving(folder, "--allow-target", "capitals=agent.py:right") as served:
        item = ""
        for request in asked:
            method, path, body = request["method"], request["path"].replace("ITEM", item), request["body"].strip()
            wait_until(lambda: started(served))
            answer = served.ask(path, method, data=json.loads(body) if body else None)
            assert answer.status == int(request["status"]), f"{method} {path}: {answer.text}"
            if path.endswith("/lease"):
                item = answer.json["item"]["id"]
            if request["answer"]:
                assert missing(json.loads(request["answer"]), answer.json) == [], f"{method} {path}: {answer.text}"
        document = served.ask("/api/openapi.json").json
    routes = {(method, path) for path, methods in document["paths"].items() for method in methods}
    paths = [(request["method"].lower(), request["path"].partition("?")[0]) for request in asked]
    shown = {(method, route) for method, route in routes if any(covers(route, path, method, m) for m, path in paths)}
    assert {route for route in routes - shown if "/api/eval" in route[1]} == set()


def covers(route: str, path: str, method: str, other: str) -> bool:
    pattern = re.sub(r"\\\{baseline\\\}", ".+", re.escape(route))
    return method == other and re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", pattern), path) is not None
