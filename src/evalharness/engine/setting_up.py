"""Setting up: the `setup` of a case, run in the trial's workspace before its target is asked.

It is a script that came with a file, so it is isolated: it sees the workspace and the system's programs, nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from evalharness.contracts.sandbox import Sandbox
from evalharness.domain.process import ProcessRequest, ProcessResult
from evalharness.domain.text import tail
from evalharness.engine.preparing import TrialTask
from evalharness.errors import SandboxUnavailable, TargetUnavailable

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
            argv=("/bin/sh", "-c", task.case.setup),
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
