"""The home page."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)


@router.get("/")
def home() -> HTMLResponse:
    return HTMLResponse("<!doctype html><title>evalharness</title><h1>evalharness</h1>")
