"""The goldens run the command like the functional tests, with their modules, and have the same requirements."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from missing_parts import missing

sys.path.append(str(Path(__file__).parents[1] / "functional"))


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        missing("bubblewrap", "scripts/debian-packages bubblewrap")
