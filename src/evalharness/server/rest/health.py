"""GET /api/health: the server answers, and says which version it is."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from evalharness.server.rest.answering import ERRORS
from evalharness.version import VERSION

router = APIRouter(prefix="/api", tags=["server"])


class Health(BaseModel):
    status: str = Field(examples=["ok"])
    version: str = Field(examples=[VERSION])


@router.get("/health", responses=dict(ERRORS))
def health() -> Health:
    """Whether the server answers, and its version."""
    return Health(status="ok", version=VERSION)
