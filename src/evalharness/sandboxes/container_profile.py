"""The system calls that isolated containers may not make, in the form that docker and podman read (seccomp).

A profile replaces that of the runtime, whose versions differ a lot. It refuses what `system_calls.py` refuses, and in
addition whatever makes namespaces or changes the machine: a container, unlike bubblewrap's, has no user namespace.
"""

from __future__ import annotations

import errno
import json
import platform
from typing import Any

_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_MISSING = (
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "openat2", "clone3"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"),
)
"""As if the kernel did not know them; programs have a fallback for that."""
_REFUSED = (
    *("mount", "umount", "umount2", "pivot_root", "chroot", "setns", "unshare", "mount_setattr", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "open_by_handle_at", "name_to_handle_at"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "syslog", "acct"),
    *("settimeofday", "clock_settime", "clock_settime64", "clock_adjtime", "adjtimex", "sethostname", "setdomainname"),
    *("swapon", "swapoff", "quotactl", "quotactl_fd", "iopl", "ioperm", "vhangup", "lookup_dcookie", "uselib"),
    *("mbind", "migrate_pages", "move_pages", "set_mempolicy", "personality"),
)
_SET_ID_BITS = (0o4000, 0o2000)
_CREATES = (0o100, 0o20000000)  # O_CREAT and the bit specific to O_TMPFILE
_NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
_RARE_FAMILY = 0x20
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2, "creat": 1}
"""The number of the argument that is a mode."""
_OPENING = {"open": (1, 2), "openat": (2, 3)}
"""The numbers of the arguments that are flags and a mode."""


def profile(machine: str = "") -> bytes | None:
    """None for machines whose system calls nobody has looked at: there the profile of the runtime applies."""
    architecture = _ARCHITECTURES.get(machine or platform.machine())
    if architecture is None:
        return None
    rules = [
        _rule(_MISSING, errno.ENOSYS),
        _rule(_REFUSED, errno.EPERM),
        *(_rule([name], errno.EPERM, _has(at, bit)) for name, at in _MODES.items() for bit in _SET_ID_BITS),
        *(
            _rule([name], errno.EPERM, _has(flags, creates), _has(mode, bit))
            for name, (flags, mode) in _OPENING.items()
            for creates in _CREATES
            for bit in _SET_ID_BITS
        ),
        *(_rule(["clone"], errno.EPERM, _has(0, bit)) for bit in _NAMESPACES),
        _rule(["socket"], errno.EPERM, {"index": 0, "value": _RARE_FAMILY, "op": "SCMP_CMP_GE"}),
    ]
    written = {"defaultAction": "SCMP_ACT_ALLOW", "architectures": [architecture], "syscalls": rules}
    return json.dumps(written).encode()


def _rule(names: Any, error: int, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": list(arguments)}


def _has(index: int, bit: int) -> dict[str, Any]:
    return {"index": index, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}
