"""The tool with which an agent runs programs: isolated, without network, without the environment of the harness.

Its docstring is what the model is told of it.
"""

from __future__ import annotations

from evalharness.domain.process import Ended, ProcessRequest
from evalharness.domain.record import Json
from evalharness.targets.workspace_tools import ToolContext

PATH = "/usr/local/bin:/usr/bin:/bin"
LONGEST_COMMAND_BYTES = 100_000
"""The system takes no argument of more than 131,072 bytes."""
WHY_ENDED: dict[Ended, str] = {
    "timeout": "it took longer than {seconds:g} s",
    "flood": "it wrote too much output",
    "memory": "it used too much memory",
    "processes": "it started too many processes",
    "disk": "it put too much into the workspace",
}


async def run_shell(context: ToolContext, command: str) -> Json:
    """Run a command line with sh in the workspace. There is no network. Tells exit_code, stdout and stderr."""
    if "\0" in command or len(command.encode()) > LONGEST_COMMAND_BYTES:
        raise ValueError(f"the command holds a NUL character or more than {LONGEST_COMMAND_BYTES} bytes")
    folder = context.folder
    folder.chmod(0o700)  # a command before this one may have shut it, and then nothing could be started in it
    session = await context.task.session(context.services.isolated())
    result = await session.run(
        ProcessRequest(
            argv=("/bin/sh", "-c", command),
            cwd=str(folder),
            env={"PATH": PATH, "HOME": str(folder), "LANG": "C.UTF-8"},
            timeout_s=context.shell_timeout_s,
            keep_bytes=context.longest_result // 8,  # the head and the tail of two streams, and quotes around them
            limits=context.limits,
        )
    )
    told: dict[str, Json] = {
        "exit_code": result.exit_code,
        "stdout": result.stdout.decode(errors="replace"),
        "stderr": result.stderr.decode(errors="replace"),
    }
    if result.ended != "exited":
        told["ended"] = f"{WHY_ENDED[result.ended].format(seconds=context.shell_timeout_s)} and was ended"
    return told
