"""Volumes that images declare: they begin with what the image has there, say whose they are, and none is left."""

from __future__ import annotations

import asyncio
from pathlib import Path

from container_runtimes import TestRuntime, busybox_archive

from evalharness.contracts.containers import BindMount, ContainerRequest
from evalharness.contracts.sandbox import Owner
from evalharness.domain.run import ContainerOptions
from evalharness.sandboxes.container_runtime import ContainerRuntime

IMAGE = "evalharness-test:volumes"
PLACES = ("/data", "/more")
OWNER = Owner("store-1", "eval-20260105-100000-abcd", "count-files #1")


def make_image(runtime: TestRuntime) -> None:
    changes = [word for place in PLACES for word in ("--change", f"VOLUME {place}")]
    runtime.call("import", *changes, "-", IMAGE, stdin=busybox_archive({"data/given": "given"}))


def test_volumes_begin_as_the_image_and_end_with_their_container(
    container_runtime: TestRuntime, tmp_path: Path
) -> None:
    make_image(container_runtime)
    (tmp_path / "state").mkdir()
    (tmp_path / "mounted").mkdir()

    async def use() -> None:
        containers = ContainerRuntime(ContainerOptions(runtime=container_runtime.name))
        mounts = (BindMount(str(tmp_path / "mounted"), "/more/", is_writable=True),)
        line = "cat /data/given; echo changed >/data/given; echo seen >/more/file"
        try:
            for _ in range(2):  # the second finds nothing of the first
                request = ContainerRequest(IMAGE, ("-c", line), entrypoint="/bin/sh", mounts=mounts)
                ended = await containers.run(request, OWNER)
                assert ended.process.stdout == b"given", ended.process.stderr
            listed = ("volume", "ls", "--quiet", "--filter")
            for label in (f"evalharness.store={OWNER.store_id}", f"evalharness.run={OWNER.run_id}"):
                mine = await asyncio.to_thread(container_runtime.call, *listed, f"label={label}")
                assert len(mine.split()) == 2, "one of each container: at the other place there is a folder"
            assert await containers.export(ended.name, tmp_path / "state") == ("/data",)
            await containers.remove(ended.name)
        finally:
            await containers.close()

    asyncio.run(use())
    assert (tmp_path / "state/data/given").read_text() == "changed\n"
    assert (tmp_path / "mounted/file").read_text() == "seen\n"
    assert (container_runtime.containers(), container_runtime.volumes()) == ([], [])


def test_a_container_that_is_kept_keeps_its_volumes(container_runtime: TestRuntime) -> None:
    make_image(container_runtime)

    async def use() -> str:
        containers = ContainerRuntime(ContainerOptions(runtime=container_runtime.name, keep=True))
        try:
            ended = await containers.run(ContainerRequest(IMAGE, ("-c", ":"), entrypoint="/bin/sh"), OWNER)
            await containers.remove(ended.name)
        finally:
            await containers.close()
        return ended.name

    kept = asyncio.run(use())
    assert container_runtime.containers() == [kept]
    assert len(container_runtime.volumes()) == len(PLACES)
    container_runtime.call("rm", "--volumes", kept)
    assert container_runtime.volumes() == []


def test_the_reaper_removes_volumes_that_a_machine_left_when_it_died(container_runtime: TestRuntime) -> None:
    def left(store: str, run: str) -> str:
        labels = ("--label", f"evalharness.store={store}", "--label", f"evalharness.run={run}")
        return container_runtime.call("volume", "create", *labels, f"left-{store}-{run}").strip()

    mine, used, alive, other = left("mine", "dead"), left("mine", "used"), left("mine", "alive"), left("other", "dead")
    image = ("--network", "none", "--name", "user", "--volume", f"{used}:/data", "evalharness-test:busybox", "true")
    container_runtime.call("create", *image)

    async def reap() -> None:
        containers = ContainerRuntime(ContainerOptions(runtime=container_runtime.name))
        try:
            await containers.open()
            await containers.reap("mine", lambda run: run in ("dead", "used"))
        finally:
            await containers.close()

    asyncio.run(reap())
    assert mine not in container_runtime.volumes()
    assert sorted(container_runtime.volumes()) == sorted([used, alive, other]), "others, and one that is in use"
    container_runtime.call("rm", "user")
    container_runtime.call("volume", "rm", used, alive, other)


def test_the_reaper_ends_what_is_kept_and_removes_temporary_images(container_runtime: TestRuntime) -> None:
    """As a machine that died leaves them: a container that is to be kept still runs."""
    call = container_runtime.call
    labels = ("--label", "evalharness.store=mine", "--label", "evalharness.run=dead")
    base = ("--network", "none", "evalharness-test:busybox")
    kept = call("run", "--detach", *labels, "--label", "evalharness.kept=true", *base, "sleep", "600").strip()
    ended = call("create", *labels, *base, "true").strip()
    temporary = ("--change", "LABEL evalharness.temporary=true")
    image = call("commit", *temporary, ended).strip().removeprefix("sha256:")
    own = call("commit", *temporary, ended, "evalharness-test:own").strip().removeprefix("sha256:")

    async def reap() -> None:
        containers = ContainerRuntime(ContainerOptions(runtime=container_runtime.name))
        try:
            await containers.open()
            await containers.reap("mine", lambda run: run == "dead")
        finally:
            await containers.close()

    asyncio.run(reap())
    assert call("inspect", "--format", "{{.State.Running}}", kept).strip() == "false"
    assert len(container_runtime.containers()) == 1
    images = container_runtime.images()
    assert not any(image in each for each in images)
    assert any(own in each for each in images), "somebody has named it"
    call("rmi", "evalharness-test:own")
    call("rm", "--volumes", kept)
