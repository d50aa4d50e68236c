"""The stylesheet and the script of all pages, under names that change with what is in them."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from evalharness.reports.pages.page_templates import page_source
from evalharness.server.failures import Refusal
from evalharness.server.pages.site import ASSETS, asset_name

router = APIRouter(include_in_schema=False)
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
FOR_A_YEAR = {"cache-control": "private, max-age=31536000, immutable"}


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    kind = next((kind for kind in ASSETS if asset_name(kind) == name), None)
    if kind is None:
        raise Refusal(404, f"there is no asset {name[:100]}")
    ending = ASSETS[kind]
    return Response(page_source(f"{kind}.{ending}"), media_type=TYPES[ending], headers=FOR_A_YEAR)
