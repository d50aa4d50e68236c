"""Init a project: a suite and what it needs, copied from a template. Nothing is overwritten."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.errors import UnknownName, UsageError

TEMPLATES = Path(__file__).parents[1] / "templates"
DEFAULT_TEMPLATE = "function"


@dataclass(frozen=True, slots=True)
class InitResult:
    folder: Path
    written: tuple[str, ...]
    kept: tuple[str, ...]


async def init_project(context: Context, folder: Path, template: str = DEFAULT_TEMPLATE) -> InitResult:
    """Write what is missing; `x` mode makes sure that a file that appears meanwhile is kept as well."""
    known = sorted(each.name for each in TEMPLATES.iterdir() if each.is_dir())
    if template not in known:
        raise UnknownName("template", template, known)
    written, kept = [], []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(path for path in (TEMPLATES / template).iterdir() if path.is_file()):
            try:
                with (folder / source.name).open("x", encoding="utf-8") as file:
                    file.write(source.read_text(encoding="utf-8"))
                written.append(source.name)
            except FileExistsError:
                kept.append(source.name)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}") from None
    return InitResult(folder, tuple(written), tuple(kept))
