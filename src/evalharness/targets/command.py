"""command: any program is the target. Each trial gets a workspace of its own; the whole process tree ends with it."""

from __future__ import annotations

import shlex
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from evalharness import registry
from evalharness.contracts.gateway import GatewaySession
from evalharness.contracts.sandbox import ProcessRequest, ProcessResult
from evalharness.contracts.target import Target, Task
from evalharness.domain.case import as_text
from evalharness.domain.options import Options, Whole
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import TargetFailed, TargetUnavailable
from evalharness.targets.answers import (
    EventsOption,
    ResultForm,
    fail_after_error,
    limit_passed,
    read_events,
    read_result,
    recognised_form,
    refuse_both_forms,
    user_messages,
)
from evalharness.targets.command_words import (
    WORD,
    Command,
    digests_of_files,
    file_named,
    not_blank,
    with_own_interpreter,
    words_of,
)
from evalharness.targets.missing_programs import missing_program, not_found, program_of
from evalharness.targets.sandbox_options import SandboxOptions, kept_variables, readable_paths
from evalharness.targets.templates import asks_for_input, extra_task_fields, fill_shell_line, fill_template
from evalharness.values.digest import digest
from evalharness.values.text import head

NOT_FOUND = 127
KEPT_EVENT_BYTES = 16_777_216
"""Of a stream of events no line may be missing, and agents print whole files as the results of their tools."""


class CommandOptions(SandboxOptions):
    """`command` is an argument list, or one line for the shell.

    The question comes on stdin, unless `input` says otherwise or `{input}` stands in the command. Where `result` is not
    given, an output that is an artifact as a whole is read as one. A word that names a
    file beside the suite stands for that file, wherever the trial's workspace is.
    """

    main: ClassVar[str] = "command"

    command: Command
    input: Literal["stdin", "argument", "arguments", "none"] | None = None
    result: ResultForm = "text"
    events: EventsOption = None
    env: dict[str, str] = Field(default_factory=dict)
    max_output_bytes: Annotated[Whole, Field(ge=1024)] = 1_048_576

    @field_validator("command")
    @classmethod
    def _not_empty(cls, command: Command) -> Command:
        return not_blank(command)

    @model_validator(mode="after")
    def _one_form(self) -> CommandOptions:
        refuse_both_forms(self)
        self.refuse_without_sandbox()
        return self

    @property
    def input_mode(self) -> str:
        """docker-agent takes each turn of a conversation as an argument of its own."""
        return self.input or ("arguments" if self.events == "docker-agent" else "stdin")

    @property
    def kept_bytes(self) -> int:
        is_default = "max_output_bytes" not in self.model_fields_set
        return KEPT_EVENT_BYTES if self.events and is_default else self.max_output_bytes


