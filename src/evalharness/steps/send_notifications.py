"""Send notifications: a notice of a verdict to a command or a URL. What cannot be sent is a warning, and no more.

All notices of one call together get `LIMIT_S`. Redirects are not followed: a notice reaches the address that was
written, or nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.sandbox import ProcessRequest, ProcessResult
from evalharness.domain.finding import Finding, finding
from evalharness.domain.invalid_values import explain
from evalharness.domain.notification import Notification
from evalharness.domain.suite import Suite
from evalharness.errors import HarnessError, UsageError
from evalharness.llms.faults import ProviderFault, without
from evalharness.llms.post import Response, Sender
from evalharness.reports.notices import BODIES, Notice
from evalharness.settings import NOBODY, Settings
from evalharness.steps.collect_variables import collect_variables
from evalharness.values.text import head
from evalharness.values.variables import fill, needed

LIMIT_S = 10.0
SHOWN = 200
MOST_PRINTED = 16_777_216


@dataclass(frozen=True, slots=True)
class Message:
    """One notice on its way; a command is started in `folder`."""

    to: Notification
    notice: Notice
    folder: Path


def notifications_for(suite: Suite, settings: Settings) -> tuple[Notification, ...]:
    """The suite's own, else those of the settings, which can also switch all of them off."""
    written = settings.notify
    if written == NOBODY:
        return ()
    if suite.notify is not None:
        return suite.notify
    if not written:
        return ()
    try:
        found = Notification.model_validate(written)
        return (Notification.model_validate({**found.model_dump(), "on": settings.notify_on or found.on}),)
    except ValidationError as error:
        raise UsageError(f"the notification settings are wrong: {explain(error, 'notify')}") from None


def filled(to: Notification, suite: Suite, given: Mapping[str, str], settings: Settings) -> Notification:
    """With values for its variables; raises UsageError where one has none, or the result is no address."""
    if not suite.templated or suite.notify is None:
        return to
    values = collect_variables(suite, given, settings).values
    written = to.model_dump(mode="json")
    if missing := sorted(needed(written) - set(values)):
        raise UsageError(f"no value for {', '.join(missing)}")
    try:
        return Notification.model_validate(fill(written, values))
    except ValidationError as error:
        raise UsageError(explain(error, "notify")) from None


async def send_notifications(
    messages: Sequence[Message], redact: Callable[[str], str], settings: Settings, limit_s: float = LIMIT_S
) -> list[Finding]:
    """A warning for each that did not arrive."""
    if not messages:
        return []
    sending = [asyncio.create_task(_send(each, redact, settings)) for each in messages]
    try:
        await asyncio.wait(sending, timeout=limit_s)
    finally:
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
    late = f"no reply within {limit_s:g} s"
    failed = [(each, late if task.cancelled() else task.result()) for each, task in zip(messages, sending, strict=True)]
    return [not_sent(place_of(each.to), redact(why)) for each, why in failed if why]


def not_sent(where: str, why: str) -> Finding:
    return finding("notify.not_sent", "warning", where=where, why=why)


def place_of(to: Notification) -> str:
    """Without its path, which is the secret of many a webhook; of a command, the program."""
    if to.command:
        return to.command.split()[0] if isinstance(to.command, str) else to.command[0]
    parts = urlsplit(to.url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" if host else "the address"


async def _send(message: Message, redact: Callable[[str], str], settings: Settings) -> str:
    """Why it was not sent; empty where it was."""
    body = BODIES[message.to.body](message.notice, redact)
    if message.to.command:
        return await _run(message, body, settings)
    return await _post(message.to, body, settings)


async def _post(to: Notification, body: bytes, settings: Settings) -> str:
    if await _leads_to_link_local(to.url):
        return "link-local addresses are refused"
    sender = Sender(settings.environment)
    try:
        reply = await sender.send(to.url, to.headers, body, LIMIT_S)
    finally:
        await sender.close()
    why = _fault(reply)
    path = to.url.partition("://")[2].partition("/")[2]
    return head(without((to.url, path, *to.headers.values()), why), SHOWN)


def _fault(reply: Response | ProviderFault) -> str:
    if isinstance(reply, ProviderFault):
        return reply.words
    if 200 <= reply.status < 300:
        return ""
    if 300 <= reply.status < 400:
        return f"HTTP {reply.status}: it redirects elsewhere, which is not followed"
    said = " ".join(reply.text.split())
    return f"HTTP {reply.status}{f': {said}' if said else ''}"


async def _leads_to_link_local(url: str) -> bool:
    """Where clouds serve the credentials of their machines."""
    host = urlsplit(url).hostname or ""
    addresses = {host}
    with suppress(OSError, UnicodeError):  # the request itself reports a host that nobody knows
        addresses |= {str(found[4][0]) for found in await asyncio.get_running_loop().getaddrinfo(host, None)}
    return any(map(is_link_local, addresses))


def is_link_local(address: str) -> bool:
    """Also of an IPv4 address written as IPv6 (`::ffff:…`). A name is no address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_link_local


async def _run(message: Message, body: bytes, settings: Settings) -> str:
    command = message.to.command
    request = ProcessRequest(
        argv=("/bin/sh", "-c", command) if isinstance(command, str) else command,
        cwd=str(message.folder),
        env=settings.environment,
        stdin=body,
        timeout_s=LIMIT_S,
        keep_bytes=SHOWN,
        flood_bytes=MOST_PRINTED,
    )
    sandbox = registry.build_sandbox("none")
    try:
        async with sandbox.session(request.cwd) as session:
            return _failed(await session.run(request))
    except HarnessError as error:
        return error.message
    finally:
        await sandbox.close()


def _failed(result: ProcessResult) -> str:
    if result.ended == "exited" and result.exit_code == 0:
        return ""
    said = " ".join(result.stderr.decode(errors="replace").split())
    return f"{_how_ended(result)}{f': {said}' if said else ''}"


def _how_ended(result: ProcessResult) -> str:
    if result.ended == "exited":
        return f"exit code {result.exit_code}"
    return "it printed too much" if result.ended == "flood" else f"it did not end within {LIMIT_S:g} s"
