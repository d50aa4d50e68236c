"""Accept a suite as Python programs give one: in one of its Python forms, as a file or by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ValidationError

from evalharness.contracts.store import SuiteStore
from evalharness.domain.suite import LoadedFile, Suite
from evalharness.errors import UsageError
from evalharness.formats.problems import problems_text
from evalharness.formats.task_suites import reader as task_suites
from evalharness.formats.task_suites.records import EvalSuite
from evalharness.formats.workflow_datasets import reader as workflow_datasets
from evalharness.formats.workflow_datasets.records import EvalDataset
from evalharness.steps.find_suites import find_suites, without_file

WrittenSuite: TypeAlias = Suite | EvalDataset | EvalSuite | str | Path
"""A suite in one of its Python forms, a suite file, or the name of a suite."""


def accept_suite(store: SuiteStore, suite: WrittenSuite | BaseModel) -> LoadedFile:
    if isinstance(suite, str | Path):
        [file] = find_suites(store, [str(suite)])
        return file
    return without_file(_as_suite(suite), Path.cwd())


def _as_suite(suite: BaseModel) -> Suite:
    try:
        if isinstance(suite, EvalDataset):
            return workflow_datasets.suite_of(suite)
        if isinstance(suite, EvalSuite):
            return task_suites.suite_of(suite)
    except ValidationError as error:
        raise UsageError(f"this {type(suite).__name__} is not a suite: {problems_text(error, Suite)}") from None
    if isinstance(suite, Suite):
        return suite
    kind = type(suite).__name__
    raise UsageError(f"evaluate() takes a Suite, an EvalDataset, an EvalSuite, a file or a suite's name, not {kind}")
