"""Find the server that is running on a store; and what identifies this process, for the server that starts."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from evalharness.contracts.context import Context
from evalharness.domain.job import ProcessMark
from evalharness.domain.server_address import ServerAddress, address_file
from evalharness.sandboxes.detached import is_alive, mark_of
from evalharness.settings import find_project_folder


async def find_server(context: Context, store: str) -> ServerAddress | None:
    """`store` as `harness.named_store` writes it. None if no server is running, or if its file cannot be read."""
    try:
        address = ServerAddress.model_validate_json(address_file(store, find_project_folder(Path.cwd())).read_bytes())
    except (OSError, ValidationError):
        return None
    return address if is_alive(address.process) else None


async def identify_process(context: Context) -> ProcessMark:
    return mark_of(os.getpid())
