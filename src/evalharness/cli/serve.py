"""`eval-harness serve`. The server is imported only here, and only when it is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, option, store_option
from evalharness.cli.numbers import Integer


@click.command("serve", cls=Command)
@option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to listen on.")
@option("--port", type=Integer(0, 65535), default=8765, show_default=True, metavar="N", help="The port to listen on.")
@option("--suites", metavar="DIR", help="The folder whose suites may be run.  [default: the current folder]")
@option("--jobs", type=Integer(1), default=2, show_default=True, metavar="N", help="Runs at the same time.")
@store_option
@debug_option
def command(**flags: Any) -> int:
    """Serve the REST API and the pages."""
    import secrets

    from evalharness.harness import Harness, named_store
    from evalharness.server.context import ServerContext, ServerOptions
    from evalharness.server.job_runner import JobRunner
    from evalharness.server.serving import Serving, bind

    store = named_store(flags["store"])
    bound = bind(flags["host"], flags["port"])
    port = bound.getsockname()[1]
    suites = Path(flags["suites"]) if flags["suites"] else None
    options = ServerOptions(store, flags["host"], port, suites, jobs=flags["jobs"])
    token = secrets.token_urlsafe(32)
    with Harness.open(store) as harness:
        context = ServerContext(harness, options, token, JobRunner(harness, store, options.jobs))
        print(f"http://{options.host}:{port}/?token={token}", flush=True)
        Serving(context, bound).serve_to_end()
    return 0
