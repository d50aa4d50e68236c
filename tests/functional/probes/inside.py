"""The start of every escape probe: it refuses to run unless it is inside one of our sandboxes.

A probe really tries. Outside a sandbox it would mount over the machine's folders and kill its processes.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

REFUSED = 77
CALLS = {  # numbers of system calls that have no wrapper everywhere: x86_64, aarch64
    "ptrace": (101, 117),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "setns": (308, 268),
    "unshare": (272, 97),
    "clone": (56, 220),
    "clone3": (435, 435),
    "fsopen": (430, 430),
    "open_tree": (428, 428),
    "pidfd_open": (434, 434),
    "process_vm_readv": (310, 270),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "capset": (126, 91),
    "fchmodat2": (452, 452),
    "openat2": (437, 437),
}


class Blocked(Exception):
    """The attempt failed in a way that raised no error by itself."""


def call(name, *arguments):
    """Makes a system call; raises OSError if it fails."""
    library = ctypes.CDLL(None, use_errno=True)
    number = CALLS[name][os.uname().machine == "aarch64"]
    words = [ctypes.c_char_p(word) if isinstance(word, bytes) else ctypes.c_long(word) for word in arguments]
    result = library.syscall(ctypes.c_long(number), *words)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def refuse_outside(marker, nonce):
    try:
        is_marked = Path(marker).read_text() == nonce
    except OSError:
        is_marked = False
    first = Path("/proc/1/comm").read_text().strip()
    is_inside = os.uname().nodename == "sandbox" and (first, os.getuid()) in (("bwrap", 1000), ("sh", 65534))
    if not (is_marked and nonce and is_inside):
        sys.stderr.write("refused: this is not the inside of a sandbox\n")
        sys.exit(REFUSED)


def run(*attempts):
    """Each attempt returns what it obtained, or fails. The outcomes go to stdout as one JSON object."""
    marker, nonce = sys.argv[1:]
    refuse_outside(marker, nonce)
    facts = json.load(sys.stdin)
    outcomes = {}
    for attempt in attempts:
        try:
            outcomes[attempt.__name__] = f"ESCAPED: {attempt(facts)!r}"
        except (OSError, Blocked, ValueError) as error:
            outcomes[attempt.__name__] = f"blocked: {type(error).__name__}: {error}"
        sys.stdout.flush()
    print(json.dumps(outcomes))
