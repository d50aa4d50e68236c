"""The file with the server's address and token: one server at a time has it, and the token in it stays the same.

It is written in place: whoever may read it has it open or opens it, and its lock is that of the server.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from pathlib import Path

from pydantic import ValidationError

from evalharness.domain.job import ProcessMark
from evalharness.domain.server_address import ServerAddress
from evalharness.errors import HarnessError, UsageError

TOKEN_BYTES = 32
PRIVATE = 0o600
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class AddressFile:
    """While it is open, no other server can serve the same store; the kernel frees it however the process dies."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError if another server has it."""
        self.path = path
        try:
            self._descriptor = _opened(path)
        except OSError as error:
            raise HarnessError(
                f"{path} cannot be written: {error.strerror}", hint="check the folder of the store"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            known = self._read()
            os.close(self._descriptor)
            where = f" at {known.url}" if known else ""
            raise UsageError(
                f"a server is already running on this store{where}",
                hint=f"open that one (its token is in {path}), stop it, or name another store",
            ) from None
        os.fchmod(self._descriptor, PRIVATE)

    def token(self, *, is_new: bool = False) -> str:
        """That of the server before, or a new one."""
        known = None if is_new else self._read()
        if known is not None and _TOKEN.fullmatch(known.token):
            return known.token
        return secrets.token_urlsafe(TOKEN_BYTES)

    def write(self, url: str, token: str, process: ProcessMark) -> ServerAddress:
        address = ServerAddress(url=url, token=token, process=process)
        body = address.model_dump_json(indent=1).encode() + b"\n"
        os.pwrite(self._descriptor, body, 0)
        os.ftruncate(self._descriptor, len(body))
        os.fsync(self._descriptor)
        return address

    def close(self) -> None:
        os.close(self._descriptor)

    def _read(self) -> ServerAddress | None:
        try:
            return ServerAddress.model_validate_json(os.pread(self._descriptor, 65_536, 0))
        except ValidationError:
            return None


def _opened(path: Path) -> int:
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
        if path.parent.name == ".evalharness":
            (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)
