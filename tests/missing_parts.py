"""What a test does if this machine lacks something it needs: it is skipped on a desktop, and fails if `CI=true`."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(part: str, remedy: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{part} is missing: {remedy}")
    pytest.skip(f"needs {part}: {remedy}")
