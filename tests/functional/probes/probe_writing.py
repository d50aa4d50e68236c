"""Attempts to write outside the workspace. Some writes reach only the sandbox's own memory, so the test checks."""

import os
from pathlib import Path

from inside import Blocked, run


def write_into_a_file_of_the_host(facts):
    return Path(facts["secret_file"]).open("r+").write("overwritten")


def write_beside_the_workspace(facts):
    Path("..", "planted").write_text("planted")
    raise Blocked("the test looks whether it arrived")


def write_into_what_is_readable(facts):
    return Path(facts["marker"]).write_text("overwritten")


def write_through_an_open_descriptor(facts):
    with Path(facts["marker"]).open() as file:
        return os.open(f"/proc/self/fd/{file.fileno()}", os.O_RDWR)


def link_what_is_readable_into_the_workspace(facts):
    os.link(facts["marker"], "linked")
    return Path("linked").write_text("overwritten")


def change_rights_of_what_is_readable(facts):
    return Path(facts["marker"]).chmod(0o666), os.utime(facts["marker"])


def write_into_the_system(facts):
    for place in ("/usr/bin/planted", "/usr/planted", "/bin/planted", "/lib/planted"):
        try:
            return Path(place).write_text("planted"), place
        except OSError:
            pass
    return Path("/usr/bin/env").open("r+b")


def write_beside_the_mounts(facts):
    for place in ("/planted", "/etc/planted", "/dev/planted", "/etc/passwd"):
        try:
            return Path(place).write_text("planted"), place
        except OSError:
            pass
    raise Blocked("all are closed")


def change_the_kernel(facts):
    settings = ("kernel/core_pattern", "kernel/hostname", "vm/overcommit_memory", "net/ipv4/ip_forward")
    for place in (*(f"/proc/sys/{name}" for name in settings), "/proc/sysrq-trigger", "/sys/power/state"):
        try:
            return os.write(os.open(place, os.O_WRONLY), b"0"), place
        except OSError:
            pass
    raise Blocked("all are closed")


run(
    write_into_a_file_of_the_host,
    write_beside_the_workspace,
    write_into_what_is_readable,
    write_through_an_open_descriptor,
    link_what_is_readable_into_the_workspace,
    change_rights_of_what_is_readable,
    write_into_the_system,
    write_beside_the_mounts,
    change_the_kernel,
)
