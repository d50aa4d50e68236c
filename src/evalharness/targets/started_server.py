"""A server that an `http` target starts for itself: a command that runs in the suite's folder while the target is open.

It stays in the foreground: when its first process or the harness ends, everything it started is ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evalharness import registry
from evalharness.contracts.sandbox import ProcessRequest
from evalharness.contracts.servers import Server
from evalharness.errors import TargetUnavailable
from evalharness.targets.command_words import Command, with_own_interpreter
from evalharness.values.text import head

PAUSE_S = 0.05
LONGEST_LOOK_S = 5.0
DYING_S = 0.5
KEPT_BYTES = 65_536
UNBOUNDED = 1 << 62
SHOWN = 300
PORTS = {"http": 80, "https": 443}


class StartedServer(Server):
    def __init__(self, command: Command, url: str, root: Path, environment: Mapping[str, str], longest_s: float):
        self._line = command if isinstance(command, str) else " ".join(command)
        self._address = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self._longest_s = longest_s
        self._request = ProcessRequest(
            argv=("/bin/sh", "-c", command) if isinstance(command, str) else command,
            cwd=str(root),
            env=with_own_interpreter(environment),
            keep_bytes=KEPT_BYTES,
            flood_bytes=UNBOUNDED,  # what it prints during a long run is not an answer
        )
        self._process: asyncio.Task[str] | None = None

    async def open(self) -> None:
        if await self._is_taken():
            raise TargetUnavailable(
                f"something is already listening at {self._address}, so '{self._line}' was not started",
                hint="stop it, or remove `start` from the target to test what is running there",
            )
        self._process = asyncio.create_task(_run(self._request))
        try:
            await self._ready(self._process)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.cancel()
            await asyncio.wait((process,))

    async def why_ended(self) -> str:
        """A connection breaks a moment before the process has ended."""
        if self._process is None:
            return ""
        await asyncio.wait((self._process,), timeout=DYING_S)
        if not self._process.done():
            return ""
        return f"the server '{self._line}' has ended: {self._process.result()}"

    async def _ready(self, process: asyncio.Task[str]) -> None:
        import aiohttp  # slow to import: only those who send something pay for it

        try:
            async with asyncio.timeout(self._longest_s), aiohttp.ClientSession() as session:
                while not await self._answers(session, process):
                    await asyncio.sleep(PAUSE_S)
        except TimeoutError:
            raise TargetUnavailable(
                f"the server '{self._line}' did not answer at {self._address} within {self._longest_s:g} s",
                hint="check the port, or allow more time with `start_timeout_seconds`",
            ) from None

    async def _answers(self, session: Any, process: asyncio.Task[str]) -> bool:
        """Any status will do: a server that answers 404 is ready too."""
        import aiohttp

        looking = asyncio.create_task(self._look(session))
        try:
            await asyncio.wait((looking, process), return_when=asyncio.FIRST_COMPLETED)
            if process.done():
                raise TargetUnavailable(
                    f"the server '{self._line}' ended before it answered: {process.result()}",
                    hint=f"run it by hand in {self._request.cwd}; it must stay in the foreground",
                )
            return looking.result()
        except (aiohttp.ClientError, TimeoutError):
            return False
        finally:
            looking.cancel()
            await asyncio.wait((looking,))

    async def _look(self, session: Any) -> bool:
        async with asyncio.timeout(LONGEST_LOOK_S):
            async with session.get(self._address, allow_redirects=False, ssl=False):
                return True

    async def _is_taken(self) -> bool:
        parts = urlsplit(self._address)
        try:
            async with asyncio.timeout(LONGEST_LOOK_S):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS[parts.scheme])
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True


async def _run(request: ProcessRequest) -> str:
    """Run the process until it ends or this is cancelled; return why it ended."""
    sandbox = registry.build_sandbox("none")
    try:
        async with sandbox.session(request.cwd) as session:
            result = await session.run(request)
    except TargetUnavailable as error:
        return error.message
    finally:
        await sandbox.close()
    last = result.stderr.decode(errors="replace").strip().splitlines()[-1:]
    code = result.exit_code or 0
    ended = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    return f"{ended}: {head(last[0], SHOWN)}" if last else ended
