"""The child process that runs `local/…` models: llama.cpp's own server on loopback, with one thread.

`local.py` runs it as a program; it imports nothing from the harness. It writes the address it listens on to a file, and
ends when the process that started it ends for any reason.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

CONTEXT_TOKENS = 8192
LONGEST_REPLY_TOKENS = 1024
HTTP_THREADS = 4
WATCH_S = 0.25


def main(weights: str, alias: str, address_file: str, parent: str) -> None:
    try:
        address, _server = start(weights, alias)
    except (ImportError, OSError, RuntimeError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    whole = Path(address_file)
    part = whole.with_suffix(".part")
    part.write_text(address, encoding="utf-8")
    part.rename(whole)
    while os.getppid() == int(parent):
        time.sleep(WATCH_S)
    os._exit(0)  # a normal exit would wait for the server's threads


def start(weights: str, alias: str) -> tuple[str, Any]:
    """The address, and the server, which stops when it is garbage-collected."""
    import xllamacpp  # lazy: only this process needs it

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {alias}
    params.n_ctx = CONTEXT_TOKENS
    params.n_predict = LONGEST_REPLY_TOKENS  # if the request sets no limit: small models seldom stop by themselves
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two threads on busy cores are slower than one
    # One request at a time and no cache, so that the same request always gets the same reply.
    params.n_parallel = 1
    params.cache_prompt = False
    params.n_threads_http = HTTP_THREADS
    params.warmup = False
    params.ui = False
    params.fit_params = False
    params.verbosity = 1  # errors only
    server = xllamacpp.Server(params)
    return server.listening_address, server


if __name__ == "__main__":
    main(*sys.argv[1:])
