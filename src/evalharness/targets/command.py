"""command: any program is the target. Each trial gets a workspace of its own; the whole process tree ends with it."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from evalharness import registry
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
from evalharness.targets.sandbox_options import SandboxOptions, kept_variables, readable_paths
from evalharness.targets.templates import asks_for_input, extra_task_fields, fill_shell_line, fill_template
from evalharness.values.digest import digest, digest_file
from evalharness.values.text import head

WORD = re.compile(r"(?<![\w./+${-])[\w./+-]++(?!=)")
"""A word of a shell line that may name a file: neither a variable nor a placeholder."""
SHELL_WORDS = re.compile(
    r"[.:]|alias|bg|break|builtin|case|cd|command|continue|declare|echo|eval|exec|exit|export|false|fc|fg|for|function"
    r"|getopts|hash|if|jobs|kill|let|local|popd|printf|pushd|pwd|read|readonly|return|select|set|shift|shopt|source"
    r"|test|time|times|trap|true|type|typeset|ulimit|umask|unalias|unset|until|wait|while"
)
"""Built-ins and keywords with which a line may begin, and which are no programs."""
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

    command: tuple[str, ...] | str
    input: Literal["stdin", "argument", "arguments", "none"] | None = None
    result: ResultForm = "text"
    events: EventsOption = None
    env: dict[str, str] = Field(default_factory=dict)
    max_output_bytes: Annotated[Whole, Field(ge=1024)] = 1_048_576

    @field_validator("command")
    @classmethod
    def _not_empty(cls, command: tuple[str, ...] | str) -> tuple[str, ...] | str:
        if not command or not (command if isinstance(command, str) else command[0]).strip():
            raise ValueError("is empty")
        return command

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
    options: CommandOptions

    def digest(self) -> str:
        named = (*self._words(), *self.options.readable)
        files = sorted({str(path) for word in named if (path := self._file_named(word))})
        return digest([super().digest(), [digest_file(Path(path)) for path in files]])

    async def open(self) -> None:
        if self.options.sandbox:
            readable_paths(self.services.root, self.options.readable)
            await self.services.isolated().open()
        program = self._program()
        if program is None or self._is_path_elsewhere(program):
            return
        placed = self._placed(program)
        if shutil.which(placed, path=self._environment()["PATH"]) is None:
            if Path(placed).is_absolute() and Path(placed).is_file():
                raise TargetUnavailable(f"'{program}' is not executable", hint=f"chmod +x {shlex.quote(program)}")
            if isinstance(self.options.command, tuple) or not SHELL_WORDS.fullmatch(program):
                raise _not_found(program)

    async def answer(self, task: Task) -> Transcript:
        folder = task.workspace
        reads_stdin = self.options.input_mode == "stdin" and not self._asks_for_input()
        request = ProcessRequest(
            argv=self._argv(task),
            cwd=str(folder),
            env={**self._environment(folder), **beside_the_input(task)},
            stdin=task.case.content_text.encode(errors="replace") if reads_stdin else b"",
            timeout_s=task.timeout_s,
            keep_bytes=self.options.kept_bytes,
            readable=self._readable(),
            network=self.options.network,
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
        problem = _why_failed(result, evidence, task)
        if self.options.events:
            cut = _why_cut(result.stdout_total, self.options.kept_bytes)
            return _read_events(stdout, self.options.events, evidence, problem or cut)
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

    def _program(self) -> str | None:
        """The command's first word; None where only the shell can tell what it means."""
        command = self.options.command
        if isinstance(command, str):
            first = command.split()[0]
            return first if WORD.fullmatch(first) else None
        return None if "{" in command[0] else command[0]

    def _is_path_elsewhere(self, program: str) -> bool:
        """A path that is not beside the suite may still be in the workspace of a trial."""
        return "/" in program and not Path(self._placed(program)).is_absolute()

    def _check_started(self, result: ProcessResult, folder: Path) -> None:
        """The shell itself starts always; that the program does not exist must not look like a wrong answer."""
        program = self._program()
        if isinstance(self.options.command, tuple) or result.exit_code != NOT_FOUND or program is None:
            return
        if self._is_path_elsewhere(program) and not (folder / program).exists():
            raise _not_found(program)

    def _environment(self, workspace: Path | None = None) -> dict[str, str]:
        """The interpreter that runs the harness is found last, so that `python` works in an unactivated venv."""
        environment = {**self.services.environment, **self.options.env}
        if self.options.sandbox:
            environment = {**kept_variables(self.services.environment), "HOME": str(workspace), **self.options.env}
        path = environment.get("PATH", "/usr/local/bin:/usr/bin:/bin")
        return {**environment, "PATH": f"{path}:{Path(sys.executable).parent}"}

    def _readable(self) -> tuple[str, ...]:
        """In a sandbox: what the command and `readable` name, and the program where it is not the system's."""
        if not self.options.sandbox:
            return ()
        named = [path for word in self._words() if (path := self._file_named(word))]
        program = shutil.which(self._program() or "", path=self._environment()["PATH"])
        listed = readable_paths(self.services.root, self.options.readable)
        return tuple(str(path.absolute()) for path in (*named, *listed, *([Path(program)] if program else [])))

    def _asks_for_input(self) -> bool:
        command = self.options.command
        return any(asks_for_input(text) for text in ((command,) if isinstance(command, str) else command))

    def _words(self) -> list[str]:
        command = self.options.command
        return WORD.findall(command) if isinstance(command, str) else list(command)

    def _file_named(self, word: str) -> Path | None:
        path = self.services.root / word
        try:
            return path if path.is_file() else None
        except OSError:  # a word too long to be a name
            return None

    def _placed(self, word: str, quote: Callable[[str], str] = str) -> str:
        """Absolute, but with links as they are: `venv/bin/python` is a link, and means something only as itself."""
        path = self._file_named(word)
        return quote(str(path.absolute())) if path else word


def beside_the_input(task: Task) -> dict[str, str]:
    """What a program gets besides the question, as environment variables."""
    return {f"EVALHARNESS_{name.upper()}": as_text(value) for name, value in extra_task_fields(task).items()}


def judged_by_exit_code(graders: tuple[GraderSpec, ...]) -> bool:
    """Whether the case itself says which exit code it wants, at any depth of its graders."""
    return any(
        spec.kind == "exit_code" or judged_by_exit_code(registry.parse_options("grader", spec).parts)
        for spec in graders
    )


def _not_found(program: str) -> TargetUnavailable:
    return TargetUnavailable(
        f"the program '{program}' was not found", hint="check the command's first word, or give its full path"
    )


def _read_events(stdout: str, parser: str, evidence: Transcript, problem: str) -> Transcript:
    """What a program reported before it failed is kept with its failure."""
    try:
        transcript = read_events(stdout, parser, evidence)
    except TargetFailed as failure:
        raise TargetFailed(problem or str(failure), evidence=evidence) from None
    if problem:
        raise TargetFailed(problem, evidence=transcript)
    fail_after_error(transcript)
    return transcript


def _why_cut(total_bytes: int, kept_bytes: int) -> str:
    """The head and the tail of the stream are kept; calls and costs reported in between would be missing."""
    if total_bytes <= 2 * kept_bytes:
        return ""
    return f"output limit: {total_bytes} bytes of events, of which max_output_bytes keeps {kept_bytes} at each end"


def _why_failed(result: ProcessResult, evidence: Transcript, task: Task) -> str:
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
