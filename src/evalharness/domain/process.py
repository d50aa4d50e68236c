"""A process to be run, and what came of it: what a sandbox is asked and what it answers.

Pure data. Starting, limiting and killing processes is the business of `sandboxes/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Ended = Literal["exited", "timeout", "flood", "memory", "processes", "disk"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What an isolated process and everything it starts may use together; `file_bytes` bounds each single file."""

    memory_bytes: int = 536_870_912
    processes: int = 128
    file_bytes: int = 67_108_864
    disk_bytes: int = 268_435_456


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """`argv` is an argument list (a shell line is `("/bin/sh", "-c", line)`), `env` the child's complete environment.

    Of each stream the first and the last `keep_bytes` are kept; more than `flood_bytes` on one ends the process.
    `readable`, `network`, `limits` and `is_first` matter to sandboxes that isolate: `readable` are folders and files
    that may be read beside the system's own; only `cwd` may be written. A program that `is_first` is the sandbox's
    process number 1: no other process of the sandbox holds its pipes, and none inside can kill it.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: bytes = b""
    timeout_s: float | None = None
    keep_bytes: int = 1_048_576
    flood_bytes: int = 268_435_456
    readable: tuple[str, ...] = ()
    network: bool = False
    limits: Limits = Limits()
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """`exit_code` is None when the harness ended the process, and minus the signal's number when a signal did
    (128 + the number in sandboxes that isolate, as a shell would say).

    Where a stream was cut, a line between its head and its tail says how many bytes are missing; the totals count
    everything that was read. `duration_s` lasts from the start until the process ended or hit a limit.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    stdout_total: int
    stderr_total: int
    truncated: bool
    lost_bytes: int
    ended: Ended
    duration_s: float
