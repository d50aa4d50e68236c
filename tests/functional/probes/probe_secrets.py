"""Attempts to read what belongs to the machine: files, other processes' variables, memory, devices."""

import os
from pathlib import Path

from inside import Blocked, run


def read_a_file_of_the_host(facts):
    return Path(facts["secret_file"]).read_text()


def read_the_password_file(facts):
    return Path("/etc/shadow").read_text()[:20]


def look_into_homes(facts):
    found = {path.name for folder in ("/root", "/home") if Path(folder).is_dir() for path in Path(folder).iterdir()}
    if not found - set(facts["way_to_readable"]):
        raise Blocked("nothing there")
    return found


def find_the_secret_in_own_variables(facts):
    if facts["secret"] not in "\n".join(os.environ.values()):
        raise Blocked("not there")
    return os.environ


def find_the_secret_in_variables_of_processes(facts):
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if facts["secret"].encode() in path.read_bytes():
                return str(path)
        except OSError:
            continue
    raise Blocked("not there")


def find_the_secret_on_command_lines(facts):
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        if facts["victim_mark"].encode() in path.read_bytes() and path.parent.name != str(os.getpid()):
            return str(path)
    raise Blocked("not there")


def read_through_the_first_process(facts):
    for link in ("root", "cwd", "fd/0/../.."):
        try:
            return list(Path(f"/proc/1/{link}/root/.ssh").iterdir())
        except OSError:
            pass
    return Path(f"/proc/1/root{facts['secret_file']}").read_text()


def read_the_harness(facts):
    return Path(f"/proc/{facts['harness_pid']}/environ").read_bytes()


def read_kernel_memory(facts):
    for place in ("/proc/kcore", "/dev/mem", "/dev/kmem", "/proc/kmsg", "/dev/kmsg"):
        try:
            with Path(place).open("rb") as file:
                return place, file.read(16)
        except OSError:
            pass
    raise Blocked("none can be opened")


def read_the_disk(facts):
    for path in Path("/dev").iterdir():
        if path.is_block_device():
            return str(path)
    raise Blocked("no block device")


run(
    read_a_file_of_the_host,
    read_the_password_file,
    look_into_homes,
    find_the_secret_in_own_variables,
    find_the_secret_in_variables_of_processes,
    find_the_secret_on_command_lines,
    read_through_the_first_process,
    read_the_harness,
    read_kernel_memory,
    read_the_disk,
)
