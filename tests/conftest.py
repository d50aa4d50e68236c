"""What several test files share: sizes of samples, requirements on Linux, and graders built as a run builds them."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from browsing import real_browser
from container_runtimes import RUNTIMES, TestRuntime, set_environment, shared
from hypothesis import settings
from missing_parts import missing
from playwright.sync_api import Browser
from real_models import serving_smollm2
from sample_sizes import A_FIFTH, ALL

from evalharness import registry
from evalharness.cli.process import orphans_adopted
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.llms.pool import OpenModels
from evalharness.sandboxes.bubblewrap import Bubblewrap
from evalharness.sandboxes.none import NoSandbox

pytest.register_assert_rewrite("evalharness.testing")
settings.register_profile("small", deadline=None, max_examples=A_FIFTH)
settings.register_profile("soak", deadline=None, max_examples=ALL)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(config.getoption("--hypothesis-profile") or "small")
    os.environ.pop("GITHUB_ACTIONS", None)  # commands print more in a workflow; who tests that sets it


def pytest_collection_finish() -> None:
    """The tests themselves are compiled once; what they write and import may change within a second."""
    sys.dont_write_bytecode = True
    gc.freeze()  # the garbage collector need not search thousands of tests repeatedly


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Workers that run tests in parallel ignore SIGINT; here it works as in any program."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test may be a coroutine: it gets its own event loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in wanted}))
    return True


@pytest.fixture
def import_path() -> Iterator[None]:
    """Modules that a test makes importable are removed after it."""
    former = [*sys.path]
    yield
    sys.path[:] = former


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """The folder in which this process makes temporary ones: an empty one of the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    former, tempfile.tempdir = tempfile.tempdir, str(folder)
    yield folder
    tempfile.tempdir = former


@pytest.fixture
def proc() -> None:
    if not Path("/proc/self/task").exists():
        missing("the folder /proc", "run the tests on Linux")


@pytest.fixture
def adopting() -> Iterator[None]:
    """Orphans become children of this process, as in the process that the command line starts."""
    with orphans_adopted():
        yield


@pytest.fixture(scope="session")
def smollm2_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a real, small language model answers: one server for all tests of this process."""
    with serving_smollm2(tmp_path_factory.mktemp("smollm2")) as base_url:
        yield base_url


@pytest.fixture
def use_runtime(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], TestRuntime]]:
    """A real docker or podman for this test alone, which the harness finds, too."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with ExitStack() as held:

        def use(name: str) -> TestRuntime:
            runtime = held.enter_context(shared(name, folder))
            set_environment(runtime, monkeypatch)
            return runtime

        yield use


@pytest.fixture(params=RUNTIMES)
def container_runtime(request: pytest.FixtureRequest, use_runtime: Callable[[str], TestRuntime]) -> TestRuntime:
    """Each of them, one after the other."""
    return use_runtime(request.param)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of a module. While it is open, an event loop is running, so others cannot start theirs."""
    with real_browser() as chromium:
        yield chromium


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Grader]:
    """A grader built from what a file would contain."""

    def built(written: Any, offloader: Offloader | None = None, **lent: Any) -> Grader:
        services = Services(tmp_path, NoSandbox(), offloader or Offloader(4), environment={}, **lent)
        return registry.build_grader(GraderSpec.model_validate(written), services)

    return built


@pytest.fixture
def grade(build: Callable[..., Grader], tmp_path: Path) -> Callable[..., Grade]:
    """The grade of one answer: `grade({"contains": "Ada"}, "Ada Lovelace")`."""

    def graded(written: Any, output: Any = None, **transcript: Any) -> Grade:
        context = GradeContext(Case(id="a", input="?"), Transcript(output=output, **transcript), index=0, seed=0)

        async def ask() -> Grade:
            offloader, isolation, models = Offloader(4), Bubblewrap(), OpenModels({}, tmp_path, concurrency=4)
            try:
                return await build(written, offloader, isolation=isolation, models=models).grade(context)
            finally:
                offloader.close()
                await isolation.close()
                await models.close()

        return asyncio.run(ask())

    return graded
