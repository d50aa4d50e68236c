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

from pydantic import Field, field_validator

from evalharness.contracts import Task
from evalharness.domain.digest import digest, digest_file
from evalharness.domain.options import Options
from evalharness.domain.process import ProcessRequest, ProcessResult
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import TargetFailed, TargetUnavailable
from evalharness.targets.part import ResultForm, TargetPart, read_result
from evalharness.targets.templates import fill_template
from evalharness.targets.workspaces import changed_files, snapshot

PLAIN_WORD = re.compile(r"[\w./+-]+")


class CommandOptions(Options):
    """`command` is an argument list, or one line for the shell.

    The question comes on stdin, unless `input` says otherwise or `{input}` stands in the command. A word that names a
    file beside the suite stands for that file, wherever the trial's workspace is.
    """

    main: ClassVar[str] = "command"

    command: tuple[str, ...] | str
    input: Literal["stdin", "argument", "none"] = "stdin"
    result: ResultForm = "text"
    env: dict[str, str] = Field(default_factory=dict)
    max_output_bytes: Annotated[int, Field(ge=1024)] = 1_048_576

    @field_validator("command")
    @classmethod
    def _not_empty(cls, command: tuple[str, ...] | str) -> tuple[str, ...] | str:
        if not command or (isinstance(command, str) and not command.strip()):
            raise ValueError("is empty")
        return command


class CommandTarget(TargetPart):
    Options: ClassVar[type[Options]] = CommandOptions
    keeps_time_limit = True
    options: CommandOptions

    def digest(self) -> str:
        files = sorted({str(path) for word in self._words() if (path := self._file_named(word))})
        return digest([super().digest(), [digest_file(Path(path)) for path in files]])

    async def open(self) -> None:
        command = self.options.command
        if isinstance(command, str):
            return
        program = self._placed(command[0])
        if shutil.which(program, path=self._environment()["PATH"]) is None:
            raise TargetUnavailable(
                f"the program '{command[0]}' was not found",
                hint="check the command's first word, or give its full path",
            )

    async def answer(self, task: Task) -> Transcript:
        folder = task.workspace
        before = snapshot(folder)
        result = await self.services.sandbox.run(
            ProcessRequest(
                argv=self._argv(task),
                cwd=str(folder),
                env=self._environment(),
                stdin=b"" if self._input_in_command() else task.case.content_text.encode(),
                timeout_s=task.timeout_s,
                keep_bytes=self.options.max_output_bytes,
            )
        )
        stdout = result.stdout.decode(errors="replace")
        evidence = Transcript(
            output=stdout,
            stdout="" if self.options.result == "text" else stdout,
            stderr=result.stderr.decode(errors="replace"),
            exit_code=result.exit_code,
            truncated=result.truncated,
            files=changed_files(folder, before),
        )
        problem = _why_failed(result, evidence, task)
        if problem:
            raise TargetFailed(problem, evidence=evidence)
        return read_result(stdout, self.options.result, evidence)

    def _argv(self, task: Task) -> tuple[str, ...]:
        command = self.options.command
        if isinstance(command, str):
            line = PLAIN_WORD.sub(lambda found: self._placed(found[0], shlex.quote), command)
            line = fill_template(line, task, quote=shlex.quote)
            return ("/bin/sh", "-c", f"{line} {shlex.quote(task.case.content_text)}" if self._appended() else line)
        words = [fill_template(self._placed(word), task) for word in command]
        return (*words, task.case.content_text) if self._appended() else tuple(words)

    def _appended(self) -> bool:
        return self.options.input == "argument" and "{input" not in str(self.options.command)

    def _input_in_command(self) -> bool:
        return self.options.input != "stdin" or "{input" in str(self.options.command)

    def _environment(self) -> dict[str, str]:
        """The interpreter that runs the harness is found last, so that `python` works in an unactivated venv."""
        environment = {**self.services.environment, **self.options.env}
        path = environment.get("PATH", "/usr/local/bin:/usr/bin:/bin")
        return {**environment, "PATH": f"{path}:{Path(sys.executable).parent}"}

    def _words(self) -> list[str]:
        command = self.options.command
        return PLAIN_WORD.findall(command) if isinstance(command, str) else list(command)

    def _file_named(self, word: str) -> Path | None:
        path = self.services.root / word
        return path if PLAIN_WORD.fullmatch(word) and path.is_file() else None

    def _placed(self, word: str, quote: Callable[[str], str] = str) -> str:
        path = self._file_named(word)
        return quote(str(path.resolve())) if path else word


def judged_by_exit_code(graders: tuple[GraderSpec, ...]) -> bool:
    """Whether the case itself says which exit code it wants, at any depth of its graders."""
    return any(spec.kind == "exit_code" or "exit_code" in str(spec.options) for spec in graders)


def _why_failed(result: ProcessResult, evidence: Transcript, task: Task) -> str:
    if result.ended == "timeout":
        return f"time limit: no answer within {task.timeout_s:g} s"
    if result.ended == "flood":
        total = max(result.stdout_total, result.stderr_total)
        return f"output limit: it wrote more than {total // 1_048_576} MiB and was killed"
    if result.exit_code == 0 or judged_by_exit_code(task.graders):
        return ""
    last = evidence.stderr.strip().splitlines()[-1:]
    said = f": {last[0][:300]}" if last else ""
    code = result.exit_code
    if code is not None and code < 0:
        return f"it was killed by {signal.Signals(-code).name}{said}"
    return f"exit code {code}{said}"
