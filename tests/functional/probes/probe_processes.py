"""Attacks on processes of the host. The test checks that its own victim is still alive and unharmed."""

import contextlib
import ctypes
import os
import resource
import signal
from pathlib import Path

from inside import Blocked, call, run

PTRACE_ATTACH = 16


def see_processes_of_the_host(facts):
    seen = {path.name: (path / "comm").read_text().strip() for path in Path("/proc").glob("[0-9]*")}
    others = {
        pid: name for pid, name in seen.items() if name not in ("bwrap", "python3", "sh") and not name.startswith("py")
    }
    if not others:
        raise Blocked(f"only {sorted(seen)}")
    return others


def kill_the_victim(facts):
    return os.kill(facts["victim_pid"], signal.SIGKILL)


def kill_the_harness(facts):
    return os.kill(facts["harness_pid"], 0)


def hold_the_victim_by_a_handle(facts):
    return call("pidfd_open", facts["victim_pid"], 0)


def trace_the_victim(facts):
    return call("ptrace", PTRACE_ATTACH, facts["victim_pid"], 0, 0)


def read_the_memory_of_the_victim(facts):
    buffer = ctypes.create_string_buffer(8)
    here = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 8)
    return call("process_vm_readv", facts["victim_pid"], ctypes.addressof(here), 1, ctypes.addressof(here), 1, 0)


def limit_the_victim(facts):
    return resource.prlimit(facts["victim_pid"], resource.RLIMIT_CPU, (1, 1))


def kill_everybody(facts):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGTERM)
    raise Blocked("the test looks who is still alive")


def raise_own_limits(facts):
    for name in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE):
        try:
            resource.setrlimit(name, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except (OSError, ValueError):
            continue
        return name
    raise Blocked("all are fixed")


run(
    see_processes_of_the_host,
    kill_the_victim,
    kill_the_harness,
    hold_the_victim_by_a_handle,
    trace_the_victim,
    read_the_memory_of_the_victim,
    limit_the_victim,
    kill_everybody,
    raise_own_limits,
)
