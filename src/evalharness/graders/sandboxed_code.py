"""Generated code on its way into the sandbox: taken out of an answer, handed to a runner, and the runner's replies.

The programs that run it are in `runners/`; nothing of an answer is ever run, or even parsed, in this process. Lines
that come out of a sandbox must have the right shape, or else none is believed.
"""

from __future__ import annotations

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
from evalharness.contracts.sandbox import Ended, ProcessRequest, ProcessResult
from evalharness.contracts.services import Services
from evalharness.errors import TargetUnavailable, Unscored
from evalharness.values.text import shown, tail
from evalharness.workspaces import remove_folder

RUNNERS = Path(evalharness.runners.__file__).parent
LANGUAGES = {
    "python": ("python", "py", "python3"),
    "node": ("javascript", "js", "node", "mjs", "cjs"),
    "bash": ("bash", "sh", "shell"),
}
DEFINITIONS = {
    "python": r"^[ \t]*(async[ \t]+)?(def|class)[ \t]+{name}\b|^{name}[ \t]*(:[^=\n]+)?=(?!=)",
    "node": r"\bfunction\b[ \t*]*{name}\b|\b(const|let|var|class)[ \t]+{name}\b|\bexports\.{name}\b",
    "bash": r"^[ \t]*(function[ \t]+{name}\b|{name}[ \t]*\(\))",
}
PATH = "/usr/local/bin:/usr/bin:/bin"
READY = b'{"ready": true}'
KEEP_BYTES = 33_554_432
"""More than a runner ever says: its replies are never cut."""
MOST_CODE = 1_000_000
TOO_LONG = f"the answer is longer than {MOST_CODE:,} characters, too long to be run as code"
DISTURBED = "the code interfered with its runner: the sandbox returned something other than a result"
LONGEST_ERROR = 600
START_S = 10.0
"""What the start of a sandbox and of its runner may take on a busy machine."""
_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^`\n]*+")
_DEFINED = re.compile(r"^(async def|def|class|import|from)\b|^\w+[ \t]*+=", re.MULTILINE)
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Replies:
    """What a runner said, and how its process ended. Nothing is `said` where a line was not a runner's."""

    said: tuple[dict[str, Any], ...]
    ended: Ended
    is_disturbed: bool = False

    def why_no_more(self, limit_s: float) -> str:
        """Why it said nothing more."""
        return DISTURBED if self.is_disturbed else why_ended(self.ended, limit_s)


def code_in(text: str, language: str, name: str | None = None) -> str:
    """The code of an answer: what its fences of this language hold, else its first fence, else all of it.

    Of several fences of the language the last one that defines `name` counts, else all together. Python whose first
    fence is in one of its docstrings is taken as it stands.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    fences = list(_fences(text))
    if language == "python" and fences and _is_in_docstring(text, fences[0][2]):
        return text
    own = [code for tag, code, _ in fences if tag in LANGUAGES[language]]
    if not own:
        return fences[0][1] if fences else text
    if name:
        definition = re.compile(DEFINITIONS[language].format(name=re.escape(name)), re.MULTILINE)
        own = [code for code in own if definition.search(code)][-1:] or own
    return "\n".join(own)


def _is_in_docstring(text: str, line: int) -> bool:
    """Whether this line of the text is inside of three quotes, after a definition. By the text alone: a parser needs a
    thousand times the memory of what it reads, and nobody knows what that is."""
    before = "\n".join(text.split("\n", line)[:line])
    return any(before.count(quotes) % 2 for quotes in ('"""', "'''")) and _DEFINED.search(before) is not None


def _fences(text: str) -> Iterable[tuple[str, str, int]]:
    """Each fenced block of Markdown: its language in lower case, its content and the number of the line it begins with.

    One that is not closed ends last.
    """
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    number = 0
    for line in lines:
        number += 1
        opening = _FENCE.fullmatch(line)
        if opening is None:
            continue
        indent, fence, language = opening.groups()
        content = []
        began = number - 1
        for inner in lines:
            number += 1
            mark = inner.strip()
            if mark.startswith(fence) and not mark.strip(fence[0]):
                break
            content.append(inner.removeprefix(indent))
        yield language.lower(), "\n".join(content).removeprefix(_BYTE_ORDER_MARK) + "\n", began


async def ask_runner(
    services: Services, program: ModuleType, questions: Sequence[Any], *, timeout_s: float, readable: Sequence[str] = ()
) -> Replies:
    """Run one program of `runners/` in a sandbox of its own; raises Unscored where the sandbox is at fault.

    A runner says that it is ready before it starts any code: after that whatever goes wrong is the code's fault.
    """
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="evalharness-code-")).resolve()
    request = ProcessRequest(
        argv=(_python(), "-s", "-S", "-P", "-c", f"from {program.__name__} import main; main()"),
        cwd=str(folder),
        env=_environment(),
        stdin=b"".join(map(_frame, questions)),
        timeout_s=timeout_s,
        keep_bytes=KEEP_BYTES,
        readable=tuple(dict.fromkeys((*_python_folders(), *readable))),
        is_first=True,
    )
    try:
        async with services.isolated().session(str(folder)) as session:
            result = await session.run(request)
    except TargetUnavailable as error:
        raise Unscored(f"{error.message}; {error.plain_hint}" if error.plain_hint else error.message) from error
    finally:
        await asyncio.to_thread(remove_folder, folder)
    first, _, rest = result.stdout.partition(b"\n")
    if first != READY:
        raise Unscored(f"the sandbox did not start: {_why(result)}")
    said = None if result.truncated else _said(rest, is_whole=result.ended == "exited")
    if said is None and result.ended in ("exited", "flood"):
        return Replies((), result.ended, is_disturbed=True)
    return Replies(said or (), result.ended)


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
    """An error as the code reported it, short enough for a reason."""
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
        "OPENBLAS_NUM_THREADS": "1",  # else numpy starts a thread for each processor of the machine, up to the limit
        "OMP_NUM_THREADS": "1",
    }


def _python() -> str:
    """The interpreter itself, not the link to it in a virtual environment."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix, "bin", version)
    return str(base if base.exists() else Path(sys.executable).resolve())


def _python_folders() -> list[str]:
    wanted = (sys.base_prefix, sys.base_exec_prefix, str(RUNNERS), *site_packages())
    return [folder for folder in wanted if not Path(folder).is_relative_to("/usr")]


def _said(lines: bytes, *, is_whole: bool) -> tuple[dict[str, Any], ...] | None:
    """Every whole line; None where one is no mapping. A runner may be killed in the middle of its last one."""
    *whole, rest = lines.split(b"\n")
    if rest and is_whole:
        return None
    found = []
    for line in whole:
        try:
            said = json.loads(line)
        except (ValueError, RecursionError, MemoryError):
            return None
        if not isinstance(said, dict):
            return None
        found.append(said)
    return tuple(found)


def _why(result: ProcessResult) -> str:
    said = tail(result.stderr.decode(errors="replace").strip(), 500)
    return said or (f"exit code {result.exit_code}" if result.ended == "exited" else f"its {result.ended} ran out")
