"""Notification: who gets a verdict, how, and when. The keys are those of `notify:` in a suite file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from evalharness.domain.record import Record
from evalharness.values.variables import has_braces

BROKEN_OFF = 130
UNDECIDED = 4
On: TypeAlias = Literal["failure", "success", "always"]


class Notification(Record):
    """A command that gets the message on standard input, or a URL that it is posted to."""

    url: str = ""
    command: str | tuple[str, ...] = ""
    body: Literal["generic", "slack"] = "generic"
    headers: dict[str, str] = Field(default_factory=dict)
    on: On = "failure"

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        """`https://…`, `slack:https://…`, `cmd:./notify.sh`."""
        if isinstance(written, str):
            return notification_text(written)
        if not isinstance(written, Mapping | Notification):
            raise ValueError("must be a URL, cmd:COMMAND or a mapping with url or command")
        return written

    @model_validator(mode="after")
    def _one_way(self) -> Notification:
        if bool(self.url) == bool(self.command):
            raise ValueError("needs either url or command" if not self.url else "has both url and command; keep one")
        if self.url and not self.url.startswith(("http://", "https://")) and not has_braces(self.url):
            raise ValueError("must start with http:// or https://, or with cmd: for a command")
        if self.headers and self.command:
            raise ValueError("headers need a url; a command has none")
        return self

    def is_due(self, exit_code: int) -> bool:
        """An interrupted run has no verdict yet: nobody is notified before it is resumed."""
        if exit_code == BROKEN_OFF:
            return False
        return self.on == "always" or self.on == outcome_of(exit_code)


def outcome_of(exit_code: int) -> Literal["failure", "success", ""]:
    """Empty where it is still open: while grades are outstanding, or because the run was interrupted."""
    if exit_code in (BROKEN_OFF, UNDECIDED):
        return ""
    return "failure" if exit_code else "success"


def notification_text(text: str) -> dict[str, str]:
    kind, _, rest = text.partition(":")
    if kind == "cmd":
        return {"command": rest.strip()}
    return {"url": rest, "body": "slack"} if kind == "slack" else {"url": text}


def _listed(written: Any) -> Any:
    """One, or several."""
    return written if written is None or isinstance(written, list | tuple) else (written,)


Notifications: TypeAlias = Annotated[tuple[Notification, ...] | None, BeforeValidator(_listed)]
"""None leaves it to the settings; an empty list tells nobody."""
