"""Recognising: which format a file is in, by what it holds, never by its name; or the one that the user forces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evalharness.domain.suite import Suite
from evalharness.errors import UnknownName
from evalharness.formats.evals.eval_harness import load_eval_harness, looks_eval_harness
from evalharness.formats.evals.native import load_native, looks_native
from evalharness.formats.problems import Findings
from evalharness.formats.recorded_sessions import load_session, looks_like_session
from evalharness.formats.syntax.source import Source
from evalharness.formats.task_suites import load_task_suite, looks_like_task_suite
from evalharness.formats.workflow_datasets import load_workflow_dataset, looks_like_dataset


@dataclass(frozen=True, slots=True)
class Format:
    """One way of writing a suite. `marks` are words by which a file too broken to be read is still known to be one."""

    name: str
    looks: Callable[[Any], bool]
    load: Callable[[Source], tuple[Suite | None, Findings]]
    marks: tuple[bytes, ...]


NATIVE = Format("native", looks_native, load_native, (b"test_cases",))
SESSIONS = Format("recorded-sessions", looks_like_session, load_session, (b'"agentName"',))
"""Of this one a folder is a suite, too: see `loading.py`."""
FORMATS = (
    Format(
        "eval-harness",
        looks_eval_harness,
        load_eval_harness,
        (b"eval_suite", b"expected_output", b"capability_eval", b"regression_eval"),
    ),
    NATIVE,
    Format("task-suite", looks_like_task_suite, load_task_suite, (b'"tasks"', b"tasks:", b"expectedPatterns")),
    Format(
        "workflow-dataset",
        looks_like_dataset,
        load_workflow_dataset,
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
