"""The goldens drive the command as the functional tests do, with their modules, and need the same of a machine."""

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
