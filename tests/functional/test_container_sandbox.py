"""Real docker and podman as a sandbox: input, output, limits, names, and that nothing is left."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from container_runtimes import TestRuntime
from driving import wait_until
from isolating import ENV, Isolated, isolated, sandbox_of, start_harness

from evalharness.contracts.sandbox import Limits, Owner, ProcessResult
from evalharness.errors import SandboxUnavailable, TargetUnavailable
from evalharness.registry import build_sandbox
from evalharness.sandboxes.memory_budget import MemoryBudget

SMALL = Limits(memory_bytes=100_000_000, processes=30, file_bytes=20_000_000, disk_bytes=30_000_000)
OWNER = Owner("store-1", "eval-20260105-100000-abcd", "count files/№ 1 #2")


@pytest.fixture
def box(container_runtime: TestRuntime, tmp_path: Path) -> Iterator[Isolated]:
    images, networks = container_runtime.images(), container_runtime.networks()
    with isolated(container_runtime.name, tmp_path) as made:
        yield made
    assert container_runtime.containers() == []
    assert container_runtime.networks() == networks
    assert container_runtime.volumes() == []
    assert container_runtime.mounts() == []
    assert len(container_runtime.images() - images) <= 1, "the sandbox's own image is kept"


MOSTLY_DOCKER = pytest.mark.parametrize(
    "container_runtime", ["docker", pytest.param("podman", marks=pytest.mark.soak)], indirect=True
)
"""For what the harness does in the same way with both."""


class TestWhatGoesInAndOut:
    def test_streams_files_variables_and_who_it_is(self, box: Isolated, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOST_API_KEY", "secret")
        (box.workspace / "given").write_text("given")
        (box.beside / "shown, with a comma").write_text("shown")
        (box.beside / "hidden").write_text("hidden")
        line = (
            "cat; cat given ../shown*; cat ../hidden; echo x >/usr/x; echo made >made; rm given; echo t >/tmp/t;"
            'printf \'%s|\' "$ODD" "$LD_PRELOAD" "$HOST_API_KEY" $(id -u) $(hostname) $(cat /tmp/t $(mktemp)); exit 7'
        )
        env = {**ENV, "ODD": "red = ü\n 'two'", "LD_PRELOAD": ""}
        data = bytes(range(256)) * 2000
        result = box.shell(line, stdin=data, env=env, readable=(str(box.beside / "shown, with a comma"),))
        assert (result.exit_code, result.ended) == (7, "exited")
        assert result.stdout == data + "givenshownred = ü\n 'two'|||65534|sandbox|t|".encode(), result.stderr
        assert b"hidden: No such file" in result.stderr
        assert result.stderr.count(b"Read-only file system") == 1
        assert [path.name for path in box.workspace.iterdir()] == ["made"]

    @MOSTLY_DOCKER
    def test_the_interpreter_that_runs_the_harness_works(self, box: Isolated) -> None:
        import sys

        result = box.run(sys.executable, "-c", "import sys, ssl; print(sys.prefix)")
        assert result.stdout.decode().strip() == sys.prefix, result.stderr

    @MOSTLY_DOCKER
    def test_signals_and_the_first_process(self, box: Isolated) -> None:
        assert box.shell("kill -SEGV $$").exit_code == 139
        result = box.shell("echo $$; sh -c 'kill -9 1'; kill -TERM $$; exit 7", is_first=True)
        assert (result.exit_code, result.stdout) == (7, b"1\n"), result.stderr

    def test_a_program_that_is_not_there(self, box: Isolated) -> None:
        outcome = box.outcome(box.request("/nowhere/program"))
        assert isinstance(outcome, TargetUnavailable)
        assert "no such program" in outcome.message


class TestLimits:
    @MOSTLY_DOCKER
    def test_output(self, box: Isolated) -> None:
        result = box.run("cat", "/dev/zero", flood_bytes=3_000_000, keep_bytes=1000)
        assert (result.ended, result.truncated) == ("flood", True)
        assert len(result.stdout) < 10_000

    def test_memory(self, box: Isolated) -> None:
        result = box.python("b = bytearray(2**30); print(len(b))", limits=SMALL)
        assert (result.ended, result.stdout) == ("memory", b"")

    def test_time_and_a_fork_bomb_beside_others(self, box: Isolated) -> None:
        bomb = box.request("/bin/sh", "-c", ":(){ :|:& };:; sleep 600", limits=SMALL, timeout_s=3.0)
        other = box.request("/bin/echo", "alive")
        slow = box.request("/bin/sh", "-c", "setsid sleep 600 & echo begun; sleep 600", timeout_s=2.0)
        ended, alive, timed = box.all_of(bomb, other, slow)
        assert isinstance(ended, ProcessResult) and isinstance(alive, ProcessResult)
        assert isinstance(timed, ProcessResult)
        assert (timed.ended, timed.exit_code, timed.stdout) == ("timeout", None, b"begun\n")
        assert ended.exit_code != 0
        assert alive.stdout == b"alive\n"

    @MOSTLY_DOCKER
    def test_disk_and_files(self, box: Isolated) -> None:
        result = box.shell("head -c 25000000 /dev/zero >large; wc -c <large; rm large", limits=SMALL)
        assert result.exit_code == 153 or b"20000000" in result.stdout, result
        line = "for n in 1 2 3 4; do head -c 9000000 /dev/zero >$n; done; sleep 60"
        assert box.shell(line, limits=SMALL).ended == "disk"


class TestNames:
    def test_a_container_says_whose_it_is(self, box: Isolated, container_runtime: TestRuntime) -> None:
        async def use() -> None:
            sandbox = sandbox_of(box.mode)
            try:
                async with sandbox.session(str(box.workspace), OWNER) as session:
                    running = asyncio.create_task(session.run(box.request("sleep", "600")))
                    running_names = partial(container_runtime.call, "ps", "--format", "{{.Names}}")
                    while not (found := (await asyncio.to_thread(running_names)).split()):
                        await asyncio.sleep(0.05)
                    [name] = found
                    assert name.startswith("evalharness-eval-20260105-100000-abcd-count-files-1-2-")
                    shown = container_runtime.call("inspect", "--format", "{{json .Config.Labels}}", name)
                    assert all(f'"{value}"' in shown for value in ("store-1", "eval-20260105-100000-abcd"))
                    running.cancel()
                    await asyncio.wait([running])
                assert container_runtime.containers() == [], "a cancelled run leaves nothing"
            finally:
                await sandbox.close()

        asyncio.run(use())

    @MOSTLY_DOCKER
    def test_containers_that_are_kept(self, box: Isolated, container_runtime: TestRuntime) -> None:
        async def use() -> None:
            sandbox = build_sandbox("container", {"containers": {"runtime": box.mode, "keep": True}})
            async with sandbox.session(str(box.workspace), OWNER) as session:
                await session.run(box.request("true"))
                await session.run(box.request("sleep", "600", timeout_s=2.0))
            await sandbox.close()
            other = sandbox_of(box.mode)
            await other.open()
            await other.reap(OWNER.store_id, lambda _run: True)
            await other.close()

        asyncio.run(use())
        kept = container_runtime.containers()
        assert len(kept) == 2
        assert container_runtime.call("ps", "-q") == "", "but they have ended"
        container_runtime.call("rm", "--volumes", *kept)


class TestWhatIsLeft:
    @MOSTLY_DOCKER
    def test_the_watcher_removes_what_a_killed_harness_left(
        self, box: Isolated, container_runtime: TestRuntime
    ) -> None:
        harness = start_harness(box.mode, container_runtime.environment)
        assert harness.stdin is not None and harness.stderr is not None
        pid = int(harness.stderr.readline())
        harness.stdin.write(pickle.dumps([box.request("/bin/sh", "-c", "touch begun; sleep 600")] * 2))
        harness.stdin.flush()
        wait_until((box.workspace / "begun").exists)
        os.kill(pid, signal.SIGKILL)
        harness.communicate()
        wait_until(lambda: container_runtime.containers() == [])

    @MOSTLY_DOCKER
    def test_the_reaper_removes_what_no_process_runs(self, box: Isolated, container_runtime: TestRuntime) -> None:
        def left(store: str, run: str, *more: str) -> str:
            labels = ("--label", f"evalharness.store={store}", "--label", f"evalharness.run={run}", *more)
            flags = ("--network", "none", "--name", f"left-{store}-{run}-{len(more)}")
            container_runtime.call("create", *flags, *labels, "evalharness-test:busybox", "true")
            return flags[-1]

        mine = left("mine", "dead")
        others = [
            left("mine", "alive"),
            left("other", "dead"),
            left("mine", "dead", "--label", "evalharness.kept=true"),
        ]
        asked: list[str] = []

        def is_abandoned(run: str) -> bool:
            asked.append(run)
            return run == "dead"

        async def reap() -> None:
            sandbox = sandbox_of(box.mode)
            await sandbox.open()
            await sandbox.reap("mine", is_abandoned)
            await sandbox.close()

        asyncio.run(reap())
        assert mine not in container_runtime.containers()
        assert sorted(container_runtime.containers()) == sorted(others)
        assert sorted(asked) == ["alive", "dead"]
        container_runtime.call("rm", "--volumes", *others)


def why_not(runtime: str = "") -> str:
    """Why the sandbox cannot be opened."""

    async def ask() -> str:
        sandbox = build_sandbox("container", {"containers": {"runtime": runtime}})
        try:
            with pytest.raises(SandboxUnavailable) as caught:
                await sandbox.open()
        finally:
            await sandbox.close()
        return f"{caught.value.message}; {caught.value.hint}"

    return asyncio.run(ask())


class TestWithoutARuntime:
    def test_no_daemon(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
        assert f"does not answer: Cannot connect to the Docker daemon at unix://{tmp_path}" in why_not("docker")

    def test_nothing_installed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert "docker is not installed; podman is not installed" in why_not()

    def test_a_daemon_of_another_machine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
        reason = why_not("docker")
        assert "run elsewhere (tcp://127.0.0.1:1)" in reason and "unset DOCKER_HOST" in reason


class TestTheMemoryOfTheMachine:
    def test_what_does_not_fit_waits(self) -> None:
        async def use() -> list[int]:
            budget = MemoryBudget(1000)
            at_once: list[int] = []
            inside = 0

            async def one() -> None:
                nonlocal inside
                async with budget.reserved(300):
                    inside += 1
                    at_once.append(inside)
                    await asyncio.sleep(0)
                    inside -= 1

            await asyncio.gather(*(one() for _ in range(7)))
            assert budget.has_waited
            with pytest.raises(SandboxUnavailable, match="80% of the memory"):
                async with budget.reserved(801):
                    pytest.fail("it does not fit")
            return at_once

        assert max(asyncio.run(use())) == 2
