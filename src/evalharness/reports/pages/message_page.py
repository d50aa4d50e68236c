"""A page that says one thing, or asks one: what went wrong and what to do next, or whether to go on."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.reports.pages.page_actions import PageAction


@dataclass(frozen=True, slots=True)
class MessagePage:
    title: str
    text: str
    hint: str = ""
    action: PageAction | None = None
    """What is done if the reader says yes; `back` is where they go if not."""
    back: str = ""
