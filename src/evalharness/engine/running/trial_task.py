"""Trial task: one trial as its target sees it, with a workspace that is made only if somebody asks for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evalharness.contracts.containers import EndState
from evalharness.contracts.gateway import GatewaySession
from evalharness.contracts.sandbox import Owner, ProcessRequest, ProcessResult, Sandbox, SandboxSession
from evalharness.domain.case import Case
from evalharness.domain.record import ATOMS, copied
from evalharness.domain.specification import GraderSpec
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.errors import SandboxUnavailable, TargetUnavailable, UsageError
from evalharness.values.json_value import Json
from evalharness.values.text import tail
from evalharness.workspaces import LockedFolder, Snapshot, changed_files, put_files, removed_files, snapshot


class TrialSessions:
    """The sessions of one trial, one in each sandbox that it uses."""

    def __init__(self) -> None:
        self._open: dict[Sandbox, SandboxSession] = {}
        self._closing = AsyncExitStack()
        self._opening = asyncio.Lock()

    async def session(self, sandbox: Sandbox, workspace: str, owner: Owner) -> SandboxSession:
        async with self._opening:
            if sandbox not in self._open:
                self._open[sandbox] = await self._closing.enter_async_context(sandbox.session(workspace, owner))
            return self._open[sandbox]

    async def close(self) -> None:
        await self._closing.aclose()


class TrialTask:
    __slots__ = (
        "_before",
        "_environment",
        "_is_over",
        "_made_folder",
        "_own",
        "_planned",
        "_root",
        "_sessions",
        "_store_id",
        "_tidy",
        "end_state",
        "gateway",
        "has_private_parent",
        "index",
        "run_id",
        "seed",
        "timeout_s",
    )

    def __init__(
        self,
        planned: PlannedCase,
        index: int,
        seed: int,
        root: Path,
        run_id: str = "",
        environment: Mapping[str, str] = MappingProxyType({}),
        tidy: Callable[[], object] | None = None,
        store_id: str = "",
    ) -> None:
        """`tidy` is called before a workspace is made."""
        self._planned = planned
        self._own: dict[str, Any] = {}
        self.timeout_s = planned.timeout_s
        self.index = index
        self.seed = seed
        self._environment = environment
        self._root = root
        self.run_id = run_id
        self._store_id = store_id
        self._tidy = tidy
        self._made_folder: LockedFolder | None = None
        self._before: Snapshot = {}
        self._is_over = False
        self._sessions: TrialSessions | None = None
        self.gateway: GatewaySession | None = None
        self.has_private_parent = False
        """Whether the workspace is inside a folder that only this user can enter: a container's root may change the
        mode of the workspace itself, or leave a setuid program in it."""
        self.end_state: EndState | None = None

    # Copies of this trial's own, made when first asked for: what a target does to them concerns no other trial, and
    # no grader.

    @property
    def case(self) -> Case:
        return self._copy("case", self._planned.asked)  # type: ignore[no-any-return]

    @property
    def content(self) -> Json:
        content = self._planned.asked.content
        return content if type(content) in ATOMS else self.case.content

    @property
    def graders(self) -> tuple[GraderSpec, ...]:
        return self._copy("graders", self._planned.specs)  # type: ignore[no-any-return]

    @property
    def variant(self) -> Mapping[str, Json]:
        return self._copy("variant", self._planned.variant)  # type: ignore[no-any-return]

    @property
    def environment(self) -> Mapping[str, str]:
        return self._copy("environment", self._environment)  # type: ignore[no-any-return]

    def _copy(self, name: str, original: Any) -> Any:
        if name not in self._own:
            self._own[name] = copied(original)
        return self._own[name]

    @property
    def workspace(self) -> Path:
        """Raises TargetUnavailable when it cannot be made: that is no fault of the target."""
        if self._made_folder is None:
            try:
                self._made_folder = self._made()
            except (OSError, ValueError, UsageError) as error:
                case = self._planned.case
                raise TargetUnavailable(f"the workspace of case {case.id} cannot be created: {error}") from error
        if self._is_over:  # asked for by a thread that was given up at its time limit
            self._made_folder.remove()
            raise TargetUnavailable("the trial is over and its workspace has been removed")
        return self._workspace_in(self._made_folder)

    @property
    def made_workspace(self) -> Path | None:
        return None if self._made_folder is None else self._workspace_in(self._made_folder)

    def _workspace_in(self, folder: LockedFolder) -> Path:
        return folder.path / "workspace" if self.has_private_parent else folder.path

    def _made(self) -> LockedFolder:
        if self._tidy is not None:
            self._tidy()
        folder = LockedFolder(self.run_id)
        workspace = self._workspace_in(folder)
        try:
            workspace.mkdir(mode=0o700, exist_ok=True)
            put_files(self._planned.case.files, self._root, workspace)
            self._before = snapshot(workspace) if self._planned.case.files else {}
        except (OSError, ValueError, UsageError):
            folder.remove()
            raise
        return folder

    @property
    def setup(self) -> str:
        return self._planned.case.setup

    async def session(self, sandbox: Sandbox) -> SandboxSession:
        if self._sessions is None:
            self._sessions = TrialSessions()
        return await self._sessions.session(sandbox, str(self.workspace), self.owner)

    @property
    def owner(self) -> Owner:
        return Owner(self._store_id, self.run_id, f"{self._planned.case.id} #{self.index + 1}")

    def leave(self, end_state: EndState) -> None:
        self.end_state = end_state

    async def workspace_replaced(self, touched: Collection[str]) -> None:
        folder = self.workspace
        now = await asyncio.to_thread(snapshot, folder)
        untouched = {name: mark for name, mark in now.items() if name not in touched}
        removed = {name: None for name in touched if not os.path.lexists(folder / name)}
        self._before = {**removed, **self._before, **untouched}

    async def settle(self) -> None:
        """What lies in the workspace by now is where the target starts from, and none of its doing."""
        self._before = await asyncio.to_thread(snapshot, self.workspace)

    async def changes(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The files that the target made or changed in its workspace, if it asked for one, and those it removed.

        Raises TargetUnavailable where they cannot be looked at: that is no fault of the target.
        """
        folder = self.made_workspace
        if folder is None:
            return {}, ()
        removed = removed_files(folder, self._before)
        try:
            return await asyncio.to_thread(changed_files, folder, self._before), removed
        except OSError as error:
            raise TargetUnavailable(f"the workspace of case {self.case.id} cannot be read: {error}") from error

    async def end(self) -> None:
        """Nobody may use the workspace any more. A large one takes long to remove, and others must not wait for it."""
        self._is_over = True
        try:
            if self._sessions is not None:
                await self._sessions.close()
            if self.end_state is not None:
                await self.end_state.close()
        finally:
            if self._made_folder is not None:
                await asyncio.to_thread(self._made_folder.remove)


