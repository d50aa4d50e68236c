"""The `prompts:` of a suite: texts, messages, and files of either; and whether they go together with its cases.

A text of one word that ends like a file is one: `formal.txt`. `.txt` and `.md` files are texts, `.json`, `.yaml` and
`.yml` files are lists of messages. A file is one prompt, and its name is the prompt's, unless it is given another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.problem import FieldPath
from evalharness.domain.prompt import Prompt
from evalharness.domain.suite import Suite, not_for_prompts
from evalharness.errors import closest
from evalharness.formats.native.folder import Folder
from evalharness.formats.native.written_evals import Document, WrittenEval
from evalharness.formats.parts import kind_of
from evalharness.formats.problems import Findings
from evalharness.values.variables import needed, stray_braces

TEXTS, DATA = (".txt", ".md"), (".json", ".yaml", ".yml")
_FILE = re.compile(rf"[^\s{{}}]+(?:{'|'.join(map(re.escape, (*TEXTS, *DATA)))})", re.IGNORECASE)
_STATEMENT = re.compile(r"\{%.*")
_RULE = re.compile(r"^---+\s*$", re.MULTILINE)


def names_a_file(text: str) -> bool:
    return _FILE.fullmatch(text) is not None


def read_prompts(document: Document, written: Any, folder: Folder) -> list[Prompt]:
    """Those that are sound; what is wrong with the others has been reported."""
    findings, place = document.findings, document.at("prompts")
    if not isinstance(written, list | Mapping):
        findings.add(place, f"must be a list of prompts or a mapping of names to prompts, not {kind_of(written)}")
        return []
    if not written:
        findings.add(place, "is empty: add a prompt, or leave out `prompts`", severity="warning")
    rows = written.items() if isinstance(written, Mapping) else enumerate(written)
    prompts: list[Prompt] = []
    taken: set[str] = set()
    for key, row in rows:
        where: FieldPath = (*place, key)
        named = {"name": key} if isinstance(written, Mapping) else {}
        prompt = PromptReader(findings, where, folder).read(row, named)
        if prompt is None:
            continue
        name = prompt.name or f"prompt {len(prompts) + 1}"
        if name in taken:
            findings.add(where, f"another prompt is already called '{name}': give this one a different `name`")
            continue
        taken.add(name)
        prompts.append(prompt)
    return prompts


class PromptReader:
    """Reads one prompt; None is returned for what is wrong, which has then been reported."""

    def __init__(self, findings: Findings, place: FieldPath, folder: Folder) -> None:
        self.findings = findings
        self.place = place
        self.folder = folder

    def read(self, written: Any, named: Mapping[str, Any]) -> Prompt | None:
        """`named` is the name that stands before it."""
        if isinstance(written, str) and (names_a_file(written) or written.startswith("file:")):
            return self._from_file(written, self.place, named)
        if isinstance(written, Mapping) and "file" in written:
            own = {key: value for key, value in written.items() if key != "file"}
            if not {"text", "messages"}.isdisjoint(own):
                self.findings.add(self.place, "has a file and a text: keep one of them")
                return None
            return self._from_file(written["file"], (*self.place, "file"), {**named, **own})
        if isinstance(written, Mapping):
            fields = {**named, **written}
        elif isinstance(written, str | list):
            fields = {**named, ("text" if isinstance(written, str) else "messages"): written}
        else:
            self.findings.add(
                self.place, f"a prompt must be a text, a list of messages or a mapping, not {kind_of(written)}"
            )
            return None
        return self._checked(self.findings.validated(self.place, Prompt, fields))

    def _from_file(self, written: Any, place: FieldPath, named: Mapping[str, Any]) -> Prompt | None:
        ending = PurePosixPath(written).suffix.lower() if isinstance(written, str) else ""
        fields = dict(named)
        if not {"name", "label"} & fields.keys() and isinstance(written, str):
            fields["name"] = PurePosixPath(written).stem
        read = self._from_data if ending in DATA else self._from_text
        return self._checked(read(written, place, fields))

    def _from_text(self, written: Any, place: FieldPath, fields: Mapping[str, Any]) -> Prompt | None:
        text = self.folder.read_text(self.findings, place, written)
        if text is None:
            return None
        if not text.strip():
            self.findings.add(place, f"{written} is empty")
            return None
        if written.lower().endswith(".txt") and _RULE.search(text):
            message = f"{written} is one prompt: its --- line is part of the text and does not start another prompt"
            self.findings.add(place, message, severity="warning")
        return self.findings.validated(self.place, Prompt, {**fields, "text": text})

    def _from_data(self, written: Any, place: FieldPath, fields: Mapping[str, Any]) -> Prompt | None:
        """What is wrong in the file is reported with its own lines."""
        path = self.folder.find(self.findings, place, written)
        source = self.folder.read(self.findings, place, path) if path else None
        if source is None:
            return None
        inside, prompt = Findings(source), None
        if isinstance(source.data, list):
            prompt = inside.validated((), Prompt, {**fields, "messages": source.data}, {"messages": ()})
        else:
            message = "a prompt in such a file must be a list of messages ({role, content}), not"
            inside.add((), f"{message} {kind_of(source.data)}")
        self.findings.problems += inside.problems
        return prompt

    def _checked(self, prompt: Prompt | None) -> Prompt | None:
        """What looks like another tool's template syntax is sent as is, so it is pointed out."""
        for text in _texts(prompt) if prompt else ():
            statement = _STATEMENT.search(text)
            if stray := stray_braces(text) or (statement[0] if statement else ""):
                message = f"'{stray:.60}' is sent as is: only variables like {{{{name}}}} are filled in"
                self.findings.add(self.place, message, severity="warning")
                break
        return prompt


def _texts(prompt: Prompt) -> Iterator[str]:
    yield from (prompt.text,) if prompt.text is not None else (message.content for message in prompt.messages or ())


def check_prompted(written: WrittenEval, case: Case, suite: Suite) -> None:
    """Whether the prompts can ask this case, and use what it provides."""
    if why := not_for_prompts(case):
        written.findings.add(written.at("target" if case.target and "target" in written.fields else "input"), why)
        return
    for prompt in suite.prompts if case.input is not None else ():
        if not any(name == "input" or name.startswith("input.") for name in prompt.variables):
            message = f"the prompt '{prompt.name}' does not use it: write {{{{input}}}} in the prompt"
            written.findings.add(written.at("input"), message)
            return
    asked = {name for prompt in suite.prompts for name in prompt.variables}
    graded = needed([spec.model_dump(mode="json") for spec in suite.graders])
    own = needed(case.model_dump(mode="json", exclude={"vars"}))
    for name in case.vars:
        if name.lower() not in asked | graded | own:
            unfilled = asked - case.own_values.keys()
            message = f"no prompt or grader uses the variable '{name}'"
            written.findings.add(
                written.at("vars", name), message, severity="warning", suggestion=closest(name, sorted(unfilled)) or ""
            )
