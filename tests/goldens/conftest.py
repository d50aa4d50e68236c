"""The goldens drive the command as the functional tests do, with their modules."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "functional"))
