"""What a form of a page has sent. The server takes no files, so the fields are all there is."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse

MOST_FIELDS = 200


async def _fields(request: Request) -> dict[str, str]:
    """The last one of several with one name."""
    body = await request.body()
    text = body.decode("utf-8", errors="replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}


Form = Annotated[dict[str, str], Depends(_fields)]


def see(address: str) -> RedirectResponse:
    """After a form: the page that shows what has become of it."""
    return RedirectResponse(address, status_code=303)
