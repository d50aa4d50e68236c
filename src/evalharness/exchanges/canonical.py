"""Canonical requests: how a request is written down so that two which mean the same are equal.

Ids of tool calls are numbered in their order, the workspace is a placeholder, images are known by their hash, secrets
are removed, and what the suite ignores is left out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import regex
from pydantic_core import from_json, to_json

from evalharness.contracts.exchange import Taping
from evalharness.domain.exchange import PLACE_OF_WORKSPACE
from evalharness.errors import UsageError
from evalharness.exchanges.pieces import without_secrets
from evalharness.values.digest import canonical_json
from evalharness.values.json_value import Json, written_json
from evalharness.values.pattern import compile_pattern

IGNORED = "[ignored]"
_PLACE = PLACE_OF_WORKSPACE.encode()
PATTERN_S = 1.0
ID_KEYS = frozenset(("tool_call_id", "tool_use_id", "call_id", "answers_request"))
"""Keys that refer to a tool call, in the wire formats and in our own."""
CALL_TYPES = frozenset(("function", "tool_use", "server_tool_use", "function_call", "custom_tool_call"))
CALL_LISTS = frozenset(("tool_calls", "tool_requests"))
_IMAGE_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,(.+)", re.DOTALL)
_STEP = re.compile(r"\.\.([\w-]+)|\.([\w-]+|\*)|\[(\d+|\*)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_NESTED = (dict, list, tuple)


class Canon:
    """How the requests of one run are compared."""

    def __init__(self, taping: Taping) -> None:
        self._redactor = taping.redactor
        self._paths, self._patterns = parse_ignored(taping.ignore)

    def request(self, written: Json, workspace: str) -> tuple[Json, str]:
        """The canonical request and its digest."""
        is_flat = not isinstance(written, dict) or not any(isinstance(value, _NESTED) for value in written.values())
        request = written if is_flat else _with_numbered_calls(written)
        for path in self._paths:
            request = _without(request, path)
        for pattern in self._patterns:
            request = _replaced(request, pattern)
        text = canonical_json(request).decode()
        placed = portable(text, workspace)
        clean = placed if self._redactor is None else self._redactor.redact(placed)
        kept = request if clean is text else from_json(clean)
        return kept, hashlib.sha256(clean.encode()).hexdigest()[:16]

    def reply(self, written: Json, workspace: str) -> Json:
        """A reply as it is kept. Secrets are removed where it is stored, unless they came in pieces."""
        if self._redactor is not None and isinstance(written, dict) and isinstance(written.get("stream"), list):
            written = {**written, "stream": without_secrets(written["stream"], self._redactor)}
        if not workspace:
            return written
        text = written_json(written)
        placed = portable(text, workspace)
        kept: Json = written if placed is text else from_json(placed)
        return kept


def portable(text: str, workspace: str) -> str:
    return text.replace(workspace, PLACE_OF_WORKSPACE) if workspace and workspace in text else text


def placed(reply: Json, workspace: Callable[[], Any]) -> Json:
    """A recorded reply with the workspace of this trial, which is only made where it is needed."""
    written = to_json(reply)
    if _PLACE not in written:
        return reply
    text = written.decode()
    folder = json.dumps(str(workspace()), ensure_ascii=False)[1:-1]
    found: Json = from_json(text.replace(PLACE_OF_WORKSPACE, folder))
    return found


def parse_ignored(ignore: Sequence[str]) -> tuple[list[Path], list[regex.Pattern[str]]]:
    """JSON paths begin with `$`; everything else is a regular expression. Raises UsageError."""
    paths: list[Path] = []
    patterns: list[regex.Pattern[str]] = []
    for written in ignore:
        try:
            if written.startswith("$"):
                paths.append(_parsed_path(written))
            else:
                patterns.append(compile_pattern(written))
        except ValueError as error:
            raise UsageError(f"replay.ignore: '{written}' {error}") from None
    return paths, patterns


Path = list[tuple[str, str]]
"""Steps: how (`key`, `index`, `deep`) and what, `*` for any."""


def _parsed_path(written: str) -> Path:
    steps: Path = []
    at = 1
    while at < len(written):
        found = _STEP.match(written, at)
        if found is None:
            raise ValueError("is not a JSON path: write $.messages[0].content, $.metadata or $..id")
        deep, key, index, quoted, double = found.groups()
        if deep is not None:
            steps.append(("deep", deep))
        elif index is not None:
            steps.append(("index", index))
        else:
            steps.append(("key", next(each for each in (key, quoted, double) if each is not None)))
        at = found.end()
    if not steps:
        raise ValueError("would ignore the whole request")
    return steps


def _without(value: Json, path: Path) -> Json:
    """A copy in which the value at the path, if there is one, is a placeholder."""
    if not path:
        return IGNORED
    (how, what), rest = path[0], path[1:]
    if how == "deep" and isinstance(value, _NESTED):
        changed: Json
        if isinstance(value, dict):
            changed = {k: _without(v, rest) if k == what else _without(v, path) for k, v in value.items()}
        else:
            changed = [_without(item, path) for item in value]
        return changed
    if isinstance(value, dict) and how == "key":
        return {key: _without(item, rest) if what in ("*", key) else item for key, item in value.items()}
    if isinstance(value, list | tuple) and (how == "index" or what == "*"):
        return [_without(item, rest) if what in ("*", str(place)) else item for place, item in enumerate(value)]
    return value


def _replaced(value: Json, pattern: regex.Pattern[str]) -> Json:
    if isinstance(value, str):
        return pattern.sub(IGNORED, value, timeout=PATTERN_S)
    if isinstance(value, dict):
        return {key: _replaced(item, pattern) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item, pattern) for item in value]
    return value


def _with_numbered_calls(value: Json) -> Json:
    """With ids of tool calls numbered in the order in which they appear, and images by their hash."""
    numbers: dict[str, str] = {}

    def number(written: str) -> str:
        return numbers.setdefault(written, f"call_{len(numbers) + 1}") if written else written

    def changed(value: Json, key: str, is_call: bool) -> Json:
        if isinstance(value, str):
            if key in ID_KEYS or (key == "id" and is_call):
                return number(value)
            return _image_hash(value) if len(value) > 64 and value.startswith("data:") else value
        if isinstance(value, dict):
            calls = value.get("type") in CALL_TYPES or key in CALL_LISTS
            image = value.get("type") == "base64" and isinstance(value.get("data"), str)
            return {
                name: _hash(item) if image and name == "data" else changed(item, name, calls)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [changed(item, key, is_call) for item in value]
        return value

    return changed(value, "", False)


def _image_hash(url: str) -> str:
    found = _IMAGE_URL.match(url)
    return url if found is None else f"{url[: found.start(1)]}{_hash(found[1])}"


def _hash(data: str) -> str:
    return f"sha256:{hashlib.sha256(data.encode(errors='replace')).hexdigest()}"


# How two requests differ: for whoever has to find out why nothing recorded matches.

MOST_LEAVES = 20_000
MISSING = object()


def leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """The scalars of a value with their places, in order."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from leaves(item, f"{path}[{place}]")
    else:
        yield path, value


def likeness(one: Json, other: Json) -> float:
    """The share of equal leaves."""
    first, second = dict(_few(one)), dict(_few(other))
    same = sum(1 for path, value in first.items() if second.get(path, MISSING) == value)
    return same / max(len(first), len(second), 1)


def first_difference(recorded: Json, asked: Json) -> tuple[str, Json, Json] | None:
    """The first place in which they differ: the path, what was recorded, what is asked now; None for missing."""
    first, second = dict(_few(recorded)), dict(_few(asked))
    for path in dict.fromkeys((*first, *second)):
        if first.get(path, MISSING) != second.get(path, MISSING):
            return path, first.get(path), second.get(path)
    return None


def _few(value: Json) -> Iterator[tuple[str, Json]]:
    for number, leaf in enumerate(leaves(value)):
        if number == MOST_LEAVES:
            return
        yield leaf
