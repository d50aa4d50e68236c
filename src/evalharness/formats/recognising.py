"""Recognising: which format a file is in, by what it holds, never by its name; or the one that the user forces."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evalharness.domain.suite import Suite
from evalharness.errors import UnknownName
from evalharness.formats.problems import Findings
from evalharness.formats.syntax.source import Source


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
    "evalharness.formats.evals.native:looks_native",
    "evalharness.formats.evals.native:load_native",
    (b"test_cases",),
)
SESSIONS = Format(
    "recorded-sessions",
    "evalharness.formats.recorded_sessions:looks_like_session",
    "evalharness.formats.recorded_sessions:load_session",
    (b'"agentName"',),
)
"""Of this one a folder is a suite, too: see `loading.py`."""
FORMATS = (
    Format(
        "eval-harness",
        "evalharness.formats.evals.eval_harness:looks_eval_harness",
        "evalharness.formats.evals.eval_harness:load_eval_harness",
        (b"eval_suite", b"expected_output", b"capability_eval", b"regression_eval"),
    ),
    NATIVE,
    Format(
        "task-suite",
        "evalharness.formats.task_suites:looks_like_task_suite",
        "evalharness.formats.task_suites:load_task_suite",
        (b'"tasks"', b"tasks:", b"expectedPatterns"),
    ),
    Format(
        "workflow-dataset",
        "evalharness.formats.workflow_datasets:looks_like_dataset",
        "evalharness.formats.workflow_datasets:load_workflow_dataset",
        (b"workflowName", b'"assertions"', b"assertions:"),
    ),
    SESSIONS,
)
"""In the order in which they are tried: the first that recognises its own is taken."""


def recognise(data: Any) -> Format | None:
    return next((each for each in FORMATS if each.looks(data)), None)


def named_format(name: str) -> Format:
    for each in FORMATS:
        if each.name == name:
            return each
    raise UnknownName("format", name, [each.name for each in FORMATS])


def mentions_a_suite(content: bytes) -> bool:
    return any(mark in content for each in FORMATS for mark in each.marks)
