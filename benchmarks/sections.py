"""`last.md`: one section for each group of benchmarks, replaced when the whole group was measured again."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.table import machine

TITLE = "# Last measured\n"
HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)


def keep(path: Path, name: str, body: str) -> None:
    """Other sections are not changed."""
    sections = read(path)
    sections[name] = f"\n{machine()}\n\n{body.strip()}\n\n"
    text = TITLE + "".join(f"\n## {heading}\n{section.rstrip()}\n" for heading, section in sections.items())
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> dict[str, str]:
    _, *parts = HEADING.split(path.read_text(encoding="utf-8")) if path.exists() else [""]
    return dict(zip(parts[::2], parts[1::2], strict=True))
