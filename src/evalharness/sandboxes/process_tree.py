"""Finds and kills every process of a trial, including those that detached from it.

The search walks down from this process. If this process adopts orphans, as the one that the command line starts does,
the walk finds them too. Otherwise an ancestor (such as init) has adopted them, and the search covers its children as
well. The walk also finds processes of other code, which must be left alone. A process belongs to a trial if it descends
from the trial's first process, is in that process's session, or has the trial's mark:

* In its environment, which a program can empty and a zombie no longer has.
* As its limit on resident memory. Linux has not enforced this limit for twenty years, but every child inherits it
  through `setsid`, double forks and exec, and it can be read from zombies. It is set just after the start, so a child
  forked immediately can miss it.
* As a blocked signal that is never sent, which is inherited from the start. It does not identify the trial, but it
  distinguishes unmarked orphans from processes of other code, if this process has adopted them.

All this needs Linux and its /proc. Elsewhere only the process group is killed. Nothing is started or awaited here.
"""

from __future__ import annotations

import io
import os
import secrets
import signal
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MARK_VARIABLE = "EVALHARNESS_TRIAL"

_PROC = Path("/proc")
_ALL_MARKS = range(2**50, 2**51)  # KiB: so high that no program would ever notice it as a memory limit
_TRIALS_PER_SANDBOX = 2**24
_UNUSED_SIGNALS = frozenset(member for member in signal.Signals if member.name == "SIGSTKFLT")  # not on every processor
_PR_GET_CHILD_SUBREAPER = 37


@dataclass(frozen=True, slots=True)
class _Process:
    """One line of /proc/PID/stat. A pid alone can be reused; together with the start time it identifies a process."""

    pid: int
    parent: int
    session: int
    started_ticks: int
    memory_limit_kib: int
    blocked_signals: int
    is_dead: bool
    """Dead, and not yet reaped by its parent."""


def new_marks() -> range:
    """One mark for each trial of one sandbox."""
    first = _ALL_MARKS.start + secrets.randbits(26) * _TRIALS_PER_SANDBOX
    return range(first, first + _TRIALS_PER_SANDBOX)


def adopts_orphans() -> bool:
    """Whether orphaned descendants become children of this process instead of an ancestor."""
    if not has_proc():
        return False
    import ctypes  # lazy: most runs start no process

    answer = ctypes.c_int()
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return answer.value == 1


@contextmanager
def signal_blocked_for_children() -> Iterator[None]:
    """Processes that this thread starts meanwhile have the unused signal blocked. Other threads are not affected."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _UNUSED_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _UNUSED_SIGNALS)


def set_mark(pid: int, mark: int) -> None:
    """Mark a child that has just been started; its environment already has the mark."""
    if not has_proc():
        return
    import resource  # lazy: it does not exist on every platform

    try:
        _, hard = resource.prlimit(pid, resource.RLIMIT_RSS)
        resource.prlimit(pid, resource.RLIMIT_RSS, (mark * 1024, hard))
    except (OSError, ValueError):
        return  # another user's program, or a lower hard limit: the other marks remain


def open_pidfd(pid: int) -> int | None:
    """A handle that always refers to this process; None if the platform has none or the process is gone."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def started_ticks(pid: int) -> int | None:
    """When a process was started, which distinguishes it from a later one with the same pid; None if there is none."""
    process = _read(pid)
    return None if process is None else process.started_ticks


def is_dead(pid: int) -> bool:
    """Whether it has ended, even if its parent has not noticed yet."""
    process = _read(pid)
    return process is None or process.is_dead


def boot_id() -> str:
    """Which start of the machine this is; empty where that is not known."""
    try:
        return content(f"{_PROC}/sys/kernel/random/boot_id").decode().strip()
    except OSError:
        return ""


def kill_family(root: int) -> None:
    """Kill a process that is not this one's trial, and everything below it, whatever session that is in."""
    members = filter(None, map(_read, family_of(root))) if has_proc() else ()
    for process in list(members):
        _kill(process)
    kill_group(root)


