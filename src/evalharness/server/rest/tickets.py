"""POST /api/tickets: an address for a browser that does not carry the token."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from evalharness.server.context import Server
from evalharness.server.rest.answering import ERRORS

router = APIRouter(prefix="/api", tags=["server"])


class Ticket(BaseModel):
    ticket: str = Field(examples=["q1w2e3r4t5y6u7i8o9p0a1s2d3f4g5h6j7k8l9z0x1c"])
    """For `/?token=TICKET`, once and within a minute."""


@router.post("/tickets", status_code=201, responses=dict(ERRORS))
def issue_ticket(server: Server) -> Ticket:
    """A ticket opens the pages in a browser: `/?token=TICKET`, once and within a minute."""
    return Ticket(ticket=server.tickets.issue())