# Setting up: the `setup` of a case, run in the trial's workspace before its target is asked.
#
# It is a script that came with a file, so it is isolated: it sees the workspace and the system's programs, nothing
# else.

PATH = "/usr/local/bin:/usr/bin:/bin"
SHOWN_STDERR = 1000


def no_sandbox() -> Sandbox:
    raise SandboxUnavailable("there is no sandbox here to run the case's setup in")


async def set_up(task: TrialTask, isolated: Callable[[], Sandbox]) -> None:
    """Raises TargetUnavailable where the script fails: the target, which has not been asked, is not to blame."""
    folder = str(task.workspace)
    session = await task.session(isolated())
    result = await session.run(
        ProcessRequest(
            argv=("/bin/sh", "-c", task.setup),
            cwd=folder,
            env={"PATH": PATH, "HOME": folder, "LANG": "C.UTF-8"},
            timeout_s=task.timeout_s,
        )
    )
    if result.ended != "exited" or result.exit_code != 0:
        raise TargetUnavailable(f"the setup failed: {_why(result, task.timeout_s)}")
    await task.settle()


def _why(result: ProcessResult, timeout_s: float) -> str:
    if result.ended == "timeout":
        return f"time limit of {timeout_s:g} s"
    if result.ended != "exited":
        return f"{'output' if result.ended == 'flood' else result.ended} limit"
    said = tail(result.stderr.decode(errors="replace").strip(), SHOWN_STDERR)
    return f"exit code {result.exit_code}" + (f": {said}" if said else "")
