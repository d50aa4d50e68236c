"""Attempts to gain rights: users, capabilities, set-user-ID programs, keys, terminals, devices, control groups."""

import ctypes
import fcntl
import os
import stat
import subprocess
import termios
from pathlib import Path

from inside import Blocked, call, run

KEYCTL_JOIN_SESSION_KEYRING, KEYCTL_DESCRIBE, SESSION_KEYRING = 1, 6, -3
HARMLESS_DEVICES = {"full", "null", "ptmx", "random", "tty", "urandom", "zero"}


def become_root(facts):
    for change in (os.setuid, os.setgid, lambda number: os.setgroups([number])):
        try:
            return change(0), change
        except OSError:
            pass
    raise Blocked("neither user nor group")


def have_capabilities(facts):
    lines = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines())
    held = {name: value for name, value in lines.items() if name.startswith("Cap") and int(value, 16)}
    if not held and lines["NoNewPrivs"] == "1":
        raise Blocked("none, and no way to any")
    return held


def take_capabilities(facts):
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    wanted = (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    return call("capset", ctypes.addressof(header), ctypes.addressof(wanted))


def run_a_set_user_id_program(facts):
    """It waits for a password that never comes; meanwhile the test can see its user."""
    programs = [path for path in Path("/usr/bin").iterdir() if path.stat().st_mode & stat.S_ISUID]
    for program in programs:
        waiting = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        status = Path(f"/proc/{waiting.pid}/status").read_text()
        waiting.kill()
        waiting.communicate()
        users = next(line for line in status.splitlines() if line.startswith("Uid:")).split()[1:]
        if set(users) != {str(os.getuid())}:
            return program, users
    raise Blocked(f"{len(programs)} programs change nothing")


def leave_a_set_user_id_program(facts):
    """For somebody on the host to run."""
    Path("planted").write_bytes(Path("/bin/true").read_bytes())
    attempts = {
        "chmod": lambda: Path("planted").chmod(0o4755),
        "fchmod": lambda: os.fchmod(os.open("planted", os.O_RDONLY), 0o2755),
        "open": lambda: os.open("planted-2", os.O_CREAT | os.O_WRONLY, 0o6755),
        "unnamed": lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755),
        "mknod": lambda: os.mknod("planted-3", 0o4755 | stat.S_IFREG),
        "fchmodat2": lambda: call("fchmodat2", -100, b"planted", 0o4755, 0),
        "openat2": lambda: call("openat2", -100, b".", 0, 0),
    }
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
    left = [path.name for path in Path().iterdir() if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
    Path("planted").chmod(0o755)  # harmless calls still work
    if not done and not left:
        raise Blocked("in no way")
    return done, left


def use_keys_of_the_session(facts):
    for name, arguments in (
        ("keyctl", (KEYCTL_DESCRIBE, SESSION_KEYRING, 0, 0)),
        ("keyctl", (KEYCTL_JOIN_SESSION_KEYRING, 0)),
        ("add_key", (b"user", b"planted", b"x", 1, SESSION_KEYRING)),
        ("request_key", (b"user", b"any", 0, 0)),
    ):
        try:
            return call(name, *arguments), name
        except OSError:
            pass
    raise Blocked("none of the calls")


def use_doubtful_calls(facts):
    for name, arguments in (
        ("bpf", (0, 0, 0)),
        ("perf_event_open", (0, 0, -1, -1, 0)),
        ("userfaultfd", (1,)),
        ("io_uring_setup", (1, 0)),
    ):
        try:
            call(name, *arguments)
        except OSError as error:
            if error.errno != 38:  # ENOSYS: any other error means that the kernel was asked
                return name, str(error)
    raise Blocked("none of the calls")


def type_into_the_terminal(facts):
    for descriptor in (0, 1, 2):
        try:
            return fcntl.ioctl(descriptor, termios.TIOCSTI, b"x")
        except OSError:
            pass
    return os.open("/dev/tty", os.O_RDWR)


def find_devices(facts):
    found = {path.name for path in Path("/dev").iterdir() if path.is_char_device() or path.is_block_device()}
    if found <= HARMLESS_DEVICES:
        raise Blocked(f"only {sorted(found)}")
    return found - HARMLESS_DEVICES


def make_a_device(facts):
    try:
        return os.mknod("memory", stat.S_IFCHR | 0o666, os.makedev(1, 1))
    except OSError:
        return os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(254, 0))


def leave_the_control_group(facts):
    seen = list(Path("/sys").glob("fs/cgroup/**/cgroup.procs"))
    if not seen:
        raise Blocked("there are none to be seen")
    return [place.write_text("0") for place in seen]


def be_the_last_to_go_when_memory_is_short(facts):
    Path("/proc/self/oom_score_adj").write_text("-1000")
    return "done"


run(
    become_root,
    have_capabilities,
    take_capabilities,
    run_a_set_user_id_program,
    leave_a_set_user_id_program,
    use_keys_of_the_session,
    use_doubtful_calls,
    type_into_the_terminal,
    find_devices,
    make_a_device,
    leave_the_control_group,
    be_the_last_to_go_when_memory_is_short,
)
