"""What functional tests share: one server for all tests of a process that only ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from capitals import capitals_project
from driving import succeed
from served import Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """On a project with one finished run of `capitals`; tests that stop or fill a server start one of their own."""
    folder = capitals_project(tmp_path_factory.mktemp("served"))
    succeed(folder, "run", "suite.yaml", code=1)
    with serving(folder, "--allow-target", "capitals=agent.py:right") as server:
        yield server
