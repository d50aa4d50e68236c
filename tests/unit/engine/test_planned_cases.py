"""The lock of a case: which changes make it a different case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.case import Case
from evalharness.engine.planning.planned_cases import PlannedCase, lock_cases


def key(folder: Path, **metadata: Any) -> str:
    plan = PlannedCase(Case(id="a", input="x", metadata=metadata), (), [], timeout_s=1, retries=0)
    return lock_cases([plan], folder)["a"].key


@pytest.mark.parametrize("history", [{"last_passed": "2026-01-19"}, {"failure_count": 3}])
def test_what_became_of_a_case_does_not_make_it_another(tmp_path: Path, history: dict[str, Any]) -> None:
    assert key(tmp_path, **history) == key(tmp_path)
    assert key(tmp_path, locale="de", **history) == key(tmp_path, locale="de")


def test_metadata_that_a_function_may_read_does(tmp_path: Path) -> None:
    assert key(tmp_path, locale="de") != key(tmp_path, locale="fr")
