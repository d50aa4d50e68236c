"""Real processes in the sandbox that isolates, in each mode: input, output, and the limits that end them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from isolating import ENV, MODES, USER, Isolated, isolated

from evalharness.contracts.sandbox import Limits, ProcessResult
from evalharness.errors import SandboxUnavailable, TargetUnavailable
from evalharness.sandboxes import nobody
from evalharness.workspaces import remove_folder

SMALL = Limits(memory_bytes=100_000_000, processes=30, file_bytes=20_000_000, disk_bytes=50_000_000)


@pytest.fixture(params=MODES)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Isolated]:
    with isolated(request.param, tmp_path) as made:
        yield made


class TestWhatGoesInAndOut:
    def test_exit_code_and_both_streams(self, box: Isolated) -> None:
        result = box.shell("echo out; echo err >&2; exit 7")
        assert (result.exit_code, result.ended, result.stdout, result.stderr) == (7, "exited", b"out\n", b"err\n")

    def test_death_by_a_signal_is_128_and_its_number(self, box: Isolated) -> None:
        assert box.shell("kill -SEGV $$").exit_code == 139

    def test_long_input_and_output_that_is_not_utf_8_stay_as_they_are(self, box: Isolated) -> None:
        data = bytes(range(256)) * 20_000
        assert box.run("cat", stdin=data, keep_bytes=10_000_000).stdout == data

    def test_only_the_given_environment(self, box: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOST_API_KEY", "secret")
        result = box.run("/usr/bin/env", env={**ENV, "COLOUR": "red = ü\n", "EMPTY": ""})
        variables = dict(line.split("=", 1) for line in result.stdout.decode().split("\n") if "=" in line)
        assert variables == {"PWD": str(box.workspace), **ENV, "COLOUR": "red = ü", "EMPTY": ""}

    def test_a_variable_for_the_program_does_not_touch_what_builds_the_sandbox(self, box: Isolated) -> None:
        result = box.shell("echo $LD_PRELOAD", env={**ENV, "LD_PRELOAD": "/nowhere/evil.so", "ENV": "/nowhere"})
        assert result.stdout == b"/nowhere/evil.so\n"
        assert result.stderr.count(b"evil.so") <= 2, "inside: the first program and the shell; outside: no process"

    def test_files_of_the_workspace_come_and_go(self, box: Isolated) -> None:
        odd = [" leading", "new\nline", "-rf", "ünïcode", "'quote\"", os.fsdecode(b"latin-\xe9")]
        for name in ("changed", "deleted", *odd):
            (box.workspace / name).write_text("before")
        (box.workspace / "folder").mkdir(mode=0o700)
        (box.workspace / "folder/kept").write_text("kept")
        (box.workspace / "link").symlink_to("/etc/hostname")
        code = (
            "from pathlib import Path as P\n"
            "P('changed').write_text('after'); P('deleted').unlink(); P('folder/new').write_text('new')\n"
            "odd = [p.read_text() for p in P().iterdir() if p.name not in ('changed', 'folder', 'link')]\n"
            "print(len(odd), odd == ['before'] * len(odd), P('folder/kept').read_text())\n"
            "print(P('link').exists())\n"
        )
        result = box.python(code)
        assert result.stdout == b"6 True kept\nFalse\n", result.stderr
        assert (box.workspace / "changed").read_text() == "after"
        assert (box.workspace / "folder/new").read_text() == "new"
        assert not (box.workspace / "deleted").exists()
        assert {name for name in odd if (box.workspace / name).read_text() == "before"} == set(odd)

    def test_a_second_process_finds_what_the_first_one_left(self, box: Isolated) -> None:
        box.shell("umask 077; mkdir -p a/b; echo one >a/b/c; chmod 500 a")
        assert box.shell("cat a/b/c; echo two >a/b/c; cat a/b/c").stdout == b"one\ntwo\n"

    def test_what_is_readable_can_be_read_and_not_written(self, box: Isolated) -> None:
        (box.beside / "shown").mkdir()
        (box.beside / "shown/data.txt").write_text("data")
        (box.beside / "one.txt").write_text("one")
        (box.beside / "hidden.txt").write_text("hidden")
        (box.beside / "linked.txt").symlink_to(box.beside / "one.txt")
        line = "cat ../shown/data.txt ../linked.txt; cat ../hidden.txt; echo x >../shown/data.txt; echo x >../shown/new"
        result = box.shell(line, readable=(str(box.beside / "shown"), str(box.beside / "linked.txt")))
        assert result.stdout == b"dataone"
        assert result.stderr.count(b"Read-only file system") == 2
        assert (box.beside / "shown/data.txt").read_text() == "data"

    def test_what_is_readable_inside_the_workspace_stays_unwritten(self, box: Isolated) -> None:
        (box.workspace / "given").write_text("given")
        result = box.shell("echo x >given; echo y >own; cat given own", readable=(str(box.workspace / "given"),))
        assert result.stdout == b"giveny\n"

    def test_the_interpreter_that_runs_the_harness_works(self, box: Isolated) -> None:
        """It may be in a virtual environment, in somebody's home, or behind links."""
        folder = str(Path(sys.executable).parent)
        for argv in ((sys.executable, "-c"), (Path(sys.executable).name, "-c")):
            result = box.run(*argv, "import sys, ssl; print(sys.prefix)", env={"PATH": f"/usr/bin:/bin:{folder}"})
            assert result.exit_code == 0, result.stderr
        assert box.run(sys.executable, "-c", "import sys; print(sys.prefix)").stdout.decode().strip() == sys.prefix

    def test_tmp_is_its_own(self, box: Isolated) -> None:
        assert box.shell("echo x >/tmp/x; echo y >/dev/shm/y; cat /tmp/x /dev/shm/y").stdout == b"x\ny\n"
        assert box.shell("ls /dev/shm; cat /tmp/x").stdout == b""

    def test_programs_know_who_they_are(self, box: Isolated) -> None:
        assert box.shell("id -un; id -gn; hostname").stdout == b"user\nuser\nsandbox\n"

    def test_they_have_a_lower_priority_than_the_harness(self, box: Isolated) -> None:
        assert int(box.shell("nice").stdout) == min(19, os.nice(0) + 5)

    def test_the_first_process_of_a_sandbox(self, box: Isolated) -> None:
        """It sees no other processes, and what it starts cannot kill it."""
        line = "echo $$ /proc/[0-9]*; sh -c 'kill -9 1'; kill -TERM $$; exit 7"
        result = box.shell(line, is_first=True)
        assert (result.exit_code, result.stdout) == (7, b"1 /proc/1\n"), result.stderr
        assert box.shell("echo $$").stdout != b"1\n"

    def test_no_descriptor_is_left_open(self, box: Isolated) -> None:
        assert box.python("import os; print(sorted(os.listdir('/proc/self/fd')))").stdout == b"['0', '1', '2', '3']\n"

    def test_many_at_once_do_not_mix(self, box: Isolated) -> None:
        requests = [box.request("/bin/sh", "-c", f"cat; exit {n}", stdin=b"%d" % n) for n in range(12)]
        results = box.all_of(*requests)
        assert [(r.exit_code, r.stdout) for r in results if isinstance(r, ProcessResult)] == [
            (n, b"%d" % n) for n in range(12)
        ]


