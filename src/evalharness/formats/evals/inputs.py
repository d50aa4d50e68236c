"""Inputs beyond plain text and data: a file's text (`type: file`), an HTTP request (`type: api_call`).

Also what `current` of a regression eval asks, and of which target. What a target makes of an input is its own affair.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from evalharness.domain.api_call import PLACES, ApiCall
from evalharness.domain.case import is_typed_input
from evalharness.domain.problem import quoted
from evalharness.domain.record import Json
from evalharness.domain.variables import escape
from evalharness.errors import closest
from evalharness.formats.checking import kind_of, known_options
from evalharness.formats.evals.refs import Folder
from evalharness.formats.evals.regressions import Baseline
from evalharness.formats.evals.written_evals import WrittenEval

Path = tuple[str, ...]
DEFAULT_URL = "{{api_base_url}}"
TYPES = ("prompt", "file", "api_call")
_WHOLE_URL = re.compile(r"(https?://[^/?#]+|\{\{[^{}]+\}\})([/?#].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a case asks, and of which target where the question itself says so, or `execution` does."""

    input: Json
    target: Any = None
    target_path: Path = ()
    is_guess: bool = False
    """Whether the target only stands in where nobody names one."""


class InputReader:
    """Reads the input of one eval; None is returned for what is wrong, which has then been told."""

    def __init__(self, written: WrittenEval, folder: Folder) -> None:
        self.written = written
        self.folder = folder

    def read(self, path: Path, value: Any) -> Asked | None:
        """`input` as it stands in a case."""
        if not isinstance(value, Mapping):
            return Asked(value)
        if self._lacks_content(value):
            meant = closest("content", [key for key in value if key not in ("type", "context")])
            self.written.add((*path, "content"), f"is missing{f'; it is written {quoted(meant)}' if meant else ''}")
            return None
        if not is_typed_input(value):
            return Asked(value)
        if value["type"] == "file":
            text = self.folder.read_text(self.written.findings, self.written.at(*path, "content"), value["content"])
            return None if text is None else Asked({**value, "type": "prompt", "content": escape(text)})
        if value["type"] == "api_call":
            return self._request((*path, "content"), value["content"], context=value.get("context"))
        return Asked(value)

    def read_current(self, baseline: Baseline) -> Asked | None:
        """What a regression eval asks again, and how: `current: {input, execution}`, or `input` alone."""
        current = self.written.mapping("current")
        self.written.findings.unknown_keys(
            self.written.at("current"), current, ("input", "execution"), self.written.severity
        )
        path = ("current", "input") if "input" in current else ("input",)
        value = current.get("input", self.written.fields.get("input"))
        execution = current.get("execution")
        kind = _kind(execution)
        looks_sent = isinstance(value, Mapping) and any(key in value for key in PLACES)
        if looks_sent and (kind == "http" or (execution is None and "method" in value)):
            asked = self._request(path, value, answer="response" if baseline.is_response else "body")
        else:
            asked = self.read(path, value)
        if asked is None or execution is None:
            return asked
        return self._executed(asked, kind, execution)

    def _lacks_content(self, value: Mapping[str, Any]) -> bool:
        """In native files, a mapping that holds more than the keys of a typed input is data, whatever its `type` is."""
        is_typed = value.get("type") in TYPES and "content" not in value
        return is_typed and (not self.written.is_native or value.keys() <= {"type", "context"})

    def _executed(self, asked: Asked, kind: str, execution: Any) -> Asked | None:
        path = ("current", "execution")
        if kind == "skill":
            name = execution.get("skill_name")
            if not isinstance(name, str):
                self.written.add(path, "names no skill: add skill_name")
                return None
            question = {"input": asked.input, "parameters": execution.get("parameters") or {}}
            return Asked(question, {"kind": "skill", "options": name}, path)
        if kind == "http":
            default = asked.target["http"]["url"] if asked.target else DEFAULT_URL
            options = self._known("http", execution, ("type", "base_url"))
            return Asked(asked.input, {"http": {"url": execution.get("base_url") or default, **options}}, path)
        if kind:
            own = {key: execution[key] for key in ("type", "name", "tools") if key in execution}
            execution = {**own, **self._known(kind, execution, own)}
        return Asked(asked.input, execution, path)

    def _known(self, kind: str, execution: Mapping[str, Any], own: Container[str]) -> dict[str, Json]:
        """The options of a target; what a file of another format says beyond them has been told, and is left out."""
        options = {key: item for key, item in execution.items() if key not in own}
        place = self.written.at("current", "execution")
        return known_options(self.written.findings, place, ("target", kind), options, self.written.severity)

    def _request(self, path: Path, value: Any, *, context: Json = None, answer: str = "body") -> Asked | None:
        written = self.written
        if not isinstance(value, Mapping):
            written.add(path, f"an api_call is a mapping with method and path, not {kind_of(value)}")
            return None
        known = {*ApiCall.model_fields, *PLACES}
        written.findings.unknown_keys(written.at(*path), value, known, written.severity)
        fields = {"answer": answer, **{key: value[key] for key in value if key in known}}
        request = written.findings.validated(written.at(*path), ApiCall, fields)
        if request is None:
            return None
        whole = _WHOLE_URL.fullmatch(request.path)
        place = {"method": request.method, "path": (whole[2] or "") if whole else request.path}
        content = {**request.model_dump(exclude_defaults=True), **place, "answer": request.answer}
        told = {} if context is None else {"context": context}
        target = {"http": {"url": whole[1] if whole else DEFAULT_URL}}
        return Asked({"type": "api_call", "content": content, **told}, target, path, is_guess=True)


def _kind(execution: Any) -> str:
    """The kind of target that `execution` means, as far as it is one of the documented ones."""
    if not isinstance(execution, Mapping):
        return ""
    if "type" not in execution:
        return "http" if "base_url" in execution else "skill" if "skill_name" in execution else ""
    return str(execution["type"])
