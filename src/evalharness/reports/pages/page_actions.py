"""What can be done from a page: a form each, and the command that does the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class TextField(NamedTuple):
    name: str
    label: str
    value: str


class ChoiceField(NamedTuple):
    name: str
    label: str
    choices: Sequence[tuple[str, str]]
    """Value and words."""


@dataclass(frozen=True, slots=True)
class PageAction:
    """`address` is where its form goes."""

    title: str
    address: str
    command: str
    about: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What the form sends without asking."""
    texts: Sequence[TextField] = ()
    choices: Sequence[ChoiceField] = ()
    asks: bool = False
    """Whether the address is a page that asks first."""


@dataclass(frozen=True, slots=True)
class PageActions:
    """Of one page: other pages it leads to, the action that helps most, and all of them with their commands."""

    links: Sequence[tuple[str, str]] = ()
    first: PageAction | None = None
    listed: Sequence[PageAction] = ()
