"""The way out: one port of this machine that a sandbox without a network reaches, at the same port of its own loopback.

A helper enters the sandbox's network, listens there, and hands the socket over. What connects to it is connected to the
port outside; nothing else leaves. Where no network can be entered in time, a socket in a folder is the way.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path

from evalharness.contracts.sandbox import ProcessRequest
from evalharness.errors import SandboxUnavailable
from evalharness.runners import listen_inside
from evalharness.sandboxes.none import NoSandbox

HOST = "127.0.0.1"
ENTER_S = 30.0
CHUNK = 65_536
NSENTER = "/usr/bin/nsenter"


class WayOut:
    def __init__(self, port: int) -> None:
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self, pid: int, processes: NoSandbox) -> None:
        """`pid` is that of the first process inside, which must not have started its program yet."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            whose = () if os.geteuid() == 0 else (f"--user=/proc/{pid}/ns/user", "--preserve-credentials")
            helper = (sys.executable, "-I", "-S", listen_inside.__file__, str(self._port), str(theirs.fileno()))
            argv = (NSENTER, f"--net=/proc/{pid}/ns/net", *whose, "--", *helper)
            request = ProcessRequest(argv, "/", {"LANG": "C.UTF-8"}, timeout_s=ENTER_S)
            done = await processes.run(request, pass_fds=[theirs.fileno()])
            if done.exit_code != 0:
                said = done.stderr.decode(errors="replace").strip() or done.ended
                is_refused = any(words in done.stderr.lower() for words in (b"permission denied", b"not permitted"))
                why = f"only root may enter its network ({said})" if is_refused and os.geteuid() != 0 else said
                raise SandboxUnavailable(f"the sandbox cannot be connected to the gateway: {why}")
            _, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
        self._server = await asyncio.start_server(self._serve, sock=socket.socket(fileno=descriptors[0]))

    async def listen(self, place: Path) -> None:
        """At a socket in a folder that the sandbox sees."""
        self._server = await asyncio.start_unix_server(self._serve, place)
        place.chmod(0o666)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "started by the server"
        self._connections.add(task)
        try:
            there, back = await asyncio.open_connection(HOST, self._port)
            try:
                await asyncio.gather(_pass(reader, back), _pass(there, writer))
            finally:
                back.close()
        except OSError:
            pass  # either side is gone: so is the connection
        finally:
            writer.close()
            self._connections.discard(task)


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while chunk := await source.read(CHUNK):
        sink.write(chunk)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()
