"""Find reviewers: by name or by the token of their link."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex

from evalharness.contracts.review_store import ReviewBook
from evalharness.domain.review import Reviewer
from evalharness.errors import Hint, UnknownName, UsageError

SEED_BYTES = 8
LONGEST_NAME = 100


def reviewer_named(book: ReviewBook, name: str, *, now: str = "") -> Reviewer:
    """With `now`, somebody who is new is added. Raises UsageError for one who was revoked."""
    known = {reviewer.name: reviewer for reviewer in book.reviewers()}
    if name in known:
        if known[name].revoked_at:
            hint = Hint("hint.invite_again", name=name)
            raise UsageError(f"{name} may no longer review: the invitation was revoked", hint=hint)
        return known[name]
    if not now:
        raise UnknownName("reviewer", name, list(known))
    check_reviewer_name(name)
    reviewer = new_reviewer(name, now)
    book.put_reviewer(reviewer)
    return reviewer


def new_reviewer(name: str, now: str, token: str = "") -> Reviewer:
    return Reviewer(name=name, seed=token_hex(SEED_BYTES), token_digest=token and digest_of(token), invited_at=now)


def check_reviewer_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise UsageError(f"a reviewer's name has 1 to {LONGEST_NAME} printable characters, and no space around them")


def reviewer_with(reviewers: Iterable[Reviewer], token: str) -> Reviewer | None:
    """Whose token this is; None where it is nobody's, or was revoked."""
    digest = digest_of(token)
    for reviewer in reviewers:
        if reviewer.token_digest and not reviewer.revoked_at and compare_digest(reviewer.token_digest, digest):
            return reviewer
    return None


def digest_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()
