"""The pytest plug-in: the marker `eval`, the fixture `evals`, and `*.eval.yaml` files with one test per case.

pytest loads this file in every project in which evalharness is installed, so it imports pytest alone. What runs evals
is in `pytest_evals.py` and `pytest_cases.py`, which are imported when a marker, the fixture or a file asks for them.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ENDINGS = (".eval.yaml", ".eval.yml")
MARKER = "eval"
ABOUT_MARKER = (
    "eval(suite, target=None, *, repeat=None, gate=None): run a suite before the test; if the run fails, so does the "
    "test. See docs/pytest.md in evalharness."
)
SESSION = pytest.StashKey[Any]()
EVALS = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    where = "Where evals keep their runs: a file or a folder."
    group = parser.getgroup("evals", "evals of AI agents")
    group.addoption("--evals-store", metavar="STORE", help=f"{where} [default: a new folder in .evalharness/pytest]")
    parser.addini("evals_store", f"{where} --evals-store wins.", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", ABOUT_MARKER)


def pytest_unconfigure(config: pytest.Config) -> None:
    if SESSION in config.stash:
        config.stash[SESSION].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(ENDINGS):
        return None
    from evalharness.testing.pytest_cases import EvalFile

    return EvalFile.from_parent(parent, path=file_path, evals=_session(parent.config))


@pytest.fixture
def evals(request: pytest.FixtureRequest) -> Any:
    """Runs suites: `run = evals.run("suite.yaml")` returns the finished run, `evals.check(run)` fails with its verdict.

    `evals.runs` are all runs of this test, those of its `eval` markers first.
    """
    return _evals_of(request.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """The suites of its markers are run and checked before the test itself."""
    for marker in reversed(list(item.iter_markers(MARKER))):  # in the order in which they are written
        if marker.args or marker.kwargs:  # without arguments it is only a label
            _evals_of(item).run_marked(marker)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if call.excinfo is not None and (EVALS in item.stash or _is_case(item)):
        from evalharness.testing.pytest_evals import correct_report

        correct_report(report, item, call.excinfo.value)
    return report


def _is_case(item: pytest.Item) -> bool:
    return item.path.name.endswith(ENDINGS)


def _session(config: pytest.Config) -> Any:
    if SESSION not in config.stash:
        from evalharness.testing.pytest_evals import EvalSession

        config.stash[SESSION] = EvalSession.of(config)
    return config.stash[SESSION]


def _evals_of(item: pytest.Item) -> Any:
    if EVALS not in item.stash:
        from evalharness.testing.pytest_evals import Evals

        item.stash[EVALS] = Evals(_session(item.config), item.path.parent)
    return item.stash[EVALS]
