"""What every sandbox promises, as a class of tests: inherit from it in a test file, and pytest runs them all.

How well a sandbox isolates is not tested here: each has limits of its own.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from evalharness.contracts.sandbox import ProcessRequest, ProcessResult, Sandbox, SandboxSession

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


class SandboxContract(ABC):
    @abstractmethod
    def build(self) -> Sandbox:
        """The sandbox under test, a new one each time. Whatever it is asked to run, a fake answers `echo hello`."""

    def run(self, use: Callable[[Sandbox], Awaitable[Any]]) -> None:
        async def run() -> None:
            sandbox = self.build()
            try:
                await use(sandbox)
            finally:
                await sandbox.close()

        asyncio.run(run())

    async def hello(self, session: SandboxSession, workspace: Path) -> ProcessResult:
        return await session.run(ProcessRequest(("/bin/echo", "hello"), str(workspace), ENVIRONMENT, timeout_s=60))

    def test_a_session_runs_one_program_after_the_other(self, tmp_path: Path) -> None:
        async def use(sandbox: Sandbox) -> None:
            async with sandbox.session(str(tmp_path)) as session:
                for _ in range(2):
                    result = await self.hello(session, tmp_path)
                    assert (result.ended, result.exit_code, result.stdout) == ("exited", 0, b"hello\n")
                    assert (result.stdout_total, result.truncated) == (6, False)

        self.run(use)

    def test_a_session_runs_several_programs_at_once(self, tmp_path: Path) -> None:
        async def use(sandbox: Sandbox) -> None:
            async with sandbox.session(str(tmp_path)) as session:
                results = await asyncio.gather(*(self.hello(session, tmp_path) for _ in range(3)))
                assert [result.stdout for result in results] == [b"hello\n"] * 3

        self.run(use)

    def test_sessions_may_follow_each_other_and_overlap(self, tmp_path: Path) -> None:
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()

        async def use(sandbox: Sandbox) -> None:
            async with sandbox.session(str(folders[0])) as one, sandbox.session(str(folders[1])) as two:
                assert (await self.hello(one, folders[0])).exit_code == 0
                assert (await self.hello(two, folders[1])).exit_code == 0
            async with sandbox.session(str(folders[0])) as again:
                assert (await self.hello(again, folders[0])).exit_code == 0

        self.run(use)

    def test_the_workspace_outlives_its_session(self, tmp_path: Path) -> None:
        (tmp_path / "kept.txt").write_text("kept")

        async def use(sandbox: Sandbox) -> None:
            async with sandbox.session(str(tmp_path)) as session:
                await self.hello(session, tmp_path)
            assert (tmp_path / "kept.txt").read_text() == "kept"

        self.run(use)

    def test_opening_and_closing_may_be_repeated(self) -> None:
        async def use(sandbox: Sandbox) -> None:
            await sandbox.open()
            await sandbox.open()
            await sandbox.close()

        self.run(use)

    def test_closing_needs_no_opening(self) -> None:
        async def use(sandbox: Sandbox) -> None:
            await sandbox.close()

        self.run(use)

    def test_it_declares_its_options(self) -> None:
        async def use(sandbox: Sandbox) -> None:
            assert isinstance(sandbox, Sandbox)
            assert isinstance(sandbox.options, sandbox.Options)
            assert isinstance(sandbox.Options.model_json_schema(), dict)

        self.run(use)