class CommandTarget(Target):
    Options: ClassVar[type[Options]] = CommandOptions
    keeps_time_limit = True
    may_use_gateway = True
    options: CommandOptions

    def digest(self) -> str:
        named = [*words_of(self.options.command), *self.options.readable]
        return digest([super().digest(), digests_of_files(named, self.services.root)])

    def unpinned(self) -> tuple[str, ...]:
        program = program_of(self.options.command)
        return (f"program {program}",) if program and not file_named(program, self.services.root) else ()

    async def open(self) -> None:
        if self.options.sandbox:
            readable_paths(self.services.root, self.options.readable)
            await self.services.isolated().open()
        path = self._environment()["PATH"]
        if wrong := missing_program(self.options.command, self.services.root, path, given=None):
            raise wrong
        program = program_of(self.options.command)
        placed = self._placed(program) if program is not None else ""
        if Path(placed).is_absolute() and Path(placed).is_file() and shutil.which(placed, path=path) is None:
            raise TargetUnavailable(f"'{program}' is not executable", hint=f"chmod +x {shlex.quote(program or '')}")

    async def answer(self, task: Task) -> Transcript:
        folder = task.workspace
        reads_stdin = self.options.input_mode == "stdin" and not self._asks_for_input()
        request = ProcessRequest(
            argv=self._argv(task),
            cwd=str(folder),
            env={**self._environment(folder), **beside_the_input(task), **through_gateway(task)},
            stdin=task.case.content_text.encode(errors="replace") if reads_stdin else b"",
            timeout_s=task.timeout_s,
            keep_bytes=self.options.kept_bytes,
            readable=self._readable(),
            network=self.options.network,
            reaches=port_of(task.gateway),
            limits=self.options.limits.as_limits(),
        )
        sandbox = self.services.isolated() if self.options.sandbox else self.services.sandbox
        session = await task.session(sandbox)
        result = await session.run(request)
        self._check_started(result, folder)
        stdout = result.stdout.decode(errors="replace")
        form = self._form_of(stdout, is_cut=result.truncated)
        evidence = Transcript(
            output=stdout,
            stdout="" if form == "text" and not self.options.events else stdout,
            stderr=result.stderr.decode(errors="replace"),
            exit_code=result.exit_code,
            truncated=result.truncated,
            lost_bytes=result.lost_bytes,
        )
        problem = why_failed(result, evidence, task)
        if self.options.events:
            cut = why_cut(result.stdout_total, self.options.kept_bytes)
            return transcript_of_events(stdout, self.options.events, evidence, problem or cut)
        if problem:
            raise TargetFailed(problem, evidence=evidence)
        return read_result(stdout, form, evidence)

    def _form_of(self, stdout: str, *, is_cut: bool) -> ResultForm:
        is_said = "result" in self.options.model_fields_set or self.options.events
        return self.options.result if is_said else recognised_form(stdout, is_cut=is_cut) or "text"

    def _argv(self, task: Task) -> tuple[str, ...]:
        command = self.options.command
        appended = self._appended(task)
        if isinstance(command, str):
            placed = WORD.sub(lambda found: self._placed(found[0], shlex.quote), command.strip())
            line, values = fill_shell_line(placed, task)
            places = [f' "${{{number}}}"' for number, _ in enumerate(appended, start=len(values) + 1)]
            return ("/bin/sh", "-c", line + "".join(places), "sh", *values, *appended)
        return (*(fill_template(self._placed(word), task) for word in command), *appended)

    def _appended(self, task: Task) -> tuple[str, ...]:
        """The arguments that bring the question."""
        if self._asks_for_input():
            return ()
        match self.options.input_mode:
            case "argument":
                return (task.case.content_text,)
            case "arguments":
                return user_messages(task.case.content)
        return ()

    def _is_path_elsewhere(self, program: str) -> bool:
        """A path that is not beside the suite may still be in the workspace of a trial."""
        return "/" in program and not Path(self._placed(program)).is_absolute()

    def _check_started(self, result: ProcessResult, folder: Path) -> None:
        """The shell itself starts always; that the program does not exist must not look like a wrong answer."""
        program = program_of(self.options.command)
        if isinstance(self.options.command, tuple) or result.exit_code != NOT_FOUND or program is None:
            return
        if self._is_path_elsewhere(program) and not (folder / program).exists():
            wrong = not_found(program)
            raise TargetUnavailable(wrong.message, hint=wrong.hint)

    def _environment(self, workspace: Path | None = None) -> dict[str, str]:
        environment = {**self.services.environment, **self.options.env}
        if self.options.sandbox:
            environment = {**kept_variables(self.services.environment), "HOME": str(workspace), **self.options.env}
        return with_own_interpreter(environment)

    def _readable(self) -> tuple[str, ...]:
        """In a sandbox: what the command and `readable` name, and the program where it is not the system's."""
        if not self.options.sandbox:
            return ()
        named = [path for word in words_of(self.options.command) if (path := file_named(word, self.services.root))]
        program = shutil.which(program_of(self.options.command) or "", path=self._environment()["PATH"])
        listed = readable_paths(self.services.root, self.options.readable)
        return tuple(str(path.absolute()) for path in (*named, *listed, *([Path(program)] if program else [])))

    def _asks_for_input(self) -> bool:
        command = self.options.command
        return any(asks_for_input(text) for text in ((command,) if isinstance(command, str) else command))

    def _placed(self, word: str, quote: Callable[[str], str] = str) -> str:
        """Absolute, but with links as they are: `venv/bin/python` is a link, and means something only as itself."""
        path = file_named(word, self.services.root)
        return quote(str(path.absolute())) if path else word


def beside_the_input(task: Task) -> dict[str, str]:
    """What a program gets besides the question, as environment variables."""
    return {f"EVALHARNESS_{name.upper()}": as_text(value) for name, value in extra_task_fields(task).items()}


def through_gateway(task: Task) -> Mapping[str, str]:
    """The variables by which the vendors' SDKs find the gateway."""
    return {} if task.gateway is None else task.gateway.environment


def port_of(gateway: GatewaySession | None) -> int | None:
    return None if gateway is None else urlsplit(gateway.url).port


def judged_by_exit_code(graders: tuple[GraderSpec, ...]) -> bool:
    """Whether the case itself says which exit code it wants, at any depth of its graders."""
    return any(
        spec.kind == "exit_code" or judged_by_exit_code(registry.parse_options("grader", spec).parts)
        for spec in graders
    )


def transcript_of_events(stdout: str, parser: str, evidence: Transcript, problem: str) -> Transcript:
    """What a program reported before it failed is kept with its failure."""
    try:
        transcript = read_events(stdout, parser, evidence)
    except TargetFailed as failure:
        raise TargetFailed(problem or str(failure), evidence=evidence) from None
    if problem:
        raise TargetFailed(problem, evidence=transcript)
    fail_after_error(transcript)
    return transcript


def why_cut(total_bytes: int, kept_bytes: int) -> str:
    """The head and the tail of the stream are kept; calls and costs reported in between would be missing."""
    if total_bytes <= 2 * kept_bytes:
        return ""
    return f"output limit: {total_bytes} bytes of events, of which max_output_bytes keeps {kept_bytes} at each end"


def why_failed(result: ProcessResult, evidence: Transcript, task: Task) -> str:
    passed = limit_passed(result, task.timeout_s)
    if passed or result.exit_code == 0 or judged_by_exit_code(task.graders):
        return passed
    last = evidence.stderr.strip().splitlines()[-1:]
    said = f": {head(last[0], 300)}" if last else ""
    code = result.exit_code
    if code is not None and code < 0:
        return f"it was killed by {_signal_name(-code)}{said}"
    return f"exit code {code}{said}"


def _signal_name(number: int) -> str:
    known = {member.value: member.name for member in signal.Signals}
    return known.get(number, f"signal {number}")
