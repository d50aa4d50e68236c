"""Generated code on its way into the sandbox: taken out of an answer, handed to a runner, and the runner's replies.

The programs that run it are in `runners/`; nothing of an answer is ever run, or even parsed, in this process.
"""

from __future__ import annotations

import ast
import asyncio
import json
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import evalharness.runners
from evalharness.contracts import Services
from evalharness.domain.process import Ended, ProcessRequest, ProcessResult
from evalharness.domain.text import tail
from evalharness.errors import TargetUnavailable, Unscored
from evalharness.graders.part import shown
from evalharness.workspaces import remove_folder

RUNNERS = Path(evalharness.runners.__file__).parent
LANGUAGES = {
    "python": ("python", "py", "python3"),
    "node": ("javascript", "js", "node", "mjs", "cjs"),
    "bash": ("bash", "sh", "shell"),
}
DEFINITIONS = {
    "python": r"^[ \t]*(async[ \t]+)?def[ \t]+{name}\b|^{name}[ \t]*(:[^=\n]+)?=(?!=)",
    "node": r"\bfunction\b[ \t*]*{name}\b|\b(const|let|var|class)[ \t]+{name}\b|\bexports\.{name}\b",
    "bash": r"^[ \t]*(function[ \t]+{name}\b|{name}[ \t]*\(\))",
}
PATH = "/usr/local/bin:/usr/bin:/bin"
KEEP_BYTES = 33_554_432
"""More than a runner ever says: its replies are never cut."""
LONGEST_ERROR = 600
START_S = 10.0
"""What the start of a sandbox and of its runner may take on a busy machine."""
DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign)
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^`\n]*")


@dataclass(frozen=True, slots=True)
class Replies:
    """What a runner said, and how its process ended."""

    said: tuple[dict[str, Any], ...]
    ended: Ended


def code_in(text: str, language: str, name: str | None = None) -> str:
    """The code of an answer: what its fences of this language hold, else its first fence, else all of it.

    Of several fences of the language the last one that defines `name` counts, else all together. An answer that is
    Python as it stands is taken as it stands: its fences are in its docstrings.
    """
    if language == "python" and _is_python(text):
        return text
    fences = list(_fences(text))
    own = [code for tag, code in fences if tag in LANGUAGES[language]]
    if not own:
        return fences[0][1] if fences else text
    if name:
        definition = re.compile(DEFINITIONS[language].format(name=re.escape(name)), re.MULTILINE)
        own = [code for code in own if definition.search(code)][-1:] or own
    return "\n".join(own)


def _is_python(text: str) -> bool:
    """Never so for prose; a program of nothing but names and texts (`Paris`) is none."""
    try:
        return any(isinstance(node, DEFINING) for node in ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _fences(text: str) -> Iterable[tuple[str, str]]:
    """Each fenced block of Markdown: its language in lower case and its content. One that is not closed ends last."""
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for line in lines:
        opening = _FENCE.fullmatch(line)
        if opening is None:
            continue
        indent, fence, language = opening.groups()
        content = []
        for inner in lines:
            mark = inner.strip()
            if mark.startswith(fence) and not mark.strip(fence[0]):
                break
            content.append(inner.removeprefix(indent))
        yield language.lower(), "\n".join(content) + "\n"


async def ask_runner(
    services: Services, program: ModuleType, questions: Sequence[Any], *, timeout_s: float, readable: Sequence[str] = ()
) -> Replies:
    """Run one program of `runners/` in a sandbox of its own; raises Unscored where the sandbox is at fault."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="evalharness-code-")).resolve()
    request = ProcessRequest(
        argv=(_python(), "-s", "-S", "-P", "-c", f"from {program.__name__} import main; main()"),
        cwd=str(folder),
        env=_environment(),
        stdin=b"".join(map(_frame, questions)),
        timeout_s=timeout_s,
        keep_bytes=KEEP_BYTES,
        readable=tuple(dict.fromkeys((*_python_folders(), *readable))),
    )
    try:
        result = await services.isolated().run(request)
    except TargetUnavailable as error:
        raise Unscored(f"{error.message}; {error.hint}" if error.hint else error.message) from error
    finally:
        await asyncio.to_thread(remove_folder, folder)
    said = _lines(result.stdout)
    if not said or "ready" not in said[0]:
        raise Unscored(f"the sandbox did not start: {_why(result)}")
    return Replies(said[1:], result.ended)


def site_packages() -> list[str]:
    """Packages that the harness's own Python has are there for generated code, too."""
    folders = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    return [folder for folder in folders if Path(folder).is_dir()]


def find_program(name: str, services: Services) -> str:
    """An interpreter by its full path; raises Unscored where it is not installed."""
    found = shutil.which(name, path=f"{PATH}:{services.environment.get('PATH', '')}")
    if found is None:
        raise Unscored(f"{name} is not installed")
    return str(Path(found).resolve())


def why_ended(ended: Ended, limit_s: float = 0.0) -> str:
    """Why a runner said nothing more."""
    reasons = {
        "timeout": f"time limit: everything together took more than {limit_s:g} s",
        "memory": "memory limit: the code used up the memory of its sandbox",
        "processes": "process limit: the code started too many processes",
        "disk": "disk limit: the code wrote too much",
        "flood": "output limit: the code printed too much",
    }
    return reasons.get(ended, "the code ended the process that ran it")


def on_one_line(text: str) -> str:
    """An error as the code told it, fit for a reason."""
    return shown(text, LONGEST_ERROR)[1:-1]


def _frame(question: Any) -> bytes:
    text = json.dumps(question).encode()
    if len(text) > 99_999_999:
        raise Unscored("the code and its test cases are larger than 100 MB")
    return b"%08d%b" % (len(text), text)


def _environment() -> dict[str, str]:
    """Hashes are fixed, so that the order of a set does not change between trials."""
    home = str(RUNNERS.parents[1])
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "PYTHONPATH": home,
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _python() -> str:
    """The interpreter itself, not the link to it in a virtual environment."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix, "bin", version)
    return str(base if base.exists() else Path(sys.executable).resolve())


def _python_folders() -> list[str]:
    wanted = (sys.base_prefix, sys.base_exec_prefix, str(RUNNERS), *site_packages())
    return [folder for folder in wanted if not Path(folder).is_relative_to("/usr")]


def _lines(stdout: bytes) -> tuple[dict[str, Any], ...]:
    """Every whole line; where the runner was killed in the middle of one, the rest is not heard."""
    found = []
    for line in stdout.split(b"\n")[:-1]:
        try:
            said = json.loads(line)
        except ValueError:
            break
        found.append(said)
    return tuple(found)


def _why(result: ProcessResult) -> str:
    said = tail(result.stderr.decode(errors="replace").strip(), 500)
    return said or (f"exit code {result.exit_code}" if result.ended == "exited" else f"its {result.ended} ran out")
