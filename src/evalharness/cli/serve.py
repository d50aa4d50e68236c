"""`eval-harness serve`. The server is imported only here, and only when it is started."""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from evalharness.cli.command import Command
from evalharness.cli.flags import debug_option, option, store_option
from evalharness.cli.numbers import Integer
from evalharness.domain.plain_numbers import count
from evalharness.errors import UsageError

SERVER = "Server"
_NAME = re.compile(r"\w[\w.@+-]*")
_HOST = re.compile(r"(?i)[a-z0-9]([a-z0-9._-]*[a-z0-9])?(:\d{1,5})?|\[[0-9a-f:.]+\](:\d{1,5})?")
_ROOT_PATH = re.compile(r"(/[\w.~-]+)+")


def _targets(_context: click.Context, _option: click.Parameter, written: tuple[str, ...]) -> dict[str, str]:
    targets: dict[str, str] = {}
    for each in written:
        name, equals, spec = each.partition("=")
        if not (equals and spec.strip() and _NAME.fullmatch(name)):
            raise click.BadParameter(f"write NAME=TARGET, not {each!r:.80}")
        if name in targets:
            raise click.BadParameter(f"'{name}' is given twice")
        targets[name] = spec
    return targets


def _root_path(_context: click.Context, _option: click.Parameter, written: str) -> str:
    if written in ("", "/"):
        return ""
    if not _ROOT_PATH.fullmatch(written):
        raise click.BadParameter(f"write a path such as /evals, not {written!r:.80}")
    return written


def _hosts(_context: click.Context, _option: click.Parameter, written: tuple[str, ...]) -> tuple[str, ...]:
    for each in written:
        if not _HOST.fullmatch(each):
            raise click.BadParameter(f"write a host such as evals.example.com:8443, not {each!r:.80}")
    return written


@click.command("serve", cls=Command)
@option("--host", default="127.0.0.1", show_default=True, metavar="HOST", help="The address to listen on.")
@option(
    "--port", type=Integer(0, 65535), default=8765, show_default=True, metavar="N", help="The port; 0 for a free one."
)
@option(
    "--suites",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="The folder whose suites can be run.  [default: the current folder]",
)
@option(
    "--allow-target",
    "targets",
    multiple=True,
    callback=_targets,
    metavar="NAME=TARGET",
    help="A target that suites posted to the API may use, by this name. Repeatable.",
)
@option("--jobs", type=Integer(1, 64), default=2, show_default=True, metavar="N", help="Runs at the same time.")
@option("--open", "opens", is_flag=True, help="Open the home page in the browser.")
@option("--new-token", is_flag=True, help="Make a new token; the one before is no longer valid.")
@option("--allow-remote", is_flag=True, help="Allow a --host that other machines can reach.")
@option(
    "--trusted-host",
    "trusted_hosts",
    multiple=True,
    callback=_hosts,
    metavar="HOST",
    help="A name under which a proxy forwards requests to this server. Repeatable.",
)
@option("--root-path", default="", callback=_root_path, metavar="PATH", help="The path under which a proxy serves it.")
@store_option
@debug_option
def command(**flags: Any) -> int:
    """Serve the REST API and the pages for a browser, on this machine.

    Every request needs the server's token; the address that is printed carries it. Runs are processes of their own:
    they go on when the server stops, and the next one watches them again.
    """
    from evalharness.actions.find_server import identify_process
    from evalharness.actions.post_suite import check_targets
    from evalharness.cli.process import collecting_less, stopped_by_signals
    from evalharness.domain.server_address import address_file
    from evalharness.harness import MEMORY, Harness, named_store
    from evalharness.server.address import AddressFile
    from evalharness.server.context import ServerContext, ServerOptions
    from evalharness.server.job_runner import JobRunner
    from evalharness.server.serving import Serving
    from evalharness.settings import find_project_folder

    store = named_store(flags["store"])
    if store == MEMORY:
        raise UsageError(
            "a server needs a store in a file, because its runs are separate processes", hint="leave --store out"
        )
    _check_host(flags["host"], allows_remote=flags["allow_remote"])
    with ExitStack() as opened:
        harness = opened.enter_context(Harness.open(store))
        harness.call(check_targets, flags["targets"])
        file = AddressFile(address_file(store, find_project_folder(Path.cwd())))
        opened.callback(file.close)
        bound = opened.enter_context(_bound(flags["host"], flags["port"]))
        suites = Path(flags["suites"]).absolute() if flags["suites"] else Path.cwd()
        options = ServerOptions(
            store=store,
            host=flags["host"],
            port=bound.getsockname()[1],
            suites=suites,
            targets=flags["targets"],
            jobs=flags["jobs"],
            root_path=flags["root_path"],
            trusted_hosts=flags["trusted_hosts"],
        )
        jobs = JobRunner(harness, store, file.path.parent, options.jobs)
        token = file.token(is_new=flags["new_token"])
        context = ServerContext(harness, options, token, jobs)
        serving = Serving(context, bound)
        address = file.write(options.url, token, harness.call(identify_process))
        jobs.begin()
        try:
            with stopped_by_signals(serving.stop), collecting_less():
                _announce(options, address.page(token=token))
                if flags["opens"]:
                    from evalharness.cli.browser import open_page_meanwhile

                    open_page_meanwhile(address.page(token=context.tickets.issue()))
                serving.serve_to_end()
        finally:
            _say_goodbye(jobs.end())
    return 0


def _check_host(host: str, *, allows_remote: bool) -> None:
    if allows_remote or host == "localhost":
        return
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        raise UsageError(
            f"on {host}, other machines can reach this server, and whoever has its token can run code here",
            hint="put a proxy with TLS before it and add --allow-remote, or leave --host out",
        )


def _bound(host: str, port: int) -> socket.socket:
    from evalharness.server.serving import bind

    try:
        return bind(host, port)
    except socket.gaierror:
        raise UsageError(f"--host: {host} is not an address of this machine", hint="write 127.0.0.1 or ::1") from None
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot listen on port {port} of {host}: {why.lower()}",
            hint=f"stop the program that uses it, or choose another port: --port {port % 65535 + 1}; --port 0 takes a "
            "free one",
        ) from error


def _announce(options: Any, address: str) -> None:
    """Printed as it is: an address that is cut or wrapped cannot be opened."""
    for line in (
        f"open    {address}",
        f"store   {options.store}",
        f"suites  {options.suites}",
        *(f"target  {name} = {spec}" for name, spec in options.targets.items()),
        f"stop    Ctrl-C; runs that are under way go on ({count(options.jobs, 'run')} at the same time)",
    ):
        print(line, flush=True)


def _say_goodbye(under_way: int) -> None:
    if under_way:
        runs = f"{count(under_way, 'run')} {'goes' if under_way == 1 else 'go'} on"
        print(f"\nstopped; {runs} in the background, and the next `eval-harness serve` shows how")
    else:
        print("\nstopped")
