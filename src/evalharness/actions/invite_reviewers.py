"""Invite reviewers: each gets a token, of which only a digest is kept; who was revoked is let in no more."""

from __future__ import annotations

from secrets import token_urlsafe

from evalharness.contracts.context import Context
from evalharness.domain.review import Reviewer
from evalharness.domain.review_queue import Invited
from evalharness.errors import UnknownName
from evalharness.steps.find_reviewers import check_reviewer_name, digest_of, new_reviewer, reviewer_with

TOKEN_BYTES = 24


async def invite_reviewer(context: Context, name: str) -> Invited:
    """A new token for this person. An earlier one is worth nothing any more; their reviews and their order stay."""
    check_reviewer_name(name)
    token = token_urlsafe(TOKEN_BYTES)
    now = context.timestamp()
    with context.store.reviews.book() as book:
        known = next((reviewer for reviewer in book.reviewers() if reviewer.name == name), None)
        fresh = {"token_digest": digest_of(token), "invited_at": now, "revoked_at": ""}
        reviewer = new_reviewer(name, now, token) if known is None else known.model_copy(update=fresh)
        book.put_reviewer(reviewer)
    return Invited(reviewer, token)


async def list_reviewers(context: Context) -> list[Reviewer]:
    """By name, those that were revoked included."""
    return context.store.reviews.reviewers()


async def revoke_reviewer(context: Context, name: str) -> Reviewer:
    """What this person has reviewed stays, and what they had begun is given to somebody else."""
    with context.store.reviews.book() as book:
        known = {reviewer.name: reviewer for reviewer in book.reviewers()}
        if name not in known:
            raise UnknownName("reviewer", name, list(known))
        revoked = known[name].model_copy(update={"revoked_at": context.timestamp(), "token_digest": ""})
        book.put_reviewer(revoked)
        for each in book.assignments(reviewer=name):
            if each.doing == "leased":
                book.put_assignment(each._replace(doing="returned"))
    return revoked


async def identify_reviewer(context: Context, token: str) -> str | None:
    """The name of the person whose token this is; None where nobody may come in with it."""
    reviewer = reviewer_with(context.store.reviews.reviewers(), token)
    return None if reviewer is None else reviewer.name
