"""The system calls that sandboxed code may not make, as a program for the kernel's filter (seccomp).

Namespaces and dropped privileges do not cover these: the keys of the session that started the harness, sockets to the
machine's own host, kernel interfaces with a long record of vulnerabilities, ways into other processes of the sandbox
(one of them may be its judge), and set-user-ID files, which others could run outside of the workspace.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass

Tests = tuple[tuple[int, int], ...]
"""(number of an argument, bits): the call is refused if, for every pair, the argument has one of the bits."""

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_FAIL = 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _HAS_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_X32_CALLS = 0x40000000
_SET_ID_BITS = 0o6000
_CREATES = 0o20000100  # O_CREAT and the bit specific to O_TMPFILE
_RARE_FAMILY = 0x20  # from 32 on: AF_VSOCK, which namespaces do not cover, AF_ALG, AF_XDP and others

_AnyInstruction = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Architecture:
    audit_number: int
    missing: tuple[int, ...]
    """Calls that fail as if the kernel did not know them; programs have a fallback for that."""
    refused: Mapping[int, Tests]


# missing: keyctl add_key request_key, bpf perf_event_open userfaultfd, io_uring_setup … _register, openat2, whose mode
# a filter cannot see, and ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd process_madvise. refused: modes
# with the set-ID bits in chmod fchmod fchmodat fchmodat2 mknod mknodat creat open openat, as far as the architecture
# has them; and socket.
_ARCHITECTURES = {
    "x86_64": _Architecture(
        0xC000003E,
        (250, 248, 249, 321, 298, 323, 425, 426, 427, 437, 101, 310, 311, 312, 438, 440),
        {
            90: ((1, _SET_ID_BITS),),
            91: ((1, _SET_ID_BITS),),
            268: ((2, _SET_ID_BITS),),
            452: ((2, _SET_ID_BITS),),
            133: ((1, _SET_ID_BITS),),
            259: ((2, _SET_ID_BITS),),
            85: ((1, _SET_ID_BITS),),
            2: ((1, _CREATES), (2, _SET_ID_BITS)),
            257: ((2, _CREATES), (3, _SET_ID_BITS)),
            41: ((0, _RARE_FAMILY),),
        },
    ),
    "aarch64": _Architecture(
        0xC00000B7,
        (219, 217, 218, 280, 241, 282, 425, 426, 427, 437, 117, 270, 271, 272, 438, 440),
        {
            52: ((1, _SET_ID_BITS),),
            53: ((2, _SET_ID_BITS),),
            452: ((2, _SET_ID_BITS),),
            33: ((2, _SET_ID_BITS),),
            56: ((2, _CREATES), (3, _SET_ID_BITS)),
            198: ((0, _RARE_FAMILY),),
        },
    ),
}


def filter_program(machine: str = "") -> bytes | None:
    """The filter in the format of `bwrap --seccomp`; None for machines whose system calls are not listed here."""
    architecture = _ARCHITECTURES.get(machine or platform.machine())
    if architecture is None:
        return None
    program: list[_AnyInstruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_EQUAL, 1, 0, architecture.audit_number),
        (_RETURN, 0, 0, _KILL),  # the same kernel's calls with other numbers
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_AT_LEAST, 0, 1, _X32_CALLS),
        (_RETURN, 0, 0, _FAIL | errno.ENOSYS),
    ]
    for number in architecture.missing:
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL | errno.ENOSYS)]
    for number, tests in architecture.refused.items():
        refusal = _refusal(tests)
        program += [(_EQUAL, 0, len(refusal), number), *refusal]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _refusal(tests: Tests) -> list[_AnyInstruction]:
    """Instructions that refuse a call; a test that fails jumps to the last one, which allows it."""
    steps: list[_AnyInstruction] = []
    for position, (argument, bits) in enumerate(tests):
        left = 2 * (len(tests) - position - 1)
        steps += [(_LOAD, 0, 0, _ARGUMENTS_OFFSET + 8 * argument), (_HAS_BITS, 0, left + 1, bits)]
    return [*steps, (_RETURN, 0, 0, _FAIL | errno.EPERM), (_RETURN, 0, 0, _ALLOW)]
