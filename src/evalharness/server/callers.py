"""Who a request is from: the owner of the store, or a reviewer, who reaches the page and the API for rating alone."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from starlette.types import Scope

from evalharness.actions.invite_reviewers import identify_reviewer
from evalharness.harness import Harness

OWNER = "owner"
"""What the owner is called as a reviewer."""
REVIEW = "/review"
OWN_REVIEWS = "/api/eval/reviews/mine"
REVIEWER = "evalharness.reviewer"
"""Where the scope of a request has the name of its reviewer; the owner's requests have none."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{32}")


class Invitations:
    """Asked for each request: whoever is revoked is out at once."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    async def reviewer_with(self, token: str) -> str | None:
        """The name of the person whose token this is; the store is not asked about what cannot be one."""
        if not _TOKEN.fullmatch(token):
            return None
        return await run_in_threadpool(self._harness.call, identify_reviewer, token)


def is_for_reviewers(path: str) -> bool:
    """Without the prefix of a proxy."""
    return any(path == place or path.startswith(f"{place}/") for place in (REVIEW, OWN_REVIEWS))


def is_reviewer(scope: Scope) -> bool:
    return REVIEWER in scope


def _reviewer_of(request: Request) -> str:
    return str(request.scope.get(REVIEWER, OWNER))


Caller = Annotated[str, Depends(_reviewer_of)]
"""The name under which the one who asks rates."""
