"""Reader: a JSON file with a conversation becomes a case.

What the user said is asked again; the tools that were called are expected again; `evals` says what else counts. Unknown
keys of a session are none of our business, those of `evals` are mistakes. How the files of a folder become a suite is
told in `formats/session_folders.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from evalharness.documents.session import (
    EvalCriteria,
    Session,
    questions_of,
    session_answer,
    tools_called_in,
)
from evalharness.documents.session_checks import threshold_of
from evalharness.domain.problem import quoted
from evalharness.domain.suite import Suite
from evalharness.formats.parts import kind_of
from evalharness.formats.problems import Findings
from evalharness.syntax.source import Source
from evalharness.values.json_value import Json
from evalharness.values.variables import escape, has_braces

WORKING_DIRS = "working_dirs"
MAX_FILES = 10_000
NEEDS_CONTAINERS = "needs containers"
NOTHING_CHECKED = "nothing is checked: any answer passes; add relevance, size or assertions to its `evals`"


def looks_like_session(data: Any) -> bool:
    """A mapping whose `messages` hold items with a `message`; in the oldest form, the messages alone."""
    items = data.get("messages") if isinstance(data, Mapping) else data
    if not isinstance(items, list) or not items:
        return False
    return any(isinstance(item, Mapping) and isinstance(item.get("message"), Mapping) for item in items)


def load_session(source: Source) -> tuple[Suite | None, Findings]:
    """One file alone."""
    findings = Findings(source)
    session = read_session(findings)
    case = case_of(session, findings) if session else None
    return (suite_of(source.path.stem, [case]) if case and not findings.has_errors else None), findings


def read_session(findings: Findings) -> Session | None:
    """The session of a file, or None; everything wrong with it is reported."""
    data = findings.source.data
    if not isinstance(data, Mapping | list):
        findings.add((), f"a session must be a mapping with messages, not {kind_of(data)}")
        return None
    evals = data.get("evals") if isinstance(data, Mapping) else None
    written = evals if isinstance(evals, Mapping) else {}
    _check_thresholds(findings, written.get("assertions"))
    try:
        session = Session.model_validate(data)
    except ValidationError as error:
        findings.invalid((), error, Session)
        if isinstance(written.get("working_dir"), str):
            _files(findings, written["working_dir"])
        return None
    if not questions_of(session):
        findings.add(("messages",), "contain no user message, so there is nothing to ask")
    return session


def _check_thresholds(findings: Findings, assertions: Any) -> None:
    for number, written in enumerate(assertions if isinstance(assertions, list) else ()):
        if isinstance(written, Mapping) and written.get("type") == "cost_threshold":
            value = written.get("value", "")
            if value not in ("", None) and threshold_of(value) is None:
                findings.add(("evals", "assertions", number, "value"), "must be a number of dollars")


def suite_of(name: str, cases: Iterable[dict[str, Json]]) -> Suite:
    written = [escape(case) for case in cases]
    return Suite.model_validate({"name": name, "cases": written, "templated": has_braces(written)})


def case_of(session: Session, findings: Findings) -> dict[str, Json]:
    """The session as a case of a suite, written as native files write one."""
    path = findings.source.path
    if "{{" in path.stem:
        findings.add((), "the file's name must not contain {{: it names its case in every run")
    evals = session.evals or EvalCriteria()
    tools = tools_called_in(session)
    files = _files(findings, evals.working_dir)
    is_checked = tools or evals.size or evals.relevance or evals.assertions
    if not (is_checked or evals.image or findings.has_errors):
        findings.add((), NOTHING_CHECKED, severity="warning")
    findings.case_at(path.stem, ())
    kept: dict[str, Json] = {"file": path.name, "id": session.id}
    if session.evals is not None:
        kept["evals"] = session.evals.model_dump(mode="json")
    return {
        "id": path.stem,
        "name": session.title,
        "input": {"messages": [{"role": "user", "content": text} for text in questions_of(session)]},
        "graders": list(_graders(evals, tools)),
        "reference": session_answer(session),
        "files": {name: {"path": file} for name, file in files.items()},
        "setup": evals.setup,
        "skip": NEEDS_CONTAINERS if evals.image else "",
        "metadata": {"session": kept},
    }


def _graders(evals: EvalCriteria, tools: tuple[str, ...]) -> Iterable[dict[str, Json]]:
    if evals.size:
        yield {"kind": "size_class", "options": evals.size}
    decides: dict[str, Json] = {} if tools else {"required": False, "weight": 0}
    yield {"kind": "tool_calls_f1", "options": list(tools), **decides}
    if evals.relevance:
        yield {"kind": "relevance", "options": list(evals.relevance)}
    if evals.assertions:
        rows = [assertion.model_dump(mode="json") for assertion in evals.assertions]
        yield {"kind": "session_assertions", "options": rows}


def _files(findings: Findings, working_dir: str) -> dict[str, str]:
    """Name in the workspace → path from the folder of the sessions, for all files below the working directory."""
    if not working_dir:
        return {}
    place = ("evals", "working_dir")
    root = findings.source.path.parent.resolve()
    allowed = root / WORKING_DIRS
    if PurePosixPath(working_dir).is_absolute() or "\0" in working_dir:
        findings.add(place, f"must be the name of a folder in {WORKING_DIRS}, not {quoted(working_dir)}")
        return {}
    folder = (allowed / working_dir).resolve()
    if not folder.is_relative_to(allowed.resolve()) or not folder.is_relative_to(root):
        findings.add(place, f"{quoted(working_dir)} is outside {WORKING_DIRS}")
        return {}
    if not folder.is_dir():
        findings.add(place, f"working directory not found: {WORKING_DIRS}/{working_dir}")
        return {}
    files: dict[str, str] = {}
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in folders:
            if (path := Path(at, name)).is_symlink():
                findings.add(place, f"{path.relative_to(folder)} is a link to a folder; copy the folder there instead")
        for name in sorted(names):
            path = Path(at, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                leads = "is a link that leads out of the folder of the sessions; copy the file there instead"
                findings.add(place, f"{path.relative_to(folder)} {leads}")
            elif not path.is_file():
                findings.add(place, f"{path.relative_to(folder)} is not a regular file")
            elif len(files) == MAX_FILES:
                findings.add(place, f"contains more than {MAX_FILES} files")
                return files
            else:
                files[path.relative_to(folder).as_posix()] = path.relative_to(root).as_posix()
    return files
