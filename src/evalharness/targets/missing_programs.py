"""Programs and scripts that a command names and that do not exist, found before anything is started.

Only what is certain is reported: whatever a shell, a variable, a placeholder, an option of the interpreter or a setup
could turn into something else is left to the trial.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from evalharness.errors import UnknownName, UsageError
from evalharness.targets.command_words import WORD, Command, file_named

SHELL_WORDS = re.compile(
    r"[.:]|alias|bg|break|builtin|case|cd|command|continue|declare|echo|eval|exec|exit|export|false|fc|fg|for|function"
    r"|getopts|hash|if|jobs|kill|let|local|popd|printf|pushd|pwd|read|readonly|return|select|set|shift|shopt|source"
    r"|test|time|times|trap|true|type|typeset|ulimit|umask|unalias|unset|until|wait|while"
)
"""Built-ins and keywords that a line may begin with, and that are not programs."""
INTERPRETERS = (
    (re.compile(r"(python|pypy)[\d.]*"), (".py",), re.compile(r"-[uBOsSEIqb]+")),
    (re.compile(r"node(js)?"), (".js", ".mjs", ".cjs"), None),
    (re.compile(r"(ba|da|k|z)?sh"), (".sh", ".bash", ".zsh"), re.compile(r"-[eux]+")),
    (re.compile(r"ruby[\d.]*"), (".rb",), None),
    (re.compile(r"perl[\d.]*"), (".pl",), None),
)
"""By name: the endings of its scripts, and the options before a script that do not change what is run."""


def program_of(command: Command) -> str | None:
    """The command's first word; None where only the shell can tell what it means."""
    if isinstance(command, str):
        first = command.split()[0]
        return first if WORD.fullmatch(first) else None
    return None if "{" in command[0] else command[0]


def missing_program(command: Command, root: Path, path: str, given: Collection[str] | None) -> UsageError | None:
    """The program that `path` does not have, or the script that is not there; None if all may be well.

    `root` is the suite's folder, `given` the files that lie where the command runs; None if that is not known.
    """
    program = program_of(command)
    if program is None or _has_variable(command):
        return None
    if not _is_there(program, root, path, given):
        is_shell_word = isinstance(command, str) and SHELL_WORDS.fullmatch(program)
        return None if is_shell_word else not_found(program)
    script = _script_of(command)
    if script is None or given is None or _is_file(script, root, given):
        return None
    beside = sorted(each.name for each in root.iterdir() if each.suffix == PurePosixPath(script).suffix)
    place = "" if script.startswith("/") else f" in {root.resolve()}"
    wrong = UnknownName("script", script, beside, what=f"no such script '{script}'{place}")
    wrong.hint = wrong.hint or "create it, or write its path relative to the suite's folder"
    return wrong


def not_found(program: str) -> UsageError:
    return UsageError(
        f"the program '{program}' was not found", hint="check the command's first word, or give its full path"
    )


def _is_there(program: str, root: Path, path: str, given: Collection[str] | None) -> bool:
    """A file that cannot be executed still exists: that is another problem."""
    if "/" not in program:
        return file_named(program, root) is not None or shutil.which(program, path=path) is not None
    return _is_file(program, root, given or ()) or (given is None and not program.startswith("/"))


def _is_file(written: str, root: Path, given: Collection[str]) -> bool:
    """Absolute paths are taken as they are: `root / written` is the path itself."""
    return file_named(written, root) is not None or str(PurePosixPath(written)) in given


def _script_of(command: Command) -> str | None:
    """`bot.py` of `python -u bot.py --fast`; None if the command is not an interpreter with a plain script."""
    program, *words = command.split() if isinstance(command, str) else command
    for name, endings, harmless in INTERPRETERS:
        if name.fullmatch(PurePosixPath(program).name):
            while words and harmless is not None and harmless.fullmatch(words[0]):
                del words[0]
            is_script = bool(words) and WORD.fullmatch(words[0]) is not None and words[0].endswith(endings)
            return words[0] if is_script else None
    return None


def _has_variable(command: Command) -> bool:
    return "{{" in (command if isinstance(command, str) else " ".join(command))
