"""Processes that detach themselves while the harness is a library: its process adopts no orphans, yet none of a
trial's processes survives.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from sandboxed import FAMILY, FAMILY_SIZE, children, in_sandbox, pids, python, run

from evalharness.cli.process import signals_handled
from evalharness.contracts.sandbox import ProcessResult
from evalharness.harness import StopSignal
from evalharness.sandboxes.none import NoSandbox
from evalharness.sandboxes.process_tree import adopts_orphans

pytestmark = pytest.mark.usefixtures("proc")


def alive(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        return False


def test_the_whole_family_is_dead_before_the_result(tmp_path: Path) -> None:
    async def family(sandbox: NoSandbox) -> tuple[ProcessResult, dict[str, int]]:
        result = await sandbox.run(python(FAMILY + "print('finished')", tmp_path))
        return result, {name: pid for name, pid in pids(tmp_path).items() if alive(pid)}

    before = children()
    result, left = in_sandbox(family)
    assert (len(pids(tmp_path)), result.stdout) == (FAMILY_SIZE, b"finished\n")
    assert left == {}
    assert children() <= before
    assert not adopts_orphans()


def test_orphans_of_other_code_are_left_to_the_process_that_adopts_them(tmp_path: Path) -> None:
    """They neither die with a trial nor become zombies of this process."""
    started = subprocess.run(
        ["/bin/sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True, text=True
    )
    orphan = int(started.stdout)
    try:
        assert run(python("print('x')", tmp_path)).exit_code == 0
        assert alive(orphan)
        assert orphan not in children()
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_the_command_line_adopts_orphans_while_runs_are_under_way() -> None:
    with signals_handled(StopSignal()):
        assert adopts_orphans()
    assert not adopts_orphans()
