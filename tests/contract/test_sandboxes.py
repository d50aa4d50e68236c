"""The contract of every sandbox. How well bubblewrap isolates is tested in `tests/functional/`."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from container_runtimes import TestRuntime
from missing_parts import missing

from evalharness import registry
from evalharness.contracts.sandbox import ProcessRequest, Sandbox
from evalharness.errors import SandboxUnavailable, UsageError
from evalharness.testing.sandbox import FakeSandbox, finished
from evalharness.testing.sandbox_contract import SandboxContract


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN["sandbox"].keys() - {"container"}))
class TestEverySandbox(SandboxContract):
    @pytest.fixture(autouse=True)
    def named(self, name: str) -> None:
        if name == "bubblewrap" and shutil.which("bwrap") is None:
            missing("bubblewrap", "apt-get install bubblewrap")
        self.name = name

    def build(self) -> Sandbox:
        return registry.build_sandbox(self.name)


class TestBubblewrapWithoutControlGroups(SandboxContract):
    @pytest.fixture(autouse=True)
    def needed(self) -> None:
        if shutil.which("bwrap") is None:
            missing("bubblewrap", "apt-get install bubblewrap")

    def build(self) -> Sandbox:
        return registry.build_sandbox("bubblewrap", {"control_groups": False})


class TestContainers(SandboxContract):
    @pytest.fixture(autouse=True)
    def running(self, container_runtime: TestRuntime) -> Iterator[None]:
        self.runtime = container_runtime
        yield
        assert container_runtime.containers() == []

    def build(self) -> Sandbox:
        return registry.build_sandbox("container", {"containers": {"runtime": self.runtime.name}})


class TestTheFake(SandboxContract):
    def build(self) -> Sandbox:
        return FakeSandbox(finished(b"hello\n"))

    def test_it_records_sessions_and_requests_and_may_raise(self, tmp_path: Path) -> None:
        request = ProcessRequest(("true",), str(tmp_path), {})
        sandbox = FakeSandbox(finished(exit_code=3), SandboxUnavailable("it is gone"))

        async def use() -> None:
            async with sandbox.session(str(tmp_path)) as session:
                assert (await session.run(request)).exit_code == 3
                assert sandbox.open_sessions == 1
                with pytest.raises(SandboxUnavailable, match="it is gone"):
                    await session.run(request)

        asyncio.run(use())
        assert (sandbox.workspaces, sandbox.requests, sandbox.open_sessions) == ([str(tmp_path)], [request] * 2, 0)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bubblewrap", {"control_groups": "perhaps"}, "sandbox bubblewrap.control_groups: must be true or false"),
        ("bubblewrap", {"colour": "red"}, "sandbox bubblewrap.colour"),
        ("none", {"control_groups": False}, "sandbox none.control_groups"),
    ],
)
def test_options_that_a_sandbox_does_not_have_are_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        registry.build_sandbox(name, options)  # type: ignore[arg-type]
    assert message in caught.value.message
