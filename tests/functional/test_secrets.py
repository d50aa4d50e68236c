"""Canary secrets from every possible source; none may appear, in any encoding, in anything that is written."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest
from driving import Outcome, drive, write
from threaded_server import Reply, serving

CANARIES = {
    "SERVICE_KEY": 'env/canary "one" + é',
    "town": "var-canary/two=?&",
    "URL_TOKEN": "url canary three%",
    "header_secret": "header-canary-four<>",
    "DB_PASSWORD": "flag canary\\five;",
}
AGENT = """
import base64, json, os
from urllib.parse import quote

def forms(secret):
    data = secret.encode()
    yield secret
    yield data.hex()
    yield quote(secret, safe="")
    yield json.dumps(secret)
    for before in (b"", b"x", b"xx"):
        yield base64.b64encode(before + data).decode()

def answer(text):
    secrets = [os.environ["SERVICE_KEY"], os.environ["DB_PASSWORD"], text]
    print_nothing = [form for secret in secrets for form in forms(secret)]
    return {"texts": print_nothing, os.environ["SERVICE_KEY"]: "as a key"}

def raises(text):
    raise ValueError(" and ".join(forms(os.environ["SERVICE_KEY"])) + text)

def grade(context):
    return {"passed": False, "reason": "saw " + context.text + context.input, "evidence": [context.text]}
"""
SUITE = """
name: canaries
secrets: [town, header_secret]
variants:
  function: agent.py:answer
  raising: agent.py:raises
  command: {command: 'cat; printenv DB_PASSWORD SERVICE_KEY; printenv DB_PASSWORD >&2; printenv SERVICE_KEY >x; exit 3'}
  posted: {http: {url: 'PLACE/path?token={{URL_TOKEN}}', headers: {X-Secret: '{{header_secret}}'}}}
  refused: {http: {url: 'http://127.0.0.1:1/{{URL_TOKEN}}', headers: {X-Secret: '{{header_secret}}'}}}
config: {retries: 0}
test_cases:
  - {id: a, name: 'about {{town}}', input: 'of {{town}}', expected: 'not {{town}}', graders: [agent.py:grade]}
"""


def talkative(request: BaseHTTPRequestHandler, body: bytes) -> Reply:
    """An error page that repeats everything it was sent."""
    return Reply(f"{request.path} {request.headers['X-Secret']} {body.decode()}", 500)


@pytest.fixture
def server() -> Iterator[str]:
    with serving(talkative) as base:
        yield base


def encodings(secret: str) -> Iterator[tuple[str, bytes]]:
    data = secret.encode()
    yield "plain", data
    yield "hex", data.hex().encode()
    yield "HEX", data.hex().upper().encode()
    yield "percent", quote(secret, safe="").encode()
    yield "json", json.dumps(secret)[1:-1].encode()
    yield "json in json", json.dumps(json.dumps(secret))[3:-3].encode()
    yield "json as utf-8", json.dumps(secret, ensure_ascii=False)[1:-1].encode()
    for before in range(3):
        whole = base64.b64encode(b"x" * before + data)
        yield f"base64, {before} bytes before", whole[(8 * before + 5) // 6 : -4]


def hits(surface: bytes) -> list[str]:
    found = []
    for name, secret in CANARIES.items():
        found += [f"{name}: {form}" for form, needle in encodings(secret) if needle in surface]
    return found


def stored_bytes(folder: Path) -> bytes:
    """The store's files as they are, and the contents of its rows, decompressed."""
    files = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    cells: list[bytes] = []
    connection = sqlite3.connect(folder / "store.db")
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in connection.execute(f"SELECT * FROM {table}"):
            cells += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
    connection.close()
    return files + b"\n".join(zlib.decompress(cell) if cell[:1] == b"x" else cell for cell in cells)


def test_the_search_itself_finds_what_it_looks_for() -> None:
    for name, secret in CANARIES.items():
        for form, needle in encodings(secret):
            assert hits(b"before " + needle + b" after"), (name, form)


def test_no_canary_is_found_anywhere(tmp_path: Path, server: str) -> None:
    write(tmp_path, agent_py=AGENT, suite_yaml=SUITE.replace("PLACE", server), pyproject_toml="")
    env = {name: CANARIES[name] for name in ("SERVICE_KEY", "URL_TOKEN")}
    given = ["--var", f"Town={CANARIES['town']}", "--var", f"header_secret={CANARIES['header_secret']}"]
    given += ["--env", f"DB_PASSWORD={CANARIES['DB_PASSWORD']}"]
    literal = f"{server}/{quote(CANARIES['URL_TOKEN'])}?{CANARIES['SERVICE_KEY']}"

    def do(*words: str) -> Outcome:
        return drive(tmp_path, *words, env=env)

    surfaces = {
        "verbose": do("run", "suite.yaml", *given, "--verbose"),
        "json": do("run", "suite.yaml", *given, "--json"),
        "url": do("run", "suite.yaml", *given, "--target", literal),
        "url json": do("run", "suite.yaml", *given, "--target", literal, "--json"),
        "dry": do("run", "suite.yaml", *given, "--target", literal, "--dry-run"),
        "error": do("run", "suite.yaml", *given, "--target", f"cmd:{CANARIES['DB_PASSWORD']}/nothing"),
        "error json": do("run", "suite.yaml", *given, "--target", f"{CANARIES['town']}", "--json"),
        "runs": do("runs"),
    }
    assert surfaces["verbose"].code == 3, surfaces["verbose"].both
    ends = re.findall(r"^[A-Z]+ .*   ([a-z]+-[a-z]+-\d+)   (\w+)$", surfaces["verbose"].out, re.M)
    names = {variant: name for name, variant in ends}
    assert set(names) == {"function", "raising", "command", "posted", "refused"}
    surfaces["resume"] = do("resume", names["refused"], *given, "--verbose")
    for variant, name in names.items():
        surfaces[f"show {variant}"] = do("show", name, "a")
    surfaces["show run"] = do("show", names["function"])
    surfaces["show json"] = do("show", names["function"], "a", "--json")
    surfaces["show run json"] = do("show", names["posted"], "--json")

    found = {surface: hits(outcome.both.encode()) for surface, outcome in surfaces.items()}
    found["store"] = hits(stored_bytes(tmp_path / ".evalharness"))
    assert {surface: listed for surface, listed in found.items() if listed} == {}

    for surface in ("show function", "show raising", "show command", "show posted", "verbose"):
        assert "[redacted" in surfaces[surface].out, "there was something to redact"
    assert surfaces["json"].json["eval_reports"]
    assert surfaces["url json"].report["metadata"]["environment"]