def kill_group(leader: int) -> None:
    """Kill a process group whose leader the caller has not reaped yet, so that its number cannot be reused."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def sweep(
    marks: range,
    *,
    root: int | None = None,
    others: Collection[int] = (),
    unmarked_too: bool = False,
    looks_around: bool = False,
) -> bool:
    """Kill and reap what has one of `marks` or belongs to `root`; return whether there was nothing to do.

    `root` is the trial's first process, not yet reaped: it is killed too, but the caller must reap it. `others` are the
    first processes of other trials; their descendants are skipped. Unmarked orphans may belong to another trial: they
    are reaped when dead, but killed only if `unmarked_too`. With `looks_around`, orphans with these marks that another
    process has adopted are killed too; that process reaps them.
    """
    met = list(_descendants(marks, others, looks_around=looks_around)) if has_proc() else []
    found = _members(met, marks, root)
    orphans = [process for process in met if process not in found and _is_orphan_of_a_trial(process)]
    orphans = [process for process in orphans if not _marks_of(process)]
    if root is not None:
        kill_group(root)
    if unmarked_too:
        found += orphans
    for process in found:
        _kill(process)
    strays = [process for process in found if process.pid != root]
    for process in strays + orphans:
        _reap(process)
    return not strays


def kill_marked(marks: range) -> bool:
    """Kill what has one of `marks`, regardless of its parent; return whether there was nothing to do."""
    found = _marked(marks)
    for process in found:
        _kill(process)
    return not found


def any_alive(marks: range) -> bool:
    """Whether any process with one of `marks` has not ended yet, regardless of its parent."""
    return has_proc() and not all(process.is_dead for process in _marked(marks))


def _marked(marks: range) -> list[_Process]:
    pids = [pid for children in _children_table().values() for pid in children]
    met = [process for pid in pids if (process := _read(pid)) is not None]
    return _members(met, marks, root=None)


def family_of(root: int) -> list[int]:
    """The process and all its descendants, parents first; processes that start or end meanwhile may be missing."""
    family = [root]
    table = None if _lists_children() else _children_table()
    for parent in family:
        family += _children(parent) if table is None else table.get(parent, [])
    return family


def _members(met: Iterable[_Process], marks: range, root: int | None) -> list[_Process]:
    """The processes of a trial. Environments are read last, because that waits for a process that is busy forking."""
    pids: set[int] = set()
    for process in met:
        is_family = root in (process.pid, process.session) or process.parent in pids
        if is_family or process.memory_limit_kib in marks or any(mark in marks for mark in _marks_of(process)):
            pids.add(process.pid)
    return [process for process in met if process.pid in pids]


def _descendants(marks: range, others: Collection[int], *, looks_around: bool) -> Iterator[_Process]:
    """Every process below this one, parents before children, without those of other trials of the same sandbox."""
    table = None if _lists_children() else _children_table()
    adopted_elsewhere = list(_strays(marks, table)) if looks_around else []
    yield from adopted_elsewhere
    parents = [os.getpid(), *(process.pid for process in adopted_elsewhere)]
    for parent in parents:
        for pid in _children(parent) if table is None else table.get(parent, []):
            process = None if pid in others else _read(pid)
            if process is not None and not _is_neighbour(process, marks):
                parents.append(pid)
                yield process


def _strays(marks: range, table: dict[int, list[int]] | None) -> Iterator[_Process]:
    """Living orphans with one of `marks` that an ancestor of this process has adopted."""
    ancestors: list[int] = []
    process = _read(os.getpid())
    while process is not None and process.parent:
        ancestors.append(process.parent)
        process = _read(process.parent)
    for ancestor in ancestors:
        for pid in _children(ancestor) if table is None else table.get(ancestor, []):
            child = None if pid in ancestors or pid == os.getpid() else _read(pid)
            if child is None or child.is_dead or not (child.memory_limit_kib in marks or _is_signed(child)):
                continue
            if any(mark in marks for mark in _marks_of(child)):
                yield child


def _is_neighbour(process: _Process, marks: range) -> bool:
    same_sandbox = process.memory_limit_kib // _TRIALS_PER_SANDBOX == marks.start // _TRIALS_PER_SANDBOX
    return same_sandbox and process.memory_limit_kib not in marks


def _children(parent: int) -> list[int]:
    children: list[int] = []
    try:
        with os.scandir(f"{_PROC}/{parent}/task") as threads:
            for thread in threads:
                children += map(int, content(f"{thread.path}/children").split())
    except OSError:
        pass  # the process or the thread is gone; its children are found below their new parent
    return children


def _lists_children() -> bool:
    return (_PROC / "thread-self/children").exists()


def _children_table() -> dict[int, list[int]]:
    """Children by parent from all of /proc: fifty times slower, for kernels that do not list children."""
    table: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        process = _read(int(entry.name)) if entry.name.isdigit() else None
        if process is not None:
            table.setdefault(process.parent, []).append(process.pid)
    return table


def content(path: str) -> bytes:
    """A file of /proc, read at a third of the cost of `Path.read_bytes`, because a sweep reads many."""
    with io.FileIO(path) as file:
        return file.readall()


def _read(pid: int) -> _Process | None:
    try:
        line = content(f"{_PROC}/{pid}/stat")
    except OSError:
        return None
    # The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
    fields = line.rpartition(b")")[2].split()
    return _Process(
        pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        started_ticks=int(fields[19]),
        memory_limit_kib=int(fields[22]) // 1024,
        blocked_signals=int(fields[29]),
        is_dead=fields[0] in (b"Z", b"X"),
    )


def _marks_of(process: _Process) -> list[int]:
    """The marks from its limit and its environment, to which a harness inside a trial adds its own mark."""
    marks = [process.memory_limit_kib] if process.memory_limit_kib in _ALL_MARKS else []
    try:
        variables = content(f"{_PROC}/{process.pid}/environ").split(b"\0")
    except OSError:
        return marks
    name = MARK_VARIABLE.encode() + b"="
    values = [variable.removeprefix(name) for variable in variables if variable.startswith(name)]
    return marks + [int(word) for value in values for word in value.split() if word.isdigit()]


def _is_orphan_of_a_trial(process: _Process) -> bool:
    return _is_signed(process) and process.parent == os.getpid()


def _is_signed(process: _Process) -> bool:
    return any(process.blocked_signals >> (number - 1) & 1 for number in _UNUSED_SIGNALS)


def _kill(process: _Process) -> None:
    """Kill exactly this process, and never a new one with the same pid.

    The handle is opened before the start time is compared.
    """
    handle = open_pidfd(process.pid)
    try:
        now = _read(process.pid)
        if now is None or now.started_ticks != process.started_ticks:
            return
        if handle is None:
            os.kill(process.pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        if handle is not None:
            os.close(handle)


def _reap(process: _Process) -> None:
    """Reap it if it is dead and was adopted; waiting for any child (-1) would reap other code's children."""
    if process.parent != os.getpid():
        return
    try:
        os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        return


def has_proc() -> bool:
    return (_PROC / "self/stat").exists()
