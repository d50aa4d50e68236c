"""The tools that an agent has for the files of its workspace. Their docstrings are what the model is told of them.

Whatever they return is bounded, however large the files are; what is left out is said. What cannot be done is a
ValueError, in words for the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from evalharness.contracts.sandbox import Ended, Limits, ProcessRequest
from evalharness.contracts.services import Services
from evalharness.contracts.target import Task
from evalharness.domain.plain_numbers import count
from evalharness.targets import confined_files
from evalharness.values.json_value import Json
from evalharness.values.pattern import compile_pattern
from evalharness.workspaces import MAX_SEEN, files_in

MOST_READ_BYTES = 8_388_608
MOST_SEARCHED_BYTES = 1_048_576
"""Of one file: what is larger is seldom text that somebody wrote."""
SEARCH_S = 5.0
TOO_LONG = f"the search took more than {SEARCH_S:g} s and was given up"
MOST_FOUND = 200
LONGEST_LINE = 300
LONGEST_NOTE = 100
"""What says that a result goes on: it must not itself be cut."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The trial that a tool works for, and what it may use."""

    task: Task
    services: Services
    longest_result: int
    shell_timeout_s: float
    limits: Limits

    @property
    def folder(self) -> Path:
        return self.task.workspace


def read_file(context: ToolContext, path: str, start_line: int = 1) -> str:
    """Read a text file of the workspace. A long file is cut; read on from start_line."""
    content = confined_files.read(context.folder, path, MOST_READ_BYTES)
    if b"\0" in content.head:
        raise ValueError(f"{path} is a binary file of {count(content.size, 'byte')}")
    total = sum(1 for _ in BytesIO(content.head))
    if not 1 <= start_line <= max(total, 1):
        raise ValueError(f"{path} has {count(total, 'line')}, so there is no line {start_line}")
    before = start_line - 1
    shown = _fitting(islice(_lines(content.head), before, None), context.longest_result - LONGEST_NOTE)
    last = before + len(shown)
    if last < total:
        shown.append(f"\n[cut here: go on with start_line {last + 1} of {total}]")
    elif not content.is_whole:
        shown.append(f"\n[only the first {MOST_READ_BYTES:,} of {content.size:,} bytes can be read]")
    return "".join(shown)


def write_file(context: ToolContext, path: str, content: str) -> str:
    """Write a text file of the workspace: a new one, or in place of one that is there. Makes the folders it needs."""
    written = content.encode()
    confined_files.write(context.folder, path, written)
    return f"wrote {count(len(written), 'byte')} to {path}"


def edit_file(context: ToolContext, path: str, old_text: str, new_text: str) -> str:
    """Replace one passage of a text file. old_text must stand in the file exactly once, as it is written there."""
    content = confined_files.read(context.folder, path, MOST_READ_BYTES)
    if not content.is_whole:
        raise ValueError(f"{path} is too large to be edited: {content.size:,} bytes")
    old, new = old_text.encode(), new_text.encode()
    found = content.head.count(old) if old else 0
    if found != 1:
        raise ValueError(f"old_text must occur exactly once in {path}, but it occurs {found} times")
    confined_files.write(context.folder, path, content.head.replace(old, new))
    return f"edited {path}"


def list_files(context: ToolContext, path: str = ".") -> str:
    """List the files of the workspace, or of one of its folders, with those of inner folders."""
    folder = confined_files.folder_inside(context.folder, path)
    prefix = folder.relative_to(context.folder)
    names = sorted(str(prefix / name) for name, _ in files_in(folder))
    cut = f"\n[only the first {MAX_SEEN} files were looked at]" if len(names) == MAX_SEEN else ""
    return ("\n".join(names) or "there are no files") + cut


def search(context: ToolContext, pattern: str, path: str = ".") -> str:
    """Search the text files of the workspace, or of one of its folders, for a regular expression, line by line."""
    try:
        compiled = compile_pattern(pattern)
    except ValueError as error:
        raise ValueError(f"the pattern is not a regular expression: {error}") from None
    folder = confined_files.folder_inside(context.folder, path)
    found: list[str] = []
    left_out = 0
    until_s = time.monotonic() + SEARCH_S
    for name, _ in files_in(folder):
        _left_s(until_s)
        file = str(folder.relative_to(context.folder) / name)
        try:
            content = confined_files.read(context.folder, file, MOST_SEARCHED_BYTES)
        except ValueError:
            left_out += 1
            continue
        left_out += not content.is_whole
        found += islice(_matches(compiled, file, content.head, until_s), MOST_FOUND + 1 - len(found))
        if len(found) > MOST_FOUND:
            found[MOST_FOUND:] = [f"[more than {MOST_FOUND} lines match; the rest is left out]"]
            break
    if left_out:
        found.append(f"[{count(left_out, 'file')} could not be read, or only the first {MOST_SEARCHED_BYTES:,} bytes]")
    return "\n".join(found) or "no line matches"


def _matches(compiled: Any, file: str, content: bytes, until_s: float) -> Iterator[str]:
    if b"\0" in content:
        return
    for number, line in enumerate(_lines(content), start=1):
        try:
            is_found = compiled.search(line.rstrip("\r\n"), timeout=_left_s(until_s), concurrent=True)
        except TimeoutError:
            raise ValueError(TOO_LONG) from None
        if is_found:
            cut = "…" if len(line) > LONGEST_LINE else ""
            yield f"{file}:{number}: {line[:LONGEST_LINE].rstrip()}{cut}"


def _left_s(until_s: float) -> float:
    left_s = until_s - time.monotonic()
    if left_s <= 0:
        raise ValueError(TOO_LONG)
    return left_s


def _lines(content: bytes) -> Iterator[str]:
    """One by one: a file of nothing but line ends would make a list many times its size."""
    return (line.decode(errors="replace") for line in BytesIO(content))


def _fitting(lines: Iterable[str], longest: int) -> list[str]:
    """The lines that fit, at least one: a single line that does not is cut by whoever asked."""
    shown: list[str] = []
    length = 0
    for line in lines:
        length += len(line)
        if shown and length > longest:
            break
        shown.append(line)
    return shown


# The tool with which an agent runs programs: isolated, without network, without the environment of the harness.
#
# Its docstring is what the model is told of it.

PATH = "/usr/local/bin:/usr/bin:/bin"
LONGEST_COMMAND_BYTES = 100_000
"""The system takes no argument of more than 131,072 bytes."""
WHY_ENDED: dict[Ended, str] = {
    "timeout": "it took longer than {seconds:g} s",
    "flood": "it wrote too much output",
    "memory": "it used too much memory",
    "processes": "it started too many processes",
    "disk": "it wrote too much to the workspace",
}


async def run_shell(context: ToolContext, command: str) -> Json:
    """Run a command line with sh in the workspace. There is no network. Tells exit_code, stdout and stderr."""
    if "\0" in command or len(command.encode()) > LONGEST_COMMAND_BYTES:
        raise ValueError(f"the command contains a NUL character or has more than {LONGEST_COMMAND_BYTES} bytes")
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
    fields: dict[str, Json] = {
        "exit_code": result.exit_code,
        "stdout": result.stdout.decode(errors="replace"),
        "stderr": result.stderr.decode(errors="replace"),
    }
    if result.ended != "exited":
        fields["ended"] = f"{WHY_ENDED[result.ended].format(seconds=context.shell_timeout_s)} and was ended"
    return fields