class TestWhatCannotBeStarted:
    def test_a_missing_program(self, box: Isolated) -> None:
        error = box.outcome(box.request("no-such-program"))
        assert isinstance(error, TargetUnavailable)
        assert "no-such-program" in error.message and "no such program" in error.message

    def test_a_program_of_the_machine_that_the_sandbox_does_not_show(self, box: Isolated) -> None:
        tool = box.beside / "tools" / "tool"
        tool.parent.mkdir()
        tool.write_text("#!/bin/sh\necho tool\n")
        tool.chmod(0o755)
        env = {"PATH": f"/usr/bin:{tool.parent}"}
        (box.workspace / "own").symlink_to("/bin/true")
        missing_ones = ((), ("",), ("../tools/missing",), ("/etc/passwd",), ("/etc",))
        outcomes = box.all_of(*(box.request(*argv, env=env) for argv in missing_ones))
        assert [type(outcome) for outcome in outcomes] == [TargetUnavailable] * 5
        assert box.run("tool", env=env).stdout == b"tool\n"
        assert box.run("./own", env=env).exit_code == 0

    def test_a_program_that_cannot_be_executed_after_all(self, box: Isolated) -> None:
        """Only the sandbox detects this; the exit code 126 or 127 would look like the program's."""
        for name, text in {"unknown": "#!/nowhere/interpreter\n", "closed": "#!/bin/sh\nexit 127\n"}.items():
            (box.beside / name).write_text(text)
            (box.beside / name).chmod(0o744 if name == "closed" else 0o755)
        programs = [str(box.beside / name) for name in ("unknown", "closed")[: 2 if os.geteuid() == 0 else 1]]
        outcomes = box.all_of(*(box.request(program, readable=(program,)) for program in programs))
        for program, outcome in zip(programs, outcomes, strict=True):
            assert isinstance(outcome, TargetUnavailable) and f"cannot start '{program}'" in outcome.message, outcome

    def test_a_program_cannot_pretend_that_it_was_not_started(self, box: Isolated) -> None:
        """Otherwise it could make its failure look like the machine's."""
        for said in ("bwrap: no", "prlimit: failed to execute sh: No such file or directory"):
            assert box.shell(f"echo '{said}' >&2; exit 127").exit_code == 127

    @pytest.mark.parametrize("folder", ["/", "/usr/share", "/nowhere/at/all", "/tmp"])
    def test_what_cannot_be_a_workspace(self, folder: str, box: Isolated) -> None:
        assert isinstance(box.outcome(box.request("true", cwd=folder)), SandboxUnavailable)
        assert [Path(place).stat().st_uid for place in ("/", "/usr", "/tmp")] == [0, 0, 0], "nothing was given away"

    def test_a_missing_readable_path_is_named(self, box: Isolated) -> None:
        error = box.outcome(box.request("true", readable=("/nowhere/at/all",)))
        assert isinstance(error, SandboxUnavailable)
        assert "/nowhere/at/all" in error.message

    @pytest.mark.parametrize("value", ["x\0--bind\0/\0/host", "\0"])
    def test_a_nul_cannot_smuggle_flags_in(self, value: str, box: Isolated) -> None:
        meant = ({"env": {**ENV, "X": value}}, {"env": {value: "x"}}, {"readable": (f"/usr{value}",)})
        outcomes = box.all_of(*(box.request("ls", "/host", **options) for options in meant))
        assert [type(outcome) for outcome in outcomes] == [TargetUnavailable] * 3

    def test_a_private_file_is_readable_for_its_user_but_not_for_the_user_nobody(self, box: Isolated) -> None:
        private = box.beside / "private"
        private.write_text("mine")
        private.chmod(0o600)
        request = box.request("cat", str(private), readable=(str(private),))
        if box.mode == USER:
            if os.geteuid() == 0:
                nobody.give_away(private)
            outcome = box.outcome(request)
            assert isinstance(outcome, ProcessResult) and outcome.stdout == b"mine"
        else:
            outcome = box.outcome(request)
            assert isinstance(outcome, SandboxUnavailable) and "o+r" in outcome.hint


