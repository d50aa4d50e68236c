"""container_command: a command that looks at what is left of the container in which the target answered.

It runs when that container has been ended, in another one without a network: in a clean image, with all the files that
are left at `/state`, read-only. So nothing that the target did can change what the command itself does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field, field_validator

from evalharness.contracts.containers import BindMount, ContainerRequest, EndState
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.sandbox import ProcessResult
from evalharness.domain.grade import Grade
from evalharness.domain.options import Number, Options
from evalharness.errors import SandboxUnavailable, TargetUnavailable, Unscored
from evalharness.values.json_value import Json
from evalharness.values.text import head, tail

STATE = "/state"
CHANGEABLE = "it ran files that the agent could change"
ROOT = "0:0"
Where = Literal["clean", "end_state"]
_SHOWN = 1000
_KEPT = 65_536


class ContainerCommandOptions(Options):
    """`command` is an argument list, or one line for the shell of the image.

    `image` is that of the target, by its digest, unless one is named. `in: end_state` runs the command among the files
    that are left, as the target would find them, instead of in a clean image.
    """

    main: ClassVar[str] = "command"

    command: str | tuple[str, ...]
    image: str = ""
    where: Annotated[
        Literal["clean", "end_state"], Field(validation_alias=AliasChoices("in"), serialization_alias="in")
    ] = "clean"
    timeout_seconds: Annotated[Number, Field(gt=0)] = 60.0

    @field_validator("command")
    @classmethod
    def _not_empty(cls, command: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if not command or not (command.strip() if isinstance(command, str) else command[0]):
            raise ValueError("is empty; give the program to run")
        return command

    @property
    def words(self) -> tuple[str, ...]:
        return ("/bin/sh", "-c", self.command) if isinstance(self.command, str) else self.command


class ContainerCommand(Grader):
    """Passes if the command ends with exit code 0."""

    Options: ClassVar[type[Options]] = ContainerCommandOptions
    needs_end_state = True
    only_reads: ClassVar[bool] = True
    options: ContainerCommandOptions

    def images(self) -> tuple[str, ...]:
        return (self.options.image,) if self.options.image and self.options.where == "clean" else ()

    async def grade(self, context: GradeContext) -> Grade:
        state = context.end_state
        if state is None:
            raise Unscored("nothing is left of a container: the target had none, or it answered in an earlier run")
        exported = await state.exported()
        in_end_state = self.options.where == "end_state"
        request = await self._request(state)
        evidence: dict[str, Json] = {"end_state": exported.digest, "image": request.image, "in": self.options.where}
        try:
            result = await self._run(request, state)
        except SandboxUnavailable:
            raise
        except TargetUnavailable as error:
            if not in_end_state:
                raise
            return Grade.of(False, reason=f"{error.message} ({CHANGEABLE})", evidence=evidence)
        evidence["exit_code"] = result.exit_code
        evidence["stdout"] = tail(result.stdout.decode(errors="replace"), _SHOWN)
        evidence["stderr"] = tail(result.stderr.decode(errors="replace"), _SHOWN)
        reason = _why(result, self.options.timeout_seconds)
        marked = f"{reason} ({CHANGEABLE})" if in_end_state else reason
        passed = result.ended == "exited" and result.exit_code == 0
        return Grade.of(passed, reason=marked if in_end_state or not passed else "", evidence=evidence)

    async def _request(self, state: EndState) -> ContainerRequest:
        """In a clean image as root, so that nothing can be hidden from the command."""
        options = self.options
        first, *rest = options.words
        asked = ContainerRequest(
            image=state.image,
            argv=tuple(rest),
            entrypoint=first,
            timeout_s=options.timeout_seconds,
            keep_bytes=_KEPT,
        )
        if options.where == "end_state":
            image, mounts = await state.again()
            return replace(asked, image=image, mounts=mounts, cwd=mounts[-1].place)
        if options.image:
            asked = replace(asked, image=await self.services.container_runtime().image_id(options.image))
        mount = BindMount(str((await state.exported()).folder), STATE)
        return replace(asked, mounts=(mount,), cwd="/", user=ROOT)

    async def _run(self, request: ContainerRequest, state: EndState) -> ProcessResult:
        containers = self.services.container_runtime()
        ended = await containers.run(request, state.owner)
        await containers.remove(ended.name)
        return ended.process


def _why(result: ProcessResult, timeout_s: float) -> str:
    if result.ended == "timeout":
        return f"time limit of {timeout_s:g} s"
    if result.ended != "exited":
        return f"{'output' if result.ended == 'flood' else result.ended} limit"
    said = (
        result.stderr.decode(errors="replace").strip() or result.stdout.decode(errors="replace").strip()
    ).splitlines()
    return f"exit code {result.exit_code}" + (f": {head(said[-1], 300)}" if said else "")
