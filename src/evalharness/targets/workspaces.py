"""What a program changed in its workspace: a picture before, a comparison after, texts capped."""

from __future__ import annotations

from pathlib import Path

from evalharness.domain.digest import digest_file

MAX_FILES = 200
MAX_BYTES = 100_000


def snapshot(folder: Path) -> dict[str, str]:
    """Relative path → content digest of every file there is; links are not followed."""
    return {str(path.relative_to(folder)): digest_file(path) for path in _files(folder)}


def changed_files(folder: Path, before: dict[str, str]) -> dict[str, str]:
    """Relative path → text of the files that are new or differ; at most MAX_FILES, each cut at MAX_BYTES."""
    changed: dict[str, str] = {}
    for path in _files(folder):
        name = str(path.relative_to(folder))
        if len(changed) == MAX_FILES:
            changed["…"] = f"more than {MAX_FILES} files changed; the rest is not kept"
            break
        if before.get(name) != digest_file(path):
            changed[name] = _text(path)
    return changed


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _text(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(MAX_BYTES)
    if b"\0" in head:
        return f"[binary file of {size} bytes]"
    cut = f"\n[… {size - MAX_BYTES} bytes cut …]" if size > MAX_BYTES else ""
    return head.decode(errors="replace") + cut
