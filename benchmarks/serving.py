"""How a server of the benchmarks is started and serves, in its own process; not what it answers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

BACKLOG = 4096


async def serve(application: web.Application) -> None:
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=BACKLOG).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@contextmanager
def served(module: str, *arguments: str) -> Iterator[str]:
    """Its URL, without a slash at the end."""
    with subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None, "it was requested"
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()
