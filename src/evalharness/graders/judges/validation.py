"""Validating a judge before it is relied on: one trivial statement, which must come back as a well-formed pass.

It takes seconds, and finds out what would spoil every verdict of a run: a wrong key, a model that is not there, a
server that cannot reply in the form asked for, or does not reply at all. The patience that a run has with a server is
out of place here: somebody sits and waits.
"""

from __future__ import annotations

import asyncio
from types import MappingProxyType

from evalharness.contracts.model import Llm
from evalharness.domain.grade import Judging
from evalharness.errors import BadReply, Hint, ModelUnavailable, UsageError, waited_for
from evalharness.graders.judges.question import Asking
from evalharness.graders.judges.relevance import ask_one

RESPONSE = "Paris is the capital of France."
CRITERION = "The response says that Paris is the capital of France."
LIMIT_S = 30.0
LIMIT_OF_LOCAL_S = 300.0
"""A model of this machine has to be loaded first."""
SLIPS = 4
"""How often it may say no before it is believed: small models slip now and then, a useless one says no every time."""

NEXT_STEPS = MappingProxyType(
    {401: "check the key", 403: "check the key, and what it may do", 404: "check the model's name and the base URL"}
)


async def try_judge(llm: Llm) -> Judging:
    """With the patience that its kind needs."""
    return await validate_judge(llm, LIMIT_OF_LOCAL_S if llm.name.startswith("local/") else LIMIT_S)


async def validate_judge(llm: Llm, limit_s: float = LIMIT_S) -> Judging:
    """What it took. Raises ModelUnavailable where it cannot be reached in time, UsageError where it cannot judge."""
    asking = Asking(llm)
    try:
        async with asyncio.timeout(limit_s) as limit:
            for _ in range(SLIPS + 1):
                result = await ask_one(asking, RESPONSE, CRITERION)
                if result.passed:
                    return asking.judging
    except ModelUnavailable as error:
        raise _unavailable(llm, error) from error
    except TimeoutError as error:
        if not limit.expired():
            raise
        heard = f"; the last error: {fault.message}" if (fault := waited_for(error)) else ""
        text = f"the judge {llm.name} gave no reply within {limit_s:g} s{heard}"
        raise ModelUnavailable(text, hint=other_judge("try again later")) from error
    except BadReply as error:
        raise UsageError(f"{llm.name} cannot be a judge: {error}", hint=other_judge()) from error
    text = f"it said that '{RESPONSE}' does not meet '{CRITERION}': {result.reason}"
    raise UsageError(f"{llm.name} cannot be a judge: {text}", hint=other_judge())


def other_judge(first: str = "") -> Hint:
    return Hint("hint.other_judge", first=first)


def _unavailable(llm: Llm, error: ModelUnavailable) -> ModelUnavailable:
    next_step = NEXT_STEPS.get(error.status or 0)
    what = "refused" if 400 <= (error.status or 0) < 500 and error.status != 429 else "gives no reply"
    hint = error.hint or (other_judge(next_step) if next_step else "")
    return ModelUnavailable(f"the judge {llm.name} {what}: {error.message}", hint=hint, status=error.status)
