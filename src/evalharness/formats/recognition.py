"""Which format a file is in, by what it contains, never by its name; and what to say of a file that is no suite."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evalharness.domain.problem import Problem, field_text
from evalharness.domain.suite import Suite
from evalharness.errors import Hint, UnknownName, closest
from evalharness.formats.native.folder import GRADERS, is_config
from evalharness.formats.native.suite_fields import SUITE_KEYS
from evalharness.formats.native.written_evals import CASE_KEYS
from evalharness.formats.problems import Findings
from evalharness.syntax.source import Source, import_hint


@dataclass(frozen=True, slots=True)
class Format:
    """One way of writing a suite. `marks` are words by which a file too broken to be read is still known to be one."""

    name: str
    looks_at: str
    """The function that knows its own, and the one that reads it: imported when they are first called."""
    loads_by: str
    marks: tuple[bytes, ...]

    def looks(self, data: Any) -> bool:
        return bool(_imported(self.looks_at)(data))

    def load(self, source: Source) -> tuple[Suite | None, Findings]:
        loaded: tuple[Suite | None, Findings] = _imported(self.loads_by)(source)
        return loaded


def _imported(path: str) -> Callable[[Any], Any]:
    module, _, name = path.partition(":")
    function: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    return function


NATIVE = Format(
    "native",
    "evalharness.formats.native.reader:looks_native",
    "evalharness.formats.native.reader:load_native",
    (b"test_cases",),
)
SESSIONS = Format(
    "recorded-sessions",
    "evalharness.formats.recorded_sessions.reader:looks_like_session",
    "evalharness.formats.recorded_sessions.reader:load_session",
    (b'"agentName"',),
)
"""Of this one a folder is a suite, too: see `suite_files.py`."""
FORMATS = (
    Format(
        "eval-harness",
        "evalharness.formats.eval_harness.reader:looks_eval_harness",
        "evalharness.formats.eval_harness.reader:load_eval_harness",
        (b"eval_suite", b"expected_output", b"capability_eval", b"regression_eval"),
    ),
    NATIVE,
    Format(
        "task-suite",
        "evalharness.formats.task_suites.reader:looks_like_task_suite",
        "evalharness.formats.task_suites.reader:load_task_suite",
        (b'"tasks"', b"tasks:", b"expectedPatterns"),
    ),
    Format(
        "workflow-dataset",
        "evalharness.formats.workflow_datasets.reader:looks_like_dataset",
        "evalharness.formats.workflow_datasets.reader:load_workflow_dataset",
        (b"workflowName", b'"assertions"', b"assertions:"),
    ),
    SESSIONS,
)
"""In the order in which they are tried: the first that recognises its own is taken."""
TABLE = Format(
    "table",
    "evalharness.formats.tables.table_suites:looks_like_usual_table",
    "evalharness.formats.tables.table_suites:load_usual_table",
    (),
)
"""Only of files that the user names: a folder may hold tables that are no suites."""


def recognise(data: Any) -> Format | None:
    return next((each for each in FORMATS if each.looks(data)), None)


def recognise_named(data: Any) -> Format | None:
    """The format of a file that the user names, which may be a table, too."""
    found = recognise(data)
    may_be_rows = isinstance(data, list) and found in (None, NATIVE)
    return TABLE if may_be_rows and TABLE.looks(data) else found


def named_format(name: str) -> Format:
    for each in FORMATS:
        if each.name == name:
            return each
    raise UnknownName("format", name, [each.name for each in FORMATS])


def mentions_a_suite(content: bytes) -> bool:
    return any(mark in content for each in FORMATS for mark in each.marks)


# Files that are no suite, in words: one that was named outright is refused, one met in a folder is passed over.

NEEDED = (
    "a native file needs test_cases, an eval-harness file evals (expected_output, baseline, eval_suite), "
    "a task suite tasks, a workflow dataset cases with assertions, a recorded session messages"
)
TELLING_KEYS = ("test_cases", "eval_suite", "capability_eval", "regression_eval", "expected_output", "baseline")
ORDINARY_KEYS = frozenset((SUITE_KEYS | CASE_KEYS) - set(TELLING_KEYS))
SHORTEST_GUESSED = 5
"""Shorter keys resemble too many others."""


def not_a_suite(source: Source) -> Problem:
    """Why a file that the user takes for a suite is none."""
    from evalharness.formats.eval_harness.phases import looks_like_phase  # here: most files are suites
    from evalharness.formats.tables.columns import columns_of
    from evalharness.formats.tables.rows import looks_like_table

    if is_config(source.path):
        held = "named graders" if source.path.match(GRADERS) else "thresholds for evals"
        return _problem(source, f"contains {held}, not a suite; it is checked together with the evals that use it")
    if looks_like_phase(source.data):
        hint = Hint("hint.run_phase", file=str(source.path))
        return Problem(str(source.path), 0, "", "is a phase, not a suite", hint=hint)
    if looks_like_table(source.data):
        message = f"looks like a table of {', '.join(columns_of(source.data))}"
        return Problem(str(source.path), 0, "", message, hint=import_hint(source.path))
    if not source.data:
        return _problem(source, "is empty")
    if isinstance(source.data, Mapping) and source.data.keys() >= {"name", "target"} and not _misspelled(source.data):
        return _problem(source, "test_cases is missing")
    needed = "" if _misspelled(source.data) else f": {NEEDED}"
    return _problem(source, f"its format is not recognised{needed}")


def passed_over(source: Source, found: Format | None) -> Problem:
    """`found` is the format that it is in, where another one was asked for."""
    what = f"is in the format {found.name}" if found else "is empty" if not source.data else "is not a suite"
    return _problem(source, f"{what}, so it is skipped", severity="note")


def _problem(source: Source, message: str, **more: Any) -> Problem:
    key = _misspelled(source.data)
    if key is None:
        return Problem(str(source.path), 0, "", message, **more)
    meant = closest(key, TELLING_KEYS) or ""
    return Problem(str(source.path), source.line_of((key,)), field_text((key,)), message, suggestion=meant, **more)


def _misspelled(data: Any) -> str | None:
    """A key that is almost one by which a suite is recognised."""
    keys = [key for key in data if key not in ORDINARY_KEYS] if isinstance(data, Mapping) else []
    return next((key for key in keys if len(key) >= SHORTEST_GUESSED and closest(key, TELLING_KEYS)), None)
