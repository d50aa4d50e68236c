"""The suites that come with the harness: one task suite per category, found by name."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "ready_made"
PREFIX = "ready/"


def ready_made_suites() -> dict[str, Path]:
    """Name → file: `code_generation.json` holds `ready/code-generation`."""
    return {PREFIX + path.stem.replace("_", "-"): path for path in sorted(FOLDER.glob("*.json"))}


def is_ready_made(path: Path) -> bool:
    return path.parent == FOLDER
