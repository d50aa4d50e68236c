"""Canary secrets in models' keys, addresses, server messages and answers. None of them is written anywhere."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

from driving import Outcome, drive, printed_name, write
from threaded_server import Reply, serving

KEY = "canary/one-openai+Qx7&%"
OTHER = 'canary two "token" & more'
PASSWORD = "canary-three-password"
QUERY = "canary-four-in-query"
CANARIES = {"key": KEY, "other": OTHER, "password": PASSWORD, "query": QUERY}
REPEATED = (KEY, OTHER)
"""Those that a server has heard of: what an address holds is never sent."""
NONCE = re.compile(r'"nonce": "([0-9a-f]{32})"')
SUITE = """
name: canaries
target: {chat: {model: acme/m}}
config: {retries: 0, judge_model: acme/judge}
test_cases:
  - {id: talks, input: What is your key?, graders: [{model: {rubric: Is it kind?}}]}
  - {id: states, input: What is your key?, graders: [{relevance: [It names a key]}]}
  - {id: refused, input: Please refuse., graders: [{contains: x}]}
  - {id: garbled, input: Hello, graders: [{model: {rubric: Mumble.}}]}
"""


def encodings(secret: str) -> Iterator[tuple[str, str]]:
    data = secret.encode()
    yield "plain", secret
    yield "json", json.dumps(secret)[1:-1]
    yield "percent", quote(secret, safe="")
    yield "hex", data.hex()
    yield "base64", base64.b64encode(data).decode().rstrip("=")[: len(data) * 8 // 6]


def all_forms() -> str:
    return "  ".join(form for secret in REPEATED for _, form in encodings(secret))


def hits(surface: bytes) -> list[str]:
    return [
        f"{name} {kind}"
        for name, secret in CANARIES.items()
        for kind, form in encodings(secret)
        if form.encode() in surface
    ]


def completion(text: str) -> Reply:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = {"model": f"m {KEY}", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    return Reply(json.dumps(body), content_type="application/json")


def talkative(request: BaseHTTPRequestHandler, body: bytes) -> Reply:
    """Repeats every secret in all its output: answers, verdicts, invalid verdicts, and errors."""
    asked: Any = json.loads(body)
    told = asked["messages"][0]["content"]
    seen = f"{request.headers['Authorization']} {request.path} {all_forms()}"
    if "Please refuse." in told and "response_format" not in asked:
        return Reply(json.dumps({"error": {"message": f"no: {seen}"}}), 400, "application/json")
    if "response_format" not in asked:
        return completion(f"My key: {all_forms()}")
    if "Mumble." in told or asked["model"] == "mumbling":
        return completion(f"I will not: {all_forms()}")
    nonce, wanted = NONCE.findall(told)[-1], asked["response_format"]["json_schema"]["schema"]["properties"]
    if "result" in wanted:
        return completion(json.dumps({"nonce": nonce, "reason": all_forms(), "result": "pass"}))
    scores = {"overall_score": 1, "passed": False, "specific_feedback": [all_forms(), KEY]}
    return completion(json.dumps({"nonce": nonce, "justification": all_forms(), **scores}))


def stored_bytes(folder: Path) -> bytes:
    """The files as they are, including the write-ahead log, and every cell of every table."""
    files = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    connection = sqlite3.connect(folder / "store.db")
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert connection.execute("SELECT COUNT(*) FROM judge_cache").fetchone()[0] > 2, "there are verdicts"
    cells = [cell for table in tables for row in connection.execute(f"SELECT * FROM {table}") for cell in row]
    connection.close()
    return files + b"\n".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells)


def test_the_search_itself_finds_every_form() -> None:
    assert len(hits(all_forms().encode())) == len(REPEATED) * 5
    forms = " ".join(form for secret in CANARIES.values() for _, form in encodings(secret))
    assert len(hits(forms.encode())) == len(CANARIES) * 5


def test_no_canary_is_found_anywhere(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=SUITE, pyproject_toml="")
    with serving(talkative) as base:
        env = {
            "ACME_BASE_URL": f"{base}/v1",
            "ACME_API_KEY": KEY,
            "SERVICE_TOKEN": OTHER,
            "EVALHARNESS_MODEL_DEADLINE": "10",
        }

        def do(*words: str, **more: str) -> Outcome:
            return drive(tmp_path, *words, env={**env, **more})

        files = ["-o", "report.json", "-o", "report.xml", "--save-sessions", "sessions"]
        surfaces = {"run": do("run", "suite.yaml", "--verbose", "--debug", *files)}
        assert surfaces["run"].code == 3, surfaces["run"].both
        name = printed_name(surfaces["run"])
        surfaces |= {
            "json": do("run", "suite.yaml", "--json"),
            "regrade": do("regrade", name, "--verbose", "--no-cache"),
            "show": do("show", name, "talks"),
            "show json": do("show", name, "states", "--json"),
            "calibrate": do("calibrate", "suite.yaml", "--attacks", "--judge-model", "acme/judge", "--json"),
            "bad judge": do("run", "suite.yaml", "--judge-model", "acme/mumbling", "--debug"),
            "cache": do("cache", "--json"),
            "login": do("run", "suite.yaml", "--debug", ACME_BASE_URL=base.replace("//", f"//user:{PASSWORD}@")),
            "query": do("run", "suite.yaml", "--debug", ACME_BASE_URL=f"{base}/v1?api_key={QUERY}"),
        }
    surfaces["nobody there"] = do("run", "suite.yaml", "--debug", "--json", EVALHARNESS_MODEL_DEADLINE="0.5")

    assert [surfaces[name].code for name in ("login", "query", "bad judge", "nobody there")] == [2, 2, 2, 3]
    assert surfaces["json"].states() == {
        "talks": ["failed"],
        "states": ["passed"],
        "refused": ["error"],
        "garbled": ["error"],
    }, surfaces["json"].both
    found = {surface: hits(outcome.both.encode()) for surface, outcome in surfaces.items()}
    found |= {file: hits((tmp_path / file).read_bytes()) for file in ("report.json", "report.xml")}
    saved = sorted((tmp_path / "sessions").iterdir())
    found |= {path.name: hits(path.read_bytes()) for path in saved}
    found["store"] = hits(stored_bytes(tmp_path / ".evalharness"))
    assert {surface: listed for surface, listed in found.items() if listed} == {}
    assert len(saved) >= 4
    for surface in ("run", "json", "show", "show json"):
        assert "[redacted" in surfaces[surface].out, "there was something to redact"
