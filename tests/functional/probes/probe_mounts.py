"""Mounts and namespaces: attempts to create a new inside, or to get back to the outside."""

import ctypes
import os
from pathlib import Path

from inside import Blocked, call, run

MS_REMOUNT, MS_BIND, MNT_DETACH = 32, 4096, 2
NAMESPACES = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "cgroup": 0x02000000,
    "time": 0x00000080,
}


def mount_memory(facts):
    return call("mount", b"none", b"/tmp", b"tmpfs", 0, 0)


def mount_processes(facts):
    Path("proc").mkdir(exist_ok=True)
    return call("mount", b"proc", b"proc", b"proc", 0, 0)


def mount_the_disk(facts):
    return [call("mount", name, b"/tmp", b"ext4", 0, 0) for name in (b"/dev/vda", b"/dev/sda1")]


def mount_control_groups(facts):
    for kind in (b"cgroup", b"cgroup2"):
        try:
            return call("mount", b"none", b"/tmp", kind, 0, 0)
        except OSError:
            pass
    raise Blocked("neither kind")


def make_the_system_writable(facts):
    return call("mount", b"none", b"/usr", b"none", MS_REMOUNT | MS_BIND, 0)


def uncover_what_is_below(facts):
    for place in (b"/proc/sys", b"/tmp", b"/usr", b"/"):
        try:
            return call("umount2", place, MNT_DETACH), place
        except OSError:
            pass
    raise Blocked("all are fixed")


def use_the_new_calls_for_mounts(facts):
    for name, arguments in (("fsopen", (b"tmpfs", 0)), ("open_tree", (-100, b"/usr", 1))):
        try:
            return call(name, *arguments), name
        except OSError:
            pass
    raise Blocked("both are refused")


def change_the_root(facts):
    try:
        return os.chroot("/tmp")
    except OSError:
        return call("pivot_root", b"/tmp", b"/tmp")


def make_new_namespaces(facts):
    made = []
    for name, flag in NAMESPACES.items():
        child = os.fork()
        if child == 0:
            try:
                call("unshare", flag)
            except OSError:
                os._exit(1)
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            made.append(name)
    if not made:
        raise Blocked("none of them")
    return made


def be_born_in_a_new_namespace(facts):
    child = call("clone", NAMESPACES["user"] | 17, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def be_born_in_a_new_namespace_by_the_new_call(facts):
    arguments = (ctypes.c_uint64 * 11)(NAMESPACES["user"], 0, 0, 0, 17)
    child = call("clone3", ctypes.addressof(arguments), ctypes.sizeof(arguments))
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def join_namespaces(facts):
    joined = []
    for pid in ("1", "self"):
        for name in ("user", "mnt", "net", "pid", "cgroup"):
            try:
                descriptor = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
                call("setns", descriptor, 0)
                joined.append((pid, name))
            except OSError:
                pass
    if not joined:
        raise Blocked("none of them")
    return joined


def allow_more_namespaces(facts):
    return Path("/proc/sys/user/max_user_namespaces").write_text("100")


run(
    mount_memory,
    mount_processes,
    mount_the_disk,
    mount_control_groups,
    make_the_system_writable,
    uncover_what_is_below,
    use_the_new_calls_for_mounts,
    change_the_root,
    make_new_namespaces,
    be_born_in_a_new_namespace,
    be_born_in_a_new_namespace_by_the_new_call,
    join_namespaces,
    allow_more_namespaces,
)
