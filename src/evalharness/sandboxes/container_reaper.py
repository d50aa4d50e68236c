"""The reaper removes what is left of one store's runs after a machine died; containers to be kept are only stopped.

It runs before containers are used. After a killed harness, the watcher cleans up within seconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from evalharness.sandboxes.container_command import KEPT_LABEL, RUN_LABEL, STORE_LABEL, TEMPORARY_LABEL
from evalharness.sandboxes.container_program import ContainerProgram

IsAbandoned = Callable[[str], bool]
"""Whether no process is working on the run with this id."""


async def reap(
    program: ContainerProgram,
    store_id: str,
    is_abandoned: IsAbandoned,
    remove_container: Callable[[str], Awaitable[None]],
) -> None:
    of_store = ("--filter", f"label={STORE_LABEL}={store_id}")
    run, kept, temporary = (_label(".Config.Labels", name) for name in (RUN_LABEL, KEPT_LABEL, TEMPORARY_LABEL))
    ids = (await program.say("ps", "-aq", "--no-trunc", *of_store)).split()
    about = f"{{{{.Id}}}}|{run}|{kept}|{{{{.State.Running}}}}"
    for container, is_kept, is_running in await _abandoned(program, "container", about, ids, is_abandoned):
        if is_kept != "true":
            await remove_container(container)
        elif is_running == "true":
            await program.call("kill", container)
    names = (await program.say("volume", "ls", "--quiet", *of_store)).split()
    about = f"{{{{.Name}}}}|{_label('.Labels', RUN_LABEL)}"
    for [volume] in await _abandoned(program, "volume", about, names, is_abandoned):
        await program.call("volume", "rm", volume)
    images = (await program.say("images", "-q", "--no-trunc", "--filter", "dangling=true", *of_store)).split()
    about = f"{{{{.Id}}}}|{run}|{temporary}"
    for image, is_temporary in await _abandoned(program, "image", about, images, is_abandoned):
        if is_temporary == "true":
            await program.call("rmi", "--no-prune", image)  # not by force: a container that is kept may use it


def _label(labels: str, name: str) -> str:
    return f'{{{{index {labels} "{name}"}}}}'


async def _abandoned(
    program: ContainerProgram, what: str, about: str, found: list[str], is_abandoned: IsAbandoned
) -> list[list[str]]:
    """What `about` says of each whose run is abandoned, without its second field, the run."""
    if not found:
        return []
    described = await program.call(what, "inspect", "--format", about, *found)  # some may be gone
    lines = [line.split("|") for line in described.stdout.decode().splitlines()]
    runs = {run for run in {words[1] for words in lines} if is_abandoned(run)}
    return [[words[0], *words[2:]] for words in lines if words[1] in runs]
