"""A page that says one thing: what went wrong and what to do next. Errors of the server are shown on it."""

from __future__ import annotations

from http import HTTPStatus

from markupsafe import Markup

_PAGE = Markup(
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
    '<body><main><h1>{title}</h1><p>{text}</p><p>{hint}</p><p><a href="{home}/">Home</a></p></main></body></html>\n'
)


def message_page(status: int, text: str, hint: str = "", root_path: str = "") -> str:
    """Nothing of the store is read for it: it is also shown where that cannot be."""
    return str(_PAGE.format(title=HTTPStatus(status).phrase, text=text, hint=hint, home=root_path))
