"""GET /api/health: the server answers, and says which version it is."""

from __future__ import annotations

from fastapi import APIRouter

from evalharness.version import VERSION

router = APIRouter(prefix="/api", tags=["server"])


@router.get("/health")
def health() -> dict[str, str]:
    """Whether the server answers, and its version."""
    return {"status": "ok", "version": VERSION}