class TestLimits:
    def test_what_processes_hand_down(self, box: Isolated) -> None:
        """No core file, and not so many open files that the whole machine would run out of them."""
        assert box.shell("ulimit -H -c; ulimit -H -n").stdout == b"0\n1024\n"

    def test_wall_clock(self, box: Isolated) -> None:
        result = box.shell("echo early; setsid sleep 600 & sleep 600", timeout_s=4)
        assert (result.ended, result.exit_code, result.stdout) == ("timeout", None, b"early\n")

    def test_output_flood(self, box: Isolated) -> None:
        result = box.shell("cat /dev/zero", flood_bytes=5_000_000, keep_bytes=1_000)
        assert (result.ended, result.exit_code) == ("flood", None)
        assert len(result.stdout) < 2_100

    def test_fork_bomb(self, box: Isolated) -> None:
        code = "import os\nprint('start', flush=True)\nwhile True:\n try: os.fork()\n except OSError: pass\n"
        result = box.python(code, limits=SMALL)
        assert (result.ended, result.exit_code, result.stdout) == ("processes", None, b"start\n")

    def test_a_fork_bomb_does_not_starve_others(self, box: Isolated) -> None:
        """With the default maximum number of processes, all of them busy."""
        bomb = "import os\nwhile True:\n try: os.fork()\n except OSError: pass\n"
        neighbour = "import time\nfor i in range(20): time.sleep(0.05)\nprint('done')\n"
        neighbours = [box.request("/usr/bin/python3", "-c", neighbour) for _ in range(2)]
        outcomes = box.all_of(*neighbours, box.request("/usr/bin/python3", "-c", bomb, timeout_s=10))
        results = [outcome for outcome in outcomes if isinstance(outcome, ProcessResult)]
        assert [(each.ended, each.stdout) for each in results] == [("exited", b"done\n")] * 2 + [("processes", b"")]

    def test_threads_count_as_processes(self, box: Isolated) -> None:
        code = "import threading, time\nfor i in range(99): threading.Thread(target=time.sleep, args=(30,)).start()\n"
        result = box.python(code, limits=Limits(processes=20))
        assert result.ended == "processes" or b"can't start new thread" in result.stderr

    def test_as_many_processes_as_are_allowed(self, box: Isolated) -> None:
        code = (
            "import os, time\n"
            "for i in range(29):\n if not os.fork():\n  time.sleep(0.3); os._exit(0)\n"
            "for i in range(29): os.wait()\nprint('done')\n"
        )
        result = box.python(code, limits=SMALL)
        assert (result.exit_code, result.stdout) == (0, b"done\n"), result

    def test_memory_of_one_process(self, box: Isolated) -> None:
        result = box.python("x = []\nwhile True: x.append(bytearray(1_000_000))", limits=SMALL)
        assert result.ended == "memory" or b"MemoryError" in result.stderr

    def test_memory_of_many_processes(self, box: Isolated) -> None:
        code = (
            "import os, time\n"
            "for i in range(20):\n if not os.fork():\n  x = bytearray(15_000_000); time.sleep(60)\n"
            "time.sleep(60)\n"
        )
        assert box.python(code, limits=SMALL).ended == "memory"

    def test_memory_that_processes_share_counts_once(self, box: Isolated) -> None:
        code = (
            "import os, time\nx = bytearray(40_000_000)\n"
            "for i in range(8):\n if not os.fork():\n  time.sleep(0.5); os._exit(0)\n"
            "for i in range(8): os.wait()\nprint('done')\n"
        )
        assert box.python(code, limits=SMALL).stdout == b"done\n"

    @pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
    def test_memory_in_the_form_of_files(self, folder: str, box: Isolated) -> None:
        line = f"cd {folder}; for i in 1 2 3 4 5 6 7 8 9; do head -c 19000000 /dev/zero >$i || exit 9; done; sleep 60"
        result = box.shell(line, limits=SMALL)
        full = result.exit_code == 9 and b"No space left" in result.stderr
        assert result.ended == "memory" or full, result

    def test_both_memory_folders_together(self, box: Isolated) -> None:
        line = "for i in 1 2 3; do head -c 18000000 /dev/zero >/tmp/$i; head -c 18000000 /dev/zero >/dev/shm/$i; done"
        assert box.shell(f"{line}; sleep 60", limits=SMALL).ended == "memory"

    def test_nothing_else_in_memory_can_be_written(self, box: Isolated) -> None:
        line = "for place in / /dev /etc /proc /usr; do echo x >$place/x && echo $place; done"
        assert box.shell(line).stdout == b""

    def test_file_size(self, box: Isolated) -> None:
        result = box.shell("head -c 30000000 /dev/zero >large; echo $?", limits=SMALL)
        assert result.stdout == b"153\n"
        assert (box.workspace / "large").stat().st_size == SMALL.file_bytes

    def test_disk(self, box: Isolated) -> None:
        result = box.shell("i=0; while :; do i=$((i+1)); head -c 10000000 /dev/zero >$i; done", limits=SMALL)
        assert (result.ended, result.exit_code) == ("disk", None)

    def test_disk_that_was_filled_before_the_first_check(self, box: Isolated) -> None:
        result = box.shell("for i in 1 2 3; do head -c 900000 /dev/zero >$i; done", limits=Limits(disk_bytes=2_000_000))
        assert result.ended == "disk"

    def test_a_sparse_file_takes_no_disk_and_many_empty_ones_do(self, box: Isolated) -> None:
        assert box.shell("truncate -s 19000000 a b c d e", limits=SMALL).exit_code == 0
        code = "for i in range(600): open(f'f{i}', 'w').close()"
        assert box.python(code, limits=Limits(disk_bytes=2_000_000)).ended == "disk"

    @pytest.mark.parametrize(
        "keep",
        ["files.append(file)", "files.append(mmap.mmap(file.fileno(), 0)); file.close()"],
        ids=["open", "mapped"],
    )
    def test_disk_of_files_without_a_name(self, keep: str, box: Isolated) -> None:
        code = (
            "import mmap, os, time\nfiles = []\n"
            "for i in range(20):\n"
            " file = open('x', 'w+b'); os.unlink('x'); file.write(bytes(range(1, 256)) * 20_000); file.flush()\n"
            f" {keep}\n"
            "time.sleep(20)\n"
        )
        assert box.python(code, limits=SMALL).ended == "disk"

    def test_a_little_without_a_name_is_allowed(self, box: Isolated) -> None:
        code = "import tempfile, time\nwith tempfile.TemporaryFile(dir='.') as f: f.write(b'x' * 9000); time.sleep(0.3)"
        assert box.python(code, limits=SMALL).exit_code == 0

    def test_disk_deeper_than_a_path_can_be_long(self, box: Isolated) -> None:
        code = (
            "import os, time\n"
            "for i in range(60):\n"
            " os.mkdir('d' * 200); os.chdir('d' * 200)\n"
            " if i > 30: open('x', 'wb').write(bytes(range(1, 256)) * 20_000)\n"
            "time.sleep(20)\n"
        )
        assert box.python(code, limits=SMALL).ended == "disk"
        remove_folder(box.workspace)
        assert not box.workspace.exists()

    def test_disk_in_closed_folders(self, box: Isolated) -> None:
        code = (
            "import os, time\n"
            "for i in range(20):\n"
            " os.mkdir(f'd{i}'); open(f'd{i}/x', 'wb').write(bytes(range(1, 256)) * 20_000); os.chmod(f'd{i}', 0)\n"
            "time.sleep(20)\n"
        )
        assert box.python(code, limits=SMALL).ended == "disk"

    def test_a_closed_folder_stays_closed(self, box: Isolated) -> None:
        assert box.shell("mkdir -p c/d; echo x >c/d/e; chmod 0 c/d; chmod 100 c; sleep 0.3").exit_code == 0
        assert (box.workspace / "c").stat().st_mode & 0o777 == 0o100
        assert (box.workspace / "c/d").stat().st_mode & 0o777 == 0

    def test_folders_that_come_and_go_do_not_count(self, box: Isolated) -> None:
        code = (
            "import os, shutil, time\nend = time.monotonic() + 1\n"
            "while time.monotonic() < end:\n"
            " os.makedirs('a/b/c/d'); os.rename('a/b', 'z'); shutil.rmtree('a'); shutil.rmtree('z')\n"
        )
        assert box.python(code, limits=SMALL).exit_code == 0

    def test_no_core_is_left(self, box: Isolated) -> None:
        box.shell("kill -ABRT $$")
        assert list(box.workspace.iterdir()) == []
