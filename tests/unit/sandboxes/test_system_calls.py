"""The kernel's filter, run by a small interpreter of its language: which calls each architecture allows."""

from __future__ import annotations

import errno
import struct

import pytest

from evalharness.sandboxes.system_calls import filter_program

ALLOWED, KILLED = 0x7FFF0000, 0x80000000
MISSING, REFUSED = 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EPERM
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
O_CREAT, O_TMPFILE, O_WRONLY = 0o100, 0o20200000, 1


def verdict(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    program = filter_program(machine)
    assert program is not None
    audited = MACHINES[machine] if architecture is None else architecture
    data = struct.pack("=IIQ6Q", number, audited, 0, *arguments, *[0] * (6 - len(arguments)))
    instructions = list(struct.iter_unpack("=HBBI", program))
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, operand = instructions[at]
        at += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, operand)[0]
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06:
                return operand


NUMBERS = {
    "x86_64": {
        "read": 0,
        "ptrace": 101,
        "process_vm_writev": 311,
        "pidfd_getfd": 438,
        "keyctl": 250,
        "io_uring_setup": 425,
        "openat2": 437,
        "fchmod": 91,
        "openat": 257,
        "socket": 41,
    },
    "aarch64": {
        "read": 63,
        "ptrace": 117,
        "process_vm_writev": 271,
        "pidfd_getfd": 438,
        "keyctl": 219,
        "io_uring_setup": 425,
        "openat2": 437,
        "fchmod": 52,
        "openat": 56,
        "socket": 198,
    },
}


@pytest.mark.parametrize("machine", MACHINES)
class TestFilter:
    def call(self, machine: str, name: str, *arguments: int) -> int:
        return verdict(machine, NUMBERS[machine][name], *arguments)

    def test_what_is_missing_and_what_is_not(self, machine: str) -> None:
        assert self.call(machine, "read") == ALLOWED
        for name in ("keyctl", "io_uring_setup", "openat2", "ptrace", "process_vm_writev", "pidfd_getfd"):
            assert self.call(machine, name) == MISSING

    @pytest.mark.parametrize(
        ("mode", "expected"), [(0o755, ALLOWED), (0o1777, ALLOWED), (0o4755, REFUSED), (0o2755, REFUSED)]
    )
    def test_modes_with_set_id_bits(self, machine: str, mode: int, expected: int) -> None:
        assert self.call(machine, "fchmod", 3, mode) == expected
        assert self.call(machine, "openat", 3, 0, O_CREAT | O_WRONLY, mode) == expected
        assert self.call(machine, "openat", 3, 0, O_TMPFILE | O_WRONLY, mode) == expected
        assert self.call(machine, "openat", 3, 0, O_WRONLY, mode) == ALLOWED, "without creation, a mode means nothing"

    def test_families_of_sockets(self, machine: str) -> None:
        common = {"unix": 1, "inet": 2, "inet6": 10, "netlink": 16}
        assert {self.call(machine, "socket", family) for family in common.values()} == {ALLOWED}
        assert {self.call(machine, "socket", family) for family in (38, 40, 44)} == {REFUSED}

    def test_the_same_calls_under_other_numbers(self, machine: str) -> None:
        assert verdict(machine, 0, architecture=0x40000003) == KILLED
        assert verdict(machine, 0x40000000 + 250) == MISSING


def test_an_unknown_machine_has_no_filter() -> None:
    assert filter_program("pdp11") is None
